import { setTimeout as delay } from 'node:timers/promises';
import { GONE, RowsInHand } from '../rows/rows-in-hand.js';
import type { Targets } from '../rows/targets.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { JobTable } from '../storage/job-table.js';
import type { ManualResults } from '../vocabulary/operations.js';
import type { CheckedOptions } from './daemon-options.js';
import { JobRunner, type RunEnd, type RunnerOptions, type RunnerParts } from './job-runner.js';
import { RowFetcher } from './row-fetcher.js';
import type { ManualPlaces } from '../rows/manual-acceptance.js';

/** How long a stopping daemon waits during an outage of the database, in milliseconds. */
const LAST_WRITES_MS = 5000;
const REFUSED_PAUSE_MS = 1000;
const UNWRITTEN = 'it ran, but its end could not be written to its row';

/** Rows on their way through the daemon: fetched, queued, run as processes, written, or given back. */
export class DaemonRows {
  private readonly rows: RowsInHand;
  private readonly fetcher: RowFetcher;
  private readonly runner: JobRunner;

  constructor(
    table: JobTable,
    private readonly targets: Targets,
    parts: RunnerParts,
    options: CheckedOptions & Pick<RunnerOptions, 'onRun'>,
  ) {
    const { log, orphans, onRun, manualPatience } = options;
    const consumer = {
      take: (job: AcceptedJob) => this.take(job),
      lose: ({ id }: AcceptedJob) => this.runner.abandon(id),
      wake: () => this.wake(),
      places: () => new ReservedPlaces(targets),
    };
    const refusal = 'the daemon is shutting down';
    this.rows = new RowsInHand(table, targets, consumer, {
      ...{ log, manualPatience, lastWrites: LAST_WRITES_MS, refusal },
    });
    this.fetcher = new RowFetcher(table, this.rows, options);
    const holds = (job: AcceptedJob) => this.rows.accepted.holds(job);
    const onFree = (job: AcceptedJob) => this.free(job);
    this.runner = new JobRunner(table, parts, { orphans, log, onRun, onFree, holds });
  }

  get waitingClients(): number {
    return this.rows.waitingClients;
  }

  poll(targets: readonly string[]): void {
    this.rows.poll(targets);
  }

  /** Call this when a target may have room again, or is no longer paused. */
  wake(): void {
    for (const job of this.targets.takeRunnable()) this.start(job);
    this.fetcher.wake();
  }

  signal(id: number, signal: string | number): boolean {
    return this.runner.signal(id, signal);
  }

  /** @throws RequestError, DatabaseError; none of the ids is waited for then */
  runManual(ids: readonly number[]): Promise<ManualResults> {
    return this.rows.runManual(ids);
  }

  /** Compares this daemon's rows with the database. @throws the database's errors */
  reconcile(): Promise<void> {
    return this.rows.reconcile();
  }

  /** Another daemon took over all rows: ends the running processes. */
  loseAll(): void {
    this.rows.loseAll();
  }

  /**
   * Releases rows that have not begun. Running jobs may finish until `hurry`, then they are ended by force. Waits for
   * the last results to be written, but not forever.
   *
   * @returns whether everything was written
   */
  async drain(hurry: Promise<void>): Promise<boolean> {
    this.rows.close();
    this.runner.stop();
    const givenBack = this.rows.giveBack(this.targets.takeQueued(), hurry);
    await Promise.race([hurry, this.rows.settled()]);
    this.runner.terminate();
    await this.runner.allExited();
    await Promise.race([delay(LAST_WRITES_MS, undefined, { ref: false }), this.rows.settled()]);
    await givenBack;
    return this.rows.hasNone();
  }

  /** False if its target has been removed. */
  private take(job: AcceptedJob): boolean {
    const earlier = this.runner.ending(job.id);
    if (earlier) this.rows.track(earlier.then(() => this.rows.hand([job])));
    if (earlier) return true;
    if (!job.hasBegun) return this.targets.enqueue(job);
    this.start(job);
    return true;
  }

  private start(job: AcceptedJob): void {
    const target = this.targets.optionsOf(job.target);
    if (target) this.rows.track(this.runner.run(job, target).then((end) => this.ended(job, end)));
  }

  private free(job: AcceptedJob): void {
    this.targets.free(job);
    this.wake();
  }

  private async ended(job: AcceptedJob, end: RunEnd): Promise<void> {
    const { rows } = this;
    // A row that can't be marked as running would be fetched again at once.
    if (end.kind === 'returned' && end.isRefused)
      await delay(REFUSED_PAUSE_MS, undefined, { signal: rows.signal }).catch(() => undefined);
    if (end.kind === 'returned') return rows.giveBack([job]);
    if (end.kind !== 'unwritten') rows.accepted.forget(job);
    if (end.kind === 'retry') rows.polled.addAt(end.due, [job.target]);
    // A client is told a result only once its row has it: another daemon may yet take over one that was not written.
    if (end.kind === 'unwritten') rows.endManual(job.id, UNWRITTEN);
    else rows.endManual(job.id, end.kind === 'done' && !end.isLost ? end.result : GONE);
  }
}

type Place = Pick<AcceptedJob, 'id' | 'target'>;

/** Slots reserved in the daemon's targets, so that manual rows begin at once. */
class ReservedPlaces implements ManualPlaces {
  private readonly held = new Map<string, Place>();

  constructor(private readonly targets: Targets) {}

  serves(target: string): boolean {
    return this.targets.has(target);
  }

  begins(place: Place): boolean {
    const key = keyOf(place);
    if (this.held.has(key)) return true;
    const isFree = this.targets.reserve(place);
    if (isFree) this.held.set(key, place);
    return isFree;
  }

  beginsIn(id: number): readonly string[] {
    return this.targets.names.filter((target) => this.begins({ id, target }));
  }

  giveUp(): void {
    this.settle([]);
  }

  /** Gives up all places but those of `begun`, which are theirs from now on. */
  settle(begun: readonly Place[]): void {
    for (const place of begun) this.held.delete(keyOf(place));
    for (const place of this.held.values()) this.targets.free(place);
    this.held.clear();
  }
}

function keyOf({ id, target }: Place): string {
  return `${id} ${target}`;
}
