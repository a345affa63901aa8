import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import { DatabaseError, hadNoEffect, isHeldByOthers, isRefusedRow } from './errors.js';
import type { AcceptedJob, Ending, RowWrites } from './accepted-job.js';
import type { JobTable } from './job-table.js';
import { fitServer, plainerTexts } from './row-text.js';
import { WriteQueue } from './write-queue.js';

interface Write {
  readonly row: {
    readonly id: number;
    readonly owner: string;
    readonly begun?: AcceptedJob;
    readonly ended?: Ending;
  };
  readonly done: (isOurs: boolean) => void;
  readonly failed: (error: unknown) => void;
  /** It was asked for without an answer: it may have been written, and the row left with it. */
  mayBeWritten: boolean;
}

/** Longer texts are written by themselves: no short one waits for them. */
const SMALL_TEXT = 16_384;
const MAX_BATCH = 200;
/** Between two looks whether rows are still held. */
const HELD_PAUSE_MS = 250;
/** What is quoted may take twice its size. */
const QUOTED = 2;

/**
 * Writes how jobs go. What comes up while a write of its kind is under way goes with the next, in one
 * transaction; beginnings don't wait for ends, since nothing runs meanwhile. In an outage everything waits
 * here for the database to be back.
 */
export class RowWriter {
  private readonly beginnings = this.queue(queueMicrotask);
  // Not before the beginning of the job that takes its place is on its way.
  private readonly small = this.queue(setImmediate);
  private readonly large = this.queue(setImmediate);
  // Each takes more round trips.
  private readonly waitingAgain = this.queue(setImmediate);
  private readonly smallText: number;

  constructor(
    private readonly table: JobTable,
    private readonly log: JobdLog,
    /** Ends the waiting for a database that is away. */
    private readonly signal: AbortSignal,
  ) {
    const share = table.database.traits.maxPacket / MAX_BATCH / QUOTED / 2;
    this.smallText = Math.min(SMALL_TEXT, share);
  }

  /** Resolves once the row says `running`: false when it is another daemon's by now. */
  begin(begun: AcceptedJob): Promise<boolean> {
    return this.add(this.beginnings, { id: begun.id, owner: begun.owner, begun });
  }

  /** Resolves once the row is written: false when it was another daemon's by now. */
  end({ id, owner, columns }: Ending): Promise<boolean> {
    const ended = { id, owner, columns: fitServer(columns, this.table.database) };
    return this.add(this.queueFor(ended.columns), { id, owner, ended });
  }

  private queueFor({ status, stdout, stderr }: Ending['columns']): WriteQueue<Write> {
    if (status !== 'done') return this.waitingAgain;
    const bytes = Buffer.byteLength(stdout ?? '') + Buffer.byteLength(stderr ?? '');
    return bytes <= this.smallText ? this.small : this.large;
  }

  private queue(begin: (callback: () => void) => void): WriteQueue<Write> {
    return new WriteQueue((batch) => this.writeEach(batch), MAX_BATCH, begin);
  }

  private add(queue: WriteQueue<Write>, row: Write['row']): Promise<boolean> {
    return new Promise((done, failed) => queue.add({ row, done, failed, mayBeWritten: false }));
  }

  private async writeEach(batch: readonly Write[]): Promise<void> {
    try {
      await this.write(batch);
    } catch (error) {
      // One row that another program holds, or that is refused, is no reason for the others to wait or fail.
      if (isHeldByOthers(error)) void this.waitFor(batch);
      else if (batch.length > 1) for (const one of batch) await this.writeEach([one]);
      else batch[0]?.failed(error);
    }
  }

  /** Writes each row when it is no longer locked, and does not try earlier. */
  private async waitFor(batch: readonly Write[]): Promise<void> {
    let held = batch;
    while (held.length > 0 && !this.signal.aborted) {
      const { free, others } = await this.looked(held);
      held = others;
      if (free.length > 0) await this.writeEach(free);
      if (held.length > 0)
        await delay(HELD_PAUSE_MS, undefined, { signal: this.signal }).catch(() => undefined);
    }
    for (const { failed } of held)
      failed(new DatabaseError('The row was not written', 'another program holds it'));
  }

  private async looked(
    held: readonly Write[],
  ): Promise<{ free: readonly Write[]; others: readonly Write[] }> {
    const { table, signal } = this;
    // Where the server can't pass over what is held, only trying shows it.
    if (!table.database.traits.skipLocked) return { free: held.slice(0, 1), others: held.slice(1) };
    const ask = () => table.freeIds(held.map(({ row }) => row.id));
    const ids = await table.database.insist(ask, { signal }).catch(() => new Set<number>());
    return {
      free: held.filter(({ row }) => ids.has(row.id)),
      others: held.filter(({ row }) => !ids.has(row.id)),
    };
  }

  private async write(batch: readonly Write[]): Promise<void> {
    const begun = batch.flatMap(({ row }) => row.begun ?? []);
    const ended = batch.flatMap(({ row }) => row.ended ?? []);
    const [only] = ended;
    const isAlone = batch.length === 1 && only;
    const unanswered = () => {
      for (const one of batch) one.mayBeWritten = true;
    };
    const owned = isAlone
      ? await this.endAlone(only, unanswered)
      : await this.writeAll({ begun, ended }, unanswered);
    for (const { row, done, mayBeWritten } of batch) {
      const isWritten = owned.has(row.id) || (mayBeWritten && row.ended !== undefined);
      done(isWritten && this.table.isOurs(row));
    }
  }

  private writeAll(rows: RowWrites, unanswered: () => void): Promise<ReadonlySet<number>> {
    const isFinal = (error: unknown) => isRefusedRow(error) || isHeldByOthers(error);
    const write = async () => {
      try {
        return await this.table.write(rows, nowInSeconds());
      } catch (error) {
        if (!hadNoEffect(error)) unanswered();
        throw error;
      }
    };
    return this.table.database.insist(write, { signal: this.signal, isFinal });
  }

  /** Ever plainer, until the table takes it. */
  private async endAlone(
    { id, owner, columns }: Ending,
    unanswered: () => void,
  ): Promise<ReadonlySet<number>> {
    let reason: unknown;
    for (const texts of [columns, ...plainerTexts(columns)]) {
      try {
        return await this.writeAll({ begun: [], ended: [{ id, owner, columns: texts }] }, unanswered);
      } catch (error) {
        reason = error;
        if (!isRefusedRow(error)) break;
        this.log.warn(`The table refused a text of job ${id}: ${messageOf(error)}. It is written plainer.`);
      }
    }
    throw reason;
  }
}

/** The table's clock. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
