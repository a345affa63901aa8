import { Observable, distinctUntilChanged, switchMap } from 'rxjs';
import type { JobEvent } from '../../../job/job.js';
import type { Codec } from '../../../job/codec.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import {
  type JobStatistics,
  type StatisticsOptions,
  statisticsQuery,
  toStatistics,
  type Counts,
} from '../../../job/statistics.js';
import type { FindOptions, FunctionOverview, JobList, ListOptions } from '../../../job/job-views.js';
import type { BulkRun, EndedJobs, FailureGroup } from '../../../job/failed-jobs.js';
import { drain, type DrainJobsOptions } from '../../features/edits/drain.js';
import { FailedJobs, type GroupedFailures } from '../../features/views/failed-jobs.js';
import type { ShownError } from '../../features/views/failure-groups.js';
import type { JobFeeds } from './job-feeds.js';
import type { JobStore } from './job-store.js';
import type { LimitNumbers, LimitState } from '../../../job/limit.js';
import type { KnownFunctions } from './known-functions.js';
import { JobViews } from '../../features/views/job-views.js';
import type { Sharing } from '../../features/limits/limit-store.js';
import { LimitAccess, type LimitsOptions } from '../../features/limits/limit-access.js';
import type { NewJobs } from './new-jobs.js';
import { observeEvents } from './observables.js';
import type {
  DescribedJob,
  PayloadField,
  PayloadPart,
  PresentWorker,
} from '../../features/views/view-store.js';
import { systemClock } from '../../../job/clock.js';

/** Longer fields of a job, such as outputs of its steps, are cut where it is only described. */
const MOST_OF_FIELD = 256 * 1024;

/** What the methods use. */
export interface FunctionClientParts {
  readonly store: JobStore;
  readonly functions: KnownFunctions;
  readonly feeds: JobFeeds;
  readonly newJobs: NewJobs;
}

/** The methods of a `GearMonkeyClient` that concern a function as a whole. */
export abstract class FunctionClient {
  // Private at run time too: logs of a client must not show the store, which holds passwords.
  readonly #parts: FunctionClientParts;
  readonly #limits: LimitAccess;
  readonly #views: JobViews;
  readonly #failed: FailedJobs;

  /** @internal */
  constructor(parts: FunctionClientParts) {
    this.#parts = parts;
    this.#limits = new LimitAccess(parts.store, parts.functions);
    this.#views = new JobViews(parts.store.views, parts.functions);
    this.#failed = new FailedJobs(parts.store, parts.functions);
  }

  /**
   * What there is of each function that a worker or client of this package has used in the last 30 days, at most 1,000, and
   * of those that this process defines or handles, in order of their names.
   */
  async overview(): Promise<FunctionOverview[]> {
    return this.#views.overview();
  }

  /** The names of the functions of `overview`. @internal */
  async functions(): Promise<string[]> {
    return this.#views.names();
  }

  /** Whether a definition or a limit of this process names it. @internal */
  defines(fn: string): boolean {
    return this.#parts.functions.names().includes(fn);
  }

  /** The same as `overview` of these functions. @internal */
  async overviewOf(functions: readonly string[]): Promise<FunctionOverview[]> {
    return this.#views.overview(functions);
  }

  /** A job without its payloads; undefined if there is none. @internal */
  async described(ref: FunctionRef, id: string): Promise<DescribedJob | undefined> {
    const fn = this.#parts.functions.nameOf(ref);
    return isId(id) ? this.#parts.store.views.describe(fn, id, MOST_OF_FIELD) : undefined;
  }

  /** The beginning of an input or output; undefined if there is none. @internal */
  async payload(
    ref: FunctionRef,
    id: string,
    field: PayloadField,
    most: number,
  ): Promise<PayloadPart | undefined> {
    const fn = this.#parts.functions.nameOf(ref);
    return isId(id) ? this.#parts.store.views.payload(fn, id, field, most) : undefined;
  }

  /** The whole of it, by a connection of its own. @internal */
  async wholePayload(ref: FunctionRef, id: string, field: PayloadField): Promise<Buffer | undefined> {
    const fn = this.#parts.functions.nameOf(ref);
    return isId(id) ? this.#parts.store.views.wholePayload(fn, id, field) : undefined;
  }

  /** The codec of the function's payloads. @internal */
  codecOf(ref: FunctionRef): Codec {
    return this.#parts.functions.codecOf(ref);
  }

  /** Workers of this package, by the time when they count as dead, in ms since 1970; at most 1,000. @internal */
  async workers(ref: FunctionRef): Promise<PresentWorker[]> {
    return this.#parts.store.views.workers(this.#parts.functions.nameOf(ref));
  }

  /**
   * A page of the function's jobs in one state. Inputs and outputs are read only with `payloads`, and are cut. Ended jobs
   * are listed as long as they are kept, except those that plain workers ran.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async list(ref: FunctionRef, options: ListOptions): Promise<JobList> {
    return this.#views.list(ref, options);
  }

  /**
   * A page of the jobs with a tag or a key, or the job with an id, in all states. Jobs are found by tags for 30 days after the
   * function's last job with tags was enqueued or was due.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async find(ref: FunctionRef, options: FindOptions): Promise<JobList> {
    return this.#views.find(ref, options);
  }

  /** Groups the newest 1,000 failed jobs by their errors, the largest group first. */
  async failures(ref: FunctionRef): Promise<FailureGroup[]> {
    return (await this.#failed.groups(ref)).groups;
  }

  /**
   * The same as `failures`, with how many jobs were looked at.
   *
   * @param shownOf what is shown of an error
   * @internal
   */
  async groupedFailures(ref: FunctionRef, shownOf?: ShownError): Promise<GroupedFailures> {
    return this.#failed.groups(ref, shownOf);
  }

  /**
   * Puts failed or cancelled jobs back into their queues, with all their attempts: one by its id, or those of a state.
   * `done` rejects with a JobNotFoundError if there is no job with the id.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  retry(ref: FunctionRef, which: string | number | EndedJobs): BulkRun {
    return this.#failed.mend('retry', ref, which);
  }

  /** Deletes failed or cancelled jobs: the same as `retry`. @throws ConfigurationError, InvalidOptionError */
  discard(ref: FunctionRef, which: string | number | EndedJobs): BulkRun {
    return this.#failed.mend('discard', ref, which);
  }

  /** How many workers are registered for the function. @throws NoWorkersError if there is none */
  async rollCall(ref: FunctionRef): Promise<number> {
    return this.#parts.newJobs.requireWorkers(ref);
  }

  /** Events of all jobs of the function: created, started and finished. */
  events(ref: FunctionRef): Observable<JobEvent> {
    const fn = this.#parts.functions.nameOf(ref);
    return observeEvents(() => this.#parts.feeds.forObserver(fn));
  }

  /**
   * Pauses the function: no worker of this package, in any process, begins another of its jobs until `resume`. Running
   * jobs go on, and clients may enqueue. Plain workers take jobs from their queues themselves and don't stop.
   */
  async pause(ref: FunctionRef): Promise<void> {
    await this.#parts.store.pause(this.#parts.functions.nameOf(ref), true);
  }

  /** Ends a pause; workers begin with the jobs that wait at once. Does nothing if the function is not paused. */
  async resume(ref: FunctionRef): Promise<void> {
    await this.#parts.store.pause(this.#parts.functions.nameOf(ref), false);
  }

  /** Whether the function is paused. */
  async isPaused(ref: FunctionRef): Promise<boolean> {
    return this.#parts.store.isPaused(this.#parts.functions.nameOf(ref));
  }

  /** Emits whether the function is paused, now and after every change. */
  watchPaused(ref: FunctionRef): Observable<boolean> {
    const { store, functions, feeds } = this.#parts;
    return observePaused(store, feeds, functions.nameOf(ref));
  }

  /**
   * The keys of the function's limit that have jobs or are full: full ones first, then those with the most waiting jobs.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async limits(ref: FunctionRef, options: LimitsOptions = {}): Promise<LimitState[]> {
    return this.#limits.read(ref, options);
  }

  /** Who shares the function's limit. @internal */
  async sharing(ref: FunctionRef): Promise<Sharing> {
    return this.#limits.sharing(ref);
  }

  /**
   * Replaces the numbers of the function's limit in all processes until `resetLimit`; for a shared limit, those of all its
   * functions. It applies from the next start of a job; jobs that run go on.
   *
   * @throws ConfigurationError, InvalidOptionError · LimitUnknownError
   */
  async setLimit(ref: FunctionRef, numbers: LimitNumbers): Promise<void> {
    return this.#limits.set(ref, numbers);
  }

  /** Undoes `setLimit`. @throws LimitUnknownError */
  async resetLimit(ref: FunctionRef): Promise<void> {
    return this.#limits.reset(ref);
  }

  /**
   * What happened to the function's jobs in each minute, hour or day; 72 hours are kept. Workers of this package count what
   * they run, and write it every five seconds.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async statistics(ref: FunctionRef, options: StatisticsOptions = {}): Promise<JobStatistics[]> {
    return readJobStatistics(this.#parts.store, this.#parts.functions, ref, options);
  }

  /**
   * Removes jobs that wait, by default all of them, and returns how many. Each ends as an error with the code
   * `JOB_DRAINED`, which callers and observers receive. Running jobs and jobs that are created meanwhile stay.
   * Jobs are not counted whose reply was lost with a connection.
   *
   * @throws ConfigurationError, InvalidOptionError · the reason of `signal` when that aborts
   */
  async drain(ref: FunctionRef, options: DrainJobsOptions = {}): Promise<number> {
    return drain(this.#parts.store, this.#parts.functions.nameOf(ref), options);
  }
}

/** Ids are numbers: other text could form another key. */
function isId(id: string): boolean {
  return /^\d{1,15}$/.test(id);
}

/** Reads a function's statistics. @throws ConfigurationError, InvalidOptionError */
async function readJobStatistics(
  store: Pick<JobStore, 'statistics' | 'clock'>,
  functions: KnownFunctions,
  ref: FunctionRef,
  options: StatisticsOptions,
): Promise<JobStatistics[]> {
  const fn = functions.nameOf(ref);
  const query = statisticsQuery(options, (store.clock ?? systemClock).now());
  const counts = await store.statistics(fn, query.hours, query.by === 'minute');
  const byHour = new Map(query.hours.map((hour, index) => [hour, partsOf(counts[index] ?? new Map())]));
  return toStatistics(query, (hour, minute) => byHour.get(hour)?.get(String(minute ?? '')) ?? new Map());
}

/** The counts of each minute by its number, and of the whole hour by ''. */
function partsOf(hour: Counts): Map<string, Map<string, number>> {
  const parts = new Map<string, Map<string, number>>();
  for (const [field, count] of hour) {
    const end = field.indexOf(':');
    const [part, kind] = [field.slice(0, end), field.slice(end + 1)];
    const found = parts.get(part) ?? new Map<string, number>();
    parts.set(part, found.set(kind, count));
  }
  return parts;
}

/** Emits whether a function is paused: now, and after each change. Completes when observers are ended. */
function observePaused(store: JobStore, feeds: JobFeeds, fn: string): Observable<boolean> {
  const read = () =>
    new Observable<boolean>((subscriber) => {
      store
        .isPaused(fn, () => !subscriber.closed)
        .then(
          (paused) => {
            subscriber.next(paused);
            subscriber.complete();
          },
          (error: unknown) => subscriber.error(error),
        );
    });
  // A message may be another database's, so the state is read again.
  return new Observable<boolean>((subscriber) => {
    subscriber.add(feeds.onEnd(() => subscriber.complete()));
    if (subscriber.closed) return;
    subscriber.add(changesOf(store, fn).pipe(switchMap(read), distinctUntilChanged()).subscribe(subscriber));
  });
}

/** Emits once it listens, and when the function may have been paused or resumed. */
function changesOf(store: JobStore, fn: string): Observable<void> {
  return new Observable<void>((subscriber) => {
    const listening = store.listenToControl(fn, () => subscriber.next());
    listening.then(
      () => subscriber.next(),
      (error: unknown) => subscriber.error(error),
    );
    return () => void listening.then((unlisten) => unlisten()).catch(() => undefined);
  });
}
