import type { JobdLog } from '../log.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import { isContention } from '../storage/errors.js';
import type { JobTable } from '../storage/job-table.js';

/** What came of a fetch. */
interface Accepted {
  readonly accepted: readonly AcceptedJob[];
}

/**
 * The rows that this daemon has accepted and not yet done with. A connection may break after the database
 * has accepted rows for us and before it could say so: such strays are found and given back.
 */
export class Custody {
  private readonly held = new Map<number, AcceptedJob>();
  private mayHaveStrays = false;
  /** Accepting and looking for strays take turns: a row is accepted before it is held. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly table: JobTable,
    private readonly log: JobdLog,
  ) {}

  /** Accepts rows, and waits for the database until `signal` aborts. @throws DatabaseError */
  accept<T extends Accepted>(fetch: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const attempt = () => this.alone(() => this.acceptOnce(fetch));
    return this.table.database.insist(attempt, { signal });
  }

  /** Resolves when nothing is being accepted. */
  async idle(): Promise<void> {
    await this.turn;
  }

  /** How many rows are this daemon's. */
  get size(): number {
    return this.held.size;
  }

  /** The row has been written for the last time, or isn't ours any more. */
  forget(id: number): void {
    this.held.delete(id);
  }

  /** Gives rows back; waits for the database until `signal` aborts. @throws DatabaseError */
  async release(jobs: readonly AcceptedJob[], signal: AbortSignal): Promise<void> {
    const ids = jobs.map(({ id }) => id);
    await this.table.database.insist(() => this.table.release(ids), { signal });
    for (const id of ids) this.forget(id);
  }

  /**
   * Compares with the database: gives strays back.
   *
   * @returns rows that are another daemon's by now, though they were ours
   */
  reconcile(): Promise<number[]> {
    return this.alone(async () => {
      const before = [...this.held.keys()];
      const stored = new Set(await this.releaseStrays());
      return before.filter((id) => !stored.has(id) && this.held.has(id));
    });
  }

  private async acceptOnce<T extends Accepted>(fetch: () => Promise<T>): Promise<T> {
    if (this.mayHaveStrays) await this.releaseStrays();
    try {
      const fetched = await fetch();
      for (const job of fetched.accepted) this.held.set(job.id, job);
      return fetched;
    } catch (error) {
      this.mayHaveStrays ||= !isContention(error);
      throw error;
    }
  }

  private async releaseStrays(): Promise<number[]> {
    const stored = await this.table.heldIds();
    const strays = stored.filter((id) => !this.held.has(id));
    if (strays.length > 0) {
      this.log.warn(`${strays.length} rows were accepted while the connection broke; they are given back.`);
      await this.table.release(strays);
    }
    this.mayHaveStrays = false;
    return stored;
  }

  private alone<T>(action: () => Promise<T>): Promise<T> {
    const result = this.turn.then(action);
    this.turn = result.catch(() => undefined);
    return result;
  }
}
