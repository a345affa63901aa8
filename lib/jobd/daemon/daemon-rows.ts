import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { FetchedManual } from '../storage/acceptance.js';
import type { JobTable } from '../storage/job-table.js';
import { Custody } from '../rows/accepted-rows.js';
import type { CheckedOptions } from './daemon-options.js';
import { RequestError } from '../vocabulary/errors.js';
import { JobRunner, type RunEnd, type RunnerOptions, type RunnerParts } from './job-runner.js';
import { acceptManual } from '../rows/manual-acceptance.js';
import { ManualPlaces } from './manual-places.js';
import { ManualRuns } from '../rows/manual-runs.js';
import type { ManualResults } from '../vocabulary/operations.js';
import { Poller } from './row-fetcher.js';
import type { Targets } from '../rows/targets.js';

/** How long a stopping daemon waits for a database that is away, in milliseconds. */
const LAST_WRITES_MS = 5000;
const REFUSED_PAUSE_MS = 1000;
const SHUTTING_DOWN = 'the daemon is shutting down';

/** Rows on their way through the daemon: fetched, queued, run, written, or given back. */
export class Work {
  private readonly polling = new AbortController();
  private readonly manual = new ManualRuns();
  private readonly custody: Custody;
  private readonly poller: Poller;
  private readonly runner: JobRunner;
  private readonly runs = new Set<Promise<void>>();

  constructor(
    private readonly table: JobTable,
    private readonly targets: Targets,
    parts: RunnerParts,
    private readonly options: CheckedOptions & Pick<RunnerOptions, 'onRun'>,
  ) {
    const { log, fetchLimit, orphans, onRun } = options;
    this.custody = new Custody(table, log, ({ id }) => this.runner.abandon(id));
    this.poller = new Poller(table, targets, this.custody, {
      fetchLimit,
      log,
      signal: this.polling.signal,
      onAccepted: (jobs) => this.enqueue(jobs),
    });
    const holds = (job: AcceptedJob) => this.custody.holds(job);
    const onFree = (job: AcceptedJob) => this.free(job);
    this.runner = new JobRunner(table, parts, { orphans, log, onRun, onFree, holds });
  }

  get waitingClients(): number {
    return this.manual.size;
  }

  poll(targets: readonly string[]): void {
    this.poller.poll(targets);
  }

  /** To be called when a target may have got room, or isn't paused any more. */
  wake(): void {
    for (const job of this.targets.takeRunnable()) this.start(job);
    this.poller.wake();
  }

  signal(id: number, signal: string | number): boolean {
    return this.runner.signal(id, signal);
  }

  /** @throws RequestError, DatabaseError; then none of the ids is waited for any more */
  async runManual(ids: readonly number[]): Promise<ManualResults> {
    if (this.polling.signal.aborted) throw new RequestError(SHUTTING_DOWN);
    const ends = this.manual.wait([...new Set(ids)]);
    try {
      await this.fetchManual([...ends.keys()]);
    } catch (error) {
      for (const id of ends.keys()) this.manual.end(id, messageOf(error));
      throw error;
    }
    return this.manual.results(ends);
  }

  /** Compares with the database what is this daemon's. @throws the database's errors */
  async reconcile(): Promise<void> {
    if (await this.custody.reconcile()) this.poll(this.targets.names);
  }

  /** Others have taken this daemon for dead: ends what it runs. */
  loseAll(): void {
    this.custody.loseAll();
  }

  /**
   * Gives back what has not begun, and lets the rest end: by itself until `hurry`, then by force. Waits for
   * the last results to be written, but not for ever.
   *
   * @returns whether the database has everything
   */
  async drain(hurry: Promise<void>): Promise<boolean> {
    this.polling.abort();
    this.runner.stop();
    const givenBack = this.giveBack(this.targets.takeQueued(), hurry);
    await Promise.race([hurry, this.allEnded()]);
    this.runner.terminate();
    await this.runner.allExited();
    await Promise.race([delay(LAST_WRITES_MS, undefined, { ref: false }), this.allEnded()]);
    await givenBack;
    await this.custody.idle();
    return this.custody.size === 0;
  }

  private async fetchManual(ids: readonly number[]): Promise<void> {
    const places = new ManualPlaces(this.targets);
    const { accepted, refused } = await this.acceptManual(ids, places);
    places.settle(accepted.filter(({ hasBegun }) => hasBegun));
    const found = new Set(accepted.map(({ id }) => id));
    const missing = ids.filter((id) => !found.has(id));
    for (const id of missing) this.manual.end(id, refused.get(id) ?? `job ${id} not found`);
    this.enqueue(accepted);
  }

  private acceptManual(ids: readonly number[], places: ManualPlaces): Promise<FetchedManual> {
    return acceptManual(this.table, this.custody, ids, {
      rules: places,
      patience: this.options.manualPatience,
      onUnwanted: (accepted) => {
        this.track(accepted.then((jobs) => this.abandon(jobs, places)));
      },
    });
  }

  private enqueue(jobs: readonly AcceptedJob[]): void {
    const isOver = this.polling.signal.aborted;
    const homeless = jobs.filter((job) => isOver || !this.place(job));
    if (homeless.length > 0) this.track(this.giveBack(homeless));
    this.wake();
  }

  /** False where its target has been removed meanwhile. */
  private place(job: AcceptedJob): boolean {
    const earlier = this.runner.ending(job.id);
    if (earlier) this.track(earlier.then(() => this.enqueue([job])));
    if (earlier) return true;
    if (!job.hasBegun) return this.targets.enqueue(job);
    this.start(job);
    return true;
  }

  private start(job: AcceptedJob): void {
    const target = this.targets.optionsOf(job.target);
    if (target) this.track(this.runner.run(job, target).then((end) => this.ended(job, end)));
  }

  private free(job: AcceptedJob): void {
    this.targets.free(job);
    this.wake();
  }

  private async ended(job: AcceptedJob, end: RunEnd): Promise<void> {
    // A row that can't say that it runs would be fetched again at once.
    if (end.kind === 'returned' && end.isRefused)
      await delay(REFUSED_PAUSE_MS, undefined, { signal: this.polling.signal }).catch(() => undefined);
    if (end.kind === 'returned') return this.giveBack([job]);
    if (end.kind !== 'unwritten') this.custody.forget(job);
    if (end.kind === 'retry') this.poller.pollAt(end.due, [job.target]);
    // What a run comes to that has lost its row is not what the row says.
    const isTheRows = end.kind === 'unwritten' || (end.kind === 'done' && !end.isLost);
    this.manual.end(job.id, isTheRows ? end.result : 'another daemon has taken this job over');
  }

  private async abandon(jobs: readonly AcceptedJob[], places: ManualPlaces): Promise<void> {
    await this.giveBack(jobs);
    places.giveUp();
    this.wake();
  }

  private async giveBack(jobs: readonly AcceptedJob[], until?: Promise<void>): Promise<void> {
    for (const { id } of jobs) this.manual.end(id, SHUTTING_DOWN);
    if (jobs.length === 0) return;
    const patience = new AbortController();
    const giveUp = async () => {
      await until;
      await delay(LAST_WRITES_MS, undefined, { signal: patience.signal, ref: false }).catch(() => undefined);
      patience.abort();
    };
    void giveUp();
    try {
      await this.custody.release(jobs, patience.signal);
    } catch (error) {
      this.options.log.error(`${jobs.length} rows could not be given back: ${messageOf(error)}`);
      // As strays they go back with one of the next beats. Others are to find what a stopping daemon leaves.
      if (!this.polling.signal.aborted) for (const job of jobs) this.custody.forget(job);
    } finally {
      patience.abort();
    }
  }

  private track(run: Promise<void>): void {
    const tracked = run.finally(() => this.runs.delete(tracked));
    this.runs.add(tracked);
  }

  private async allEnded(): Promise<void> {
    while (this.runs.size > 0) await Promise.all(this.runs);
  }
}
