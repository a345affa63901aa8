import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../log.js';
import { isRefusedValue } from './errors.js';
import type { AcceptedJob, Ending } from './accepted-job.js';
import type { JobTable } from './job-table.js';
import { fitServer, plainerTexts } from './row-text.js';
import { WriteLane } from './write-lane.js';

interface Write<T> {
  readonly row: T;
  readonly done: (isOurs: boolean) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Writes how jobs go. What comes up while a write is under way goes with the next, in one transaction. A
 * process waits for its beginning, but nobody for another's end: each has a lane of its own. In an outage
 * everything waits here for the database to be back.
 */
export class RowWriter {
  private readonly beginnings = new WriteLane<Write<AcceptedJob>>((batch) =>
    this.writeEach(batch, (some) => this.begun(some)),
  );
  private readonly endings = new WriteLane<Write<Ending>>(
    (batch) => this.writeEach(batch, (some) => this.ended(some)),
    this.beginnings,
  );

  constructor(
    private readonly table: JobTable,
    private readonly log: JobdLog,
    /** Ends the waiting for a database that is away. */
    private readonly signal: AbortSignal,
  ) {}

  /** Resolves once the row says `running`: false when it is another daemon's by now. */
  begin(row: AcceptedJob): Promise<boolean> {
    return new Promise((done, failed) => this.beginnings.add({ row, done, failed }));
  }

  /** Resolves once the row is written: false when it was another daemon's by now. */
  end({ id, columns }: Ending): Promise<boolean> {
    const row = { id, columns: fitServer(columns, this.table.database) };
    return new Promise((done, failed) => this.endings.add({ row, done, failed }));
  }

  private async writeEach<T extends { readonly id: number }>(
    batch: readonly Write<T>[],
    write: (some: readonly Write<T>[]) => Promise<void>,
  ): Promise<void> {
    try {
      await write(batch);
    } catch (error) {
      // One refused row is no reason for the others to fail.
      if (batch.length > 1) for (const one of batch) await this.writeEach([one], write);
      else batch[0]?.failed(error);
    }
  }

  private async begun(batch: readonly Write<AcceptedJob>[]): Promise<void> {
    const jobs = batch.map(({ row }) => row);
    const owned = await this.insist(() => this.table.begin(jobs, nowInSeconds()));
    for (const { row, done } of batch) done(owned.has(row.id));
  }

  private async ended(batch: readonly Write<Ending>[]): Promise<void> {
    const [only] = batch;
    if (batch.length === 1 && only) return only.done(await this.endAlone(only.row));
    const owned = await this.endAll(batch.map(({ row }) => row));
    for (const { row, done } of batch) done(owned.has(row.id));
  }

  private async endAll(rows: readonly Ending[]): Promise<ReadonlySet<number>> {
    let tries = 0;
    const owned = await this.insist(() => {
      tries++;
      return this.table.end(rows);
    });
    // What was asked for twice may have been written the first time, and the rows left with it.
    return tries > 1 ? new Set(rows.map(({ id }) => id)) : owned;
  }

  /** Ever plainer, until the table takes it. */
  private async endAlone({ id, columns }: Ending): Promise<boolean> {
    let reason: unknown;
    for (const texts of [columns, ...plainerTexts(columns)]) {
      try {
        return (await this.endAll([{ id, columns: texts }])).has(id);
      } catch (error) {
        reason = error;
        if (!isRefusedValue(error)) break;
        this.log.warn(`The table refused a text of job ${id}: ${messageOf(error)}. It is written plainer.`);
      }
    }
    throw reason;
  }

  private insist<T>(question: () => Promise<T>): Promise<T> {
    return this.table.database.insist(question, { signal: this.signal, isFinal: isRefusedValue });
  }
}

/** The table's clock. */
export function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
