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
  /** A try had no answer: the row may have been written, and have no owner since. */
  mayBeWritten: boolean;
}

/** Longer texts are written separately, so that short ones don't wait for them. */
const SMALL_TEXT = 16_384;
const MAX_BATCH = 200;
/** Between two checks whether rows are still locked. */
const HELD_PAUSE_MS = 250;
/** Quoting may double the size of a text. */
const QUOTED = 2;

/**
 * Writes beginnings and ends of jobs. What arrives while a write of its kind is under way goes with the next, in one
 * transaction. Beginnings don't wait for ends, because jobs wait for them. In an outage everything waits here.
 */
export class RowWriter {
  private readonly beginnings = this.queue(queueMicrotask);
  // After the beginning of the job that takes the slot has been sent.
  private readonly small = this.queue(setImmediate);
  private readonly large = this.queue(setImmediate);
  // These take more round trips.
  private readonly waitingAgain = this.queue(setImmediate);
  private readonly smallText: number;

  constructor(
    private readonly table: JobTable,
    private readonly log: JobdLog,
    /** Ends waiting for an unreachable database. */
    private readonly signal: AbortSignal,
  ) {
    const share = table.database.traits.maxPacket / MAX_BATCH / QUOTED / 2;
    this.smallText = Math.min(SMALL_TEXT, share);
  }

  /** Resolves once the row says `running`; false if another daemon has taken it, or it was changed or deleted. */
  begin(begun: AcceptedJob): Promise<boolean> {
    return this.add(this.beginnings, { id: begun.id, owner: begun.owner, begun });
  }

  /** Resolves once the row is written; false if another daemon has taken it, or it was changed or deleted. */
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
      // The others must not wait or fail because one row is locked or refused.
      if (isHeldByOthers(error)) void this.waitFor(batch);
      else if (batch.length > 1) for (const one of batch) await this.writeEach([one]);
      else batch[0]?.failed(error);
    }
  }

  /** Writes each row once it is no longer locked, not before. */
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
    // Without SKIP LOCKED only a write shows whether a row is free.
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
    const unsure = batch.filter(({ row, mayBeWritten }) => mayBeWritten && !owned.has(row.id));
    const written = await this.writtenBefore(unsure.flatMap(({ row }) => row.ended ?? []));
    for (const { row, done } of batch)
      done((owned.has(row.id) || written.has(row.id)) && this.table.isOurs(row));
  }

  /** Rows without an owner, of which a try had no answer: this daemon has ended them, or another has taken them over. */
  private async writtenBefore(ended: readonly Ending[]): Promise<ReadonlySet<number>> {
    if (ended.length === 0) return new Set();
    return this.table.database.insist(() => this.table.endedAs(ended), { signal: this.signal });
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

  /** Tries simpler and simpler texts until the table takes the row. */
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
