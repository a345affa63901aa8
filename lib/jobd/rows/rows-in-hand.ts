import { messageOf } from '../../job/errors.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { JobTable } from '../storage/job-table.js';
import { RequestError } from '../vocabulary/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { ManualResults } from '../vocabulary/operations.js';
import { AcceptedRows } from './accepted-rows.js';
import { acceptManual, type ManualPlaces } from './manual-acceptance.js';
import { PolledTargets } from './polled-targets.js';
import type { Targets } from './targets.js';
import type { JobResult } from '../vocabulary/job-result.js';
import { setTimeout as delay } from 'node:timers/promises';

/** The part that runs rows: with processes, or with handlers. */
export interface RowsConsumer {
  /** Takes an accepted row; false if its target has been removed. */
  take(job: AcceptedJob): boolean;
  /** Called when another one has the row now: its run must stop. */
  lose(job: AcceptedJob): void;
  /** Called when there may be work: a target was polled, or rows were accepted. */
  wake(): void;
  /** For the manual rows of one request. */
  places(): ManualPlaces;
}

export interface RowsOptions {
  readonly log: JobdLog;
  /** Milliseconds that a client of manual rows waits during an outage of the database. */
  readonly manualPatience: number;
  /** Milliseconds to wait during an outage of the database when rows are released. */
  readonly lastWrites: number;
  /** The reply to clients during a shutdown. */
  readonly refusal: string;
}

/** Why a row is no longer ours: in the log, and as the reply to the client of a manual row. */
export const GONE = 'its row was changed or deleted, or another daemon has taken it over';

/** The rows of a daemon or an app: polled, accepted, run manually, released. */
export class RowsInHand {
  readonly accepted: AcceptedRows;
  readonly polled: PolledTargets;
  private readonly manual = new ManualRuns();
  private readonly closing = new AbortController();
  private readonly tracked = new Set<Promise<void>>();

  constructor(
    private readonly table: JobTable,
    private readonly targets: Targets,
    private readonly consumer: RowsConsumer,
    private readonly options: RowsOptions,
  ) {
    this.accepted = new AcceptedRows(table, options.log, (job) => consumer.lose(job));
    this.polled = new PolledTargets(table, targets, this.signal, () => consumer.wake());
  }

  /** Aborted when this one takes no more rows. */
  get signal(): AbortSignal {
    return this.closing.signal;
  }

  get waitingClients(): number {
    return this.manual.size;
  }

  poll(targets: readonly string[] = this.targets.names): void {
    this.polled.add(targets);
    this.consumer.wake();
  }

  /** @throws RequestError, DatabaseError; none of the ids is waited for then */
  async runManual(ids: readonly number[]): Promise<ManualResults> {
    if (this.signal.aborted) throw new RequestError(this.options.refusal);
    const ends = this.manual.wait([...new Set(ids)]);
    try {
      await this.acceptManual([...ends.keys()]);
    } catch (error) {
      for (const id of ends.keys()) this.endManual(id, messageOf(error));
      throw error;
    }
    return this.manual.results(ends);
  }

  /** Sends the result of a manual row to its client, if there is one. */
  endManual(id: number, end: ManualEnd): void {
    this.manual.end(id, end);
  }

  /** Passes accepted rows to the consumer. Rows that arrive too late, or whose target was removed, are released. */
  hand(jobs: readonly AcceptedJob[]): void {
    const homeless = jobs.filter((job) => this.signal.aborted || !this.consumer.take(job));
    if (homeless.length > 0) this.track(this.giveBack(homeless));
    this.consumer.wake();
  }

  /** Compares the held rows with the database: releases strays, and reports lost rows. @throws the database's errors */
  async reconcile(): Promise<void> {
    if (await this.accepted.reconcile()) this.poll();
  }

  /** Another one took over all rows. */
  loseAll(): void {
    this.accepted.loseAll();
  }

  /** Releases rows that were not run, and replies to their clients. @param until when it resolves, little time is left */
  async giveBack(jobs: readonly AcceptedJob[], until?: Promise<void>): Promise<void> {
    for (const { id } of jobs) this.endManual(id, this.options.refusal);
    if (jobs.length === 0) return;
    const { log, lastWrites } = this.options;
    await releaseRows(this.accepted, jobs, { log, lastWrites, until, closing: this.signal });
  }

  /** Accepts no more rows from now on. */
  close(): void {
    this.closing.abort();
  }

  /** Makes `settled` wait for it. @param run never rejects */
  track(run: Promise<void>): void {
    const tracked = run.finally(() => this.tracked.delete(tracked));
    this.tracked.add(tracked);
  }

  /** Resolves when all tracked runs have ended. */
  async settled(): Promise<void> {
    while (this.tracked.size > 0) await Promise.all(this.tracked);
  }

  /** Resolves when nothing is being accepted, with whether no row is held any more. */
  async hasNone(): Promise<boolean> {
    await this.accepted.idle();
    return this.accepted.size === 0;
  }

  private async acceptManual(ids: readonly number[]): Promise<void> {
    const places = this.consumer.places();
    const { accepted, refused } = await acceptManual(this.table, this.accepted, ids, {
      rules: places,
      patience: this.options.manualPatience,
      onUnwanted: (late) => this.track(late.then((jobs) => this.abandon(jobs, places))),
    });
    places.settle(accepted.filter(({ hasBegun }) => hasBegun));
    const found = new Set(accepted.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) this.endManual(id, refused.get(id) ?? `job ${id} not found`);
    this.hand(accepted);
  }

  /** Called for rows whose clients no longer wait. */
  private async abandon(jobs: readonly AcceptedJob[], places: ManualPlaces): Promise<void> {
    await this.giveBack(jobs);
    places.giveUp();
    this.consumer.wake();
  }
}

/** How a manual job ended for its client: with a result, or with an error's message. */
type ManualEnd = JobResult | string;

/** A limit, because results are kept until the last one of their request. */
const MAX_WAITING = 1000;

/** Clients that wait for manual jobs; one per job. */
class ManualRuns {
  private readonly waiting = new Map<number, (end: ManualEnd) => void>();

  get size(): number {
    return this.waiting.size;
  }

  /** @throws RequestError if another client waits for one of them, or if there are too many; none is waited for then */
  wait(ids: readonly number[]): Map<number, Promise<ManualEnd>> {
    const taken = ids.find((id) => this.waiting.has(id));
    if (taken !== undefined) throw new RequestError(`another client is already waiting for job ${taken}`);
    if (this.waiting.size + ids.length > MAX_WAITING)
      throw new RequestError(
        `too many manual jobs: ${this.waiting.size} are waited for, and ${MAX_WAITING} may be`,
      );
    return new Map(
      ids.map((id) => [id, new Promise<ManualEnd>((resolve) => this.waiting.set(id, resolve))] as const),
    );
  }

  /** The results, once all jobs have ended. */
  async results(ends: ReadonlyMap<number, Promise<ManualEnd>>): Promise<ManualResults> {
    const results: ManualResults = { jobs: new Map(), errors: new Map() };
    for (const [id, ending] of ends) {
      const end = await ending;
      if (typeof end === 'string') results.errors.set(id, end);
      else results.jobs.set(id, end);
    }
    return results;
  }

  /** Does nothing for a job that no client waits for. */
  end(id: number, end: ManualEnd): void {
    this.waiting.get(id)?.(end);
    this.waiting.delete(id);
  }
}

interface ReleaseOptions {
  readonly log: JobdLog;
  /** Milliseconds to wait during an outage of the database, once `until` has resolved. */
  readonly lastWrites: number;
  readonly until?: Promise<void> | undefined;
  /** Aborted when this one shuts down. */
  readonly closing: AbortSignal;
}

/** Releases accepted rows that were not run. Never rejects: rows that could not be written are released at a later heartbeat. */
async function releaseRows(
  accepted: AcceptedRows,
  jobs: readonly AcceptedJob[],
  { log, lastWrites, until, closing }: ReleaseOptions,
): Promise<void> {
  const patience = new AbortController();
  const giveUp = async () => {
    await until;
    await delay(lastWrites, undefined, { signal: patience.signal, ref: false }).catch(() => undefined);
    patience.abort();
  };
  void giveUp();
  try {
    await accepted.release(jobs, patience.signal);
  } catch (error) {
    log.error(`${jobs.length} rows could not be given back: ${messageOf(error)}`);
    // As strays they are released with one of the next beats. On shutdown the rows stay for others to take over.
    if (!closing.aborted) for (const job of jobs) accepted.forget(job);
  } finally {
    patience.abort();
  }
}
