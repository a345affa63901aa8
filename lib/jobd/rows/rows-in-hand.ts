import { messageOf } from '../../job/errors.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { JobTable } from '../storage/job-table.js';
import { RequestError } from '../vocabulary/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { ManualResults } from '../vocabulary/operations.js';
import { AcceptedRows } from './accepted-rows.js';
import { acceptManual, type ManualPlaces } from './manual-acceptance.js';
import { ManualRuns, type ManualEnd } from './manual-runs.js';
import { PolledTargets } from './polled-targets.js';
import { releaseRows } from './release-rows.js';
import type { Targets } from './targets.js';

/** Who runs rows: with processes, or with handlers. */
export interface RowsConsumer {
  /** Takes an accepted row; false if its target has been removed. */
  take(job: AcceptedJob): boolean;
  /** Another has the row now: stop running it. */
  lose(job: AcceptedJob): void;
  /** There may be work: a target was polled, or rows were taken. */
  wake(): void;
  /** For the manual rows of one request. */
  places(): ManualPlaces;
}

export interface RowsOptions {
  readonly log: JobdLog;
  /** Milliseconds a client of manual rows waits for a database that is away. */
  readonly manualPatience: number;
  /** Milliseconds that a database which is away is waited for when rows are given back. */
  readonly lastWrites: number;
  /** The reply to clients during a shutdown. */
  readonly refusal: string;
}

/** The reply to the client of a manual row that another daemon took. */
export const TAKEN_OVER = 'another daemon has taken this job over';

/** The rows that a daemon or an app has in hand: polled for, accepted, asked for by clients, given back. */
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

  /** Tells the client of a manual row how it ended, if there is one. */
  endManual(id: number, end: ManualEnd): void {
    this.manual.end(id, end);
  }

  /** Hands accepted rows to the consumer. Rows that come too late, or whose target has been removed, are released. */
  hand(jobs: readonly AcceptedJob[]): void {
    const homeless = jobs.filter((job) => this.signal.aborted || !this.consumer.take(job));
    if (homeless.length > 0) this.track(this.giveBack(homeless));
    this.consumer.wake();
  }

  /** Compares what is held here with the database: releases strays, and reports lost rows. @throws the database's errors */
  async reconcile(): Promise<void> {
    if (await this.accepted.reconcile()) this.poll();
  }

  /** Others have taken this one for dead: it has lost all its rows. */
  loseAll(): void {
    this.accepted.loseAll();
  }

  /** Gives rows back that were not run, and tells their clients. @param until from then on not much longer */
  async giveBack(jobs: readonly AcceptedJob[], until?: Promise<void>): Promise<void> {
    for (const { id } of jobs) this.endManual(id, this.options.refusal);
    if (jobs.length === 0) return;
    const { log, lastWrites } = this.options;
    await releaseRows(this.accepted, jobs, { log, lastWrites, until, closing: this.signal });
  }

  /** Takes no more rows from now on. */
  close(): void {
    this.closing.abort();
  }

  /** Makes `settled` wait for it. @param run never rejects */
  track(run: Promise<void>): void {
    const tracked = run.finally(() => this.tracked.delete(tracked));
    this.tracked.add(tracked);
  }

  /** Resolves when nothing that is tracked is under way. */
  async settled(): Promise<void> {
    while (this.tracked.size > 0) await Promise.all(this.tracked);
  }

  /** Whether no row is held any more, as soon as nothing is being accepted. */
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

  /** Their clients no longer wait. */
  private async abandon(jobs: readonly AcceptedJob[], places: ManualPlaces): Promise<void> {
    await this.giveBack(jobs);
    places.giveUp();
    this.consumer.wake();
  }
}
