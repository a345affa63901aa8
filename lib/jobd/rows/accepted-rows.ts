import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import { isContention, isRefusedRow } from '../storage/errors.js';
import type { JobTable } from '../storage/job-table.js';

/** The result of a fetch. */
interface Accepted {
  readonly accepted: readonly AcceptedJob[];
}

/**
 * The rows that this daemon has accepted and not finished. If a connection breaks after the database has accepted
 * rows and before its reply arrives, these strays are found and released.
 */
export class AcceptedRows {
  private readonly held = new Map<number, AcceptedJob>();
  private mayHaveStrays = false;
  /** Accepting, releasing and looking for strays go one after another, because a row is accepted before it is held. */
  private turn: Promise<unknown> = Promise.resolve();

  /** @param onLost called for rows that this daemon has lost */
  constructor(
    private readonly table: JobTable,
    private readonly log: JobdLog,
    private readonly onLost: (job: AcceptedJob) => void,
  ) {}

  /** Accepts rows, and waits for the database until `signal` aborts. @throws DatabaseError, and what refuses a row */
  accept<T extends Accepted>(fetch: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const attempt = () => this.alone(() => this.acceptOnce(fetch));
    return this.table.database.insist(attempt, { signal, isFinal: isRefusedRow });
  }

  /** Resolves when nothing is being accepted. */
  async idle(): Promise<void> {
    await this.turn;
  }

  /** How many rows are this daemon's. */
  get size(): number {
    return this.held.size;
  }

  holds(job: AcceptedJob): boolean {
    return this.held.get(job.id) === job;
  }

  /** Call this when the row was written for the last time, or another daemon has it. */
  forget(job: AcceptedJob): void {
    if (this.holds(job)) this.held.delete(job.id);
  }

  /** Another daemon took over all rows. */
  loseAll(): void {
    const lost = [...this.held.values()];
    this.held.clear();
    for (const job of lost) this.onLost(job);
  }

  /** Releases rows, and waits for the database until `signal` aborts. @throws DatabaseError */
  async release(jobs: readonly AcceptedJob[], signal: AbortSignal): Promise<void> {
    // Checked with each try: an earlier one may have released the row without an answer, and it was accepted again.
    // Never while rows are being accepted, which are ours before they are held.
    const ours = () => jobs.filter((job) => this.holds(job) && this.table.isOurs(job));
    const release = () => this.alone(() => this.table.release(ours().map(({ id }) => id)));
    await this.table.database.insist(release, { signal, isFinal: isRefusedRow });
    for (const job of jobs) this.forget(job);
  }

  /** Compares with the database: releases strays, and reports lost rows. @returns whether there were strays */
  reconcile(): Promise<boolean> {
    return this.alone(async () => {
      const before = [...this.held.values()];
      const { stored, released } = await this.releaseStrays();
      for (const job of before) if (!stored.has(job.id) && this.holds(job)) this.onLost(job);
      return released > 0;
    });
  }

  private async acceptOnce<T extends Accepted>(fetch: () => Promise<T>): Promise<T> {
    if (this.mayHaveStrays) await this.releaseStrays();
    try {
      const fetched = await fetch();
      for (const job of fetched.accepted) this.hold(job);
      return fetched;
    } catch (error) {
      this.mayHaveStrays ||= !isContention(error);
      throw error;
    }
  }

  /** If the id is held already, another program has reset the row: the earlier job has lost it. */
  private hold(job: AcceptedJob): void {
    const earlier = this.held.get(job.id);
    if (this.table.isOurs(job)) this.held.set(job.id, job);
    if (earlier) this.onLost(earlier);
  }

  private async releaseStrays(): Promise<{
    readonly stored: ReadonlySet<number>;
    readonly released: number;
  }> {
    const stored = await this.table.heldIds();
    const strays = stored.filter((id) => !this.held.has(id));
    if (strays.length > 0)
      this.log.warn(`${strays.length} rows were accepted while the connection broke; they are given back.`);
    const released = await this.releaseEach(strays);
    this.mayHaveStrays = false;
    return { stored: new Set(stored), released };
  }

  /** Releases rows one by one: one that the table refuses is tried again at the next heartbeat. @returns how many were released */
  private async releaseEach(ids: readonly number[]): Promise<number> {
    try {
      await this.table.release(ids);
      return ids.length;
    } catch (error) {
      if (!isRefusedRow(error)) throw error;
      let released = 0;
      if (ids.length > 1) for (const id of ids) released += await this.releaseEach([id]);
      else this.log.error(`Row ${ids[0]} can't be given back, the table refuses it: ${messageOf(error)}`);
      return released;
    }
  }

  private alone<T>(action: () => Promise<T>): Promise<T> {
    const result = this.turn.then(action);
    this.turn = result.catch(() => undefined);
    return result;
  }
}
