import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../job/error-info.js';
import type { JobdLog } from '../vocabulary/log.js';
import { DatabaseError, hadNoEffect, isHeldByOthers, isRefusedRow } from './errors.js';
import type { AcceptedJob, Ending, RowWrites } from './accepted-job.js';
import type { JobTable } from './job-table.js';
import { defined } from '../../job/defined.js';
import { fitBytes } from '../vocabulary/output-limit.js';
import type { Database } from './database.js';
import type { JobsTable } from './schema.js';
import { Batcher } from '../../batching/batcher.js';

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
        this.log.warn(`The table refused a text of job ${id}: ${reasonOf(error)}. It is written plainer.`);
      }
    }
    throw reason;
  }
}

/** The table's clock. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

type Columns = Partial<JobsTable>;

/** Bytes that the smallest text columns hold: TEXT, and a VARCHAR of 255. */
const TEXT_BYTES = 60_000;

const VARCHAR_BYTES = 250;

/** A statement has more than its texts, and quoting may double them. */
const PACKET_SLACK_BYTES = 4096;

const PACKET_SHARE = 4;

const REPLACEMENT = '\uFFFD';

/** Columns with texts cut to what this server takes in one statement. */
function fitServer(columns: Columns, { dialect, traits }: Database): Columns {
  const limit = (traits.maxPacket - PACKET_SLACK_BYTES) / PACKET_SHARE;
  return mapTexts(columns, (text) => {
    // Only MySQL keeps NUL: PostgreSQL refuses it, SQLite's driver would end the text there.
    const kept = dialect === 'mysql' ? text : text.replaceAll('\0', REPLACEMENT);
    return fitBytes(kept, limit);
  });
}

/** Simpler and simpler texts for a row that the table refuses; it must take the last one. */
function plainerTexts(columns: Columns): Columns[] {
  const threeBytes = mapTexts(columns, (text) => text.replace(/[\u{10000}-\u{10FFFF}]/gu, REPLACEMENT));
  const ascii = mapTexts(columns, (text) => text.replace(/[^\t\n\r\x20-\x7E]/gu, '?'));
  return [
    threeBytes,
    ascii,
    mapTexts(ascii, (text) => fitBytes(text, TEXT_BYTES)),
    mapTexts(ascii, (text) => fitBytes(text, VARCHAR_BYTES)),
    { ...columns, stdout: null, stderr: null, return_code: null, sig: null },
  ];
}

function mapTexts(columns: Columns, map: (text: string) => string): Columns {
  const { stdout, stderr } = columns;
  return defined({
    ...columns,
    stdout: stdout && map(stdout),
    stderr: stderr && map(stderr),
  });
}

/** A slower batch is blocked, for instance by a locked row: others needn't wait for it. */
const SLOW_MS = 250;

/** Writes in batches, one at a time; a second one may run beside a blocked batch. */
export class WriteQueue<T> {
  private readonly batches: Batcher<T, void>;
  /** Slow batches that are under way. */
  private readonly heldUp = new Set<readonly T[]>();

  /**
   * @param write never rejects
   * @param begin calls back when everything of the same tick has been added
   */
  constructor(
    private readonly write: (batch: readonly T[]) => Promise<void>,
    maxBatch: number,
    begin: (callback: () => void) => void,
  ) {
    this.batches = new Batcher({
      maxUnderWay: () => (this.heldUp.size > 0 ? 2 : 1),
      take: ({ length }) => Math.min(length, maxBatch),
      begin,
      send: (batch) => this.send(batch),
    });
  }

  add(item: T): void {
    void this.batches.add(item);
  }

  private async send(batch: readonly T[]): Promise<undefined[]> {
    const timer = setTimeout(() => {
      this.heldUp.add(batch);
      this.batches.flush();
    }, SLOW_MS);
    try {
      await this.write(batch);
    } finally {
      clearTimeout(timer);
      this.heldUp.delete(batch);
    }
    return batch.map(() => undefined);
  }
}
