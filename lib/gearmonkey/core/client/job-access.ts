import type { Observable } from 'rxjs';
import { systemClock } from '../../../job/clock.js';
import { JobFailedError, JobLostError, JobNotFoundError } from '../../../job/errors.js';
import type { Job, JobProgress } from '../../../job/job.js';
import type { FunctionRef, InputOf, OutputOf } from '../../../job/job-definition.js';
import type { JobKey } from '../wire/protocol.js';
import { markIn, toFinished, toJob, waitsForTime } from '../wire/stored-job.js';
import type { JobFeeds } from './job-feeds.js';
import type { JobReader } from './job-handle.js';
import { TrackedJob, type ReadJob } from './tracked-job.js';
import type { JobStore } from './job-store.js';
import { runUntilFinal, untilFinal, type AwaitedKey, type Wait } from './job-waiter.js';
import type { KnownFunctions } from './known-functions.js';
import { observeJob, observeProgress } from './observables.js';
import { resultWaitOf, type ResultOptions } from './run-options.js';

type JobOf<F extends FunctionRef> = Job<InputOf<F>, OutputOf<F>>;

/** Reads single jobs. A key with a mark never returns another job that got the same id. */
export class JobAccess implements Pick<JobReader, 'get' | 'progress' | 'result'> {
  constructor(
    private readonly store: JobStore,
    private readonly functions: KnownFunctions,
    private readonly feeds: JobFeeds,
  ) {}

  /** @throws JobNotFoundError if there is no such job · JobLostError */
  async get<F extends FunctionRef>(ref: F, key: JobKey): Promise<JobOf<F>> {
    return (await this.readerOf(ref)(key)).job;
  }

  async result<F extends FunctionRef>(ref: F, key: JobKey, options: ResultOptions): Promise<OutputOf<F>> {
    return outputOf(await untilFinal(key, this.wait(ref, resultWaitOf(options))));
  }

  /** Enqueues a job and waits until it has finished. */
  runUntilFinal(ref: FunctionRef, enqueue: () => Promise<AwaitedKey>, timeout: number): Promise<Job> {
    return runUntilFinal(enqueue, this.wait(ref, timeout));
  }

  progress(ref: FunctionRef, key: JobKey): Observable<JobProgress> {
    const fn = this.functions.nameOf(ref);
    return observeProgress(
      () => this.feeds.forObserver(fn),
      () => this.track(ref, key),
    );
  }

  watch<F extends FunctionRef>(ref: F, key: JobKey): Observable<JobOf<F>> {
    const fn = this.functions.nameOf(ref);
    return observeJob(
      () => this.feeds.forObserver(fn),
      () => this.track(ref, key),
    );
  }

  track<F extends FunctionRef>(ref: F, { id, mark }: JobKey): TrackedJob<JobOf<F>> {
    const { clock = systemClock } = this.store;
    const fn = this.functions.nameOf(ref);
    return new TrackedJob(
      this.readerOf(ref),
      { clock, expire: (key) => this.store.expire(fn, key) },
      id,
      mark,
    );
  }

  private readerOf<F extends FunctionRef>(ref: F): ReadJob<JobOf<F>> {
    const fn = this.functions.nameOf(ref);
    return async ({ id, mark: known }, wanted) => {
      const [stored] = isJobId(id) ? await this.store.read(fn, [id], wanted) : [];
      if (!stored) throw new JobNotFoundError(fn, id);
      const mark = markIn(stored);
      if (known !== undefined && known !== mark) throw new JobLostError(fn, id);
      const now = waitsForTime(stored) ? await this.store.now(fn, wanted) : 0;
      return { mark, job: toJob(fn, id, stored, this.functions.codecOf(ref), now) as JobOf<F> };
    };
  }

  private wait(ref: FunctionRef, timeout: number): Wait {
    const fn = this.functions.nameOf(ref);
    return {
      fn,
      feed: this.feeds.of(fn),
      timeout,
      unserved: this.feeds.unserved,
      clock: this.store.clock,
      trackedOf: (key) => this.track(ref, key),
      replied: (id, output) => toFinished(fn, id, output, this.functions.codecOf(ref)),
    };
  }
}

/** Ids come from INCR. Any other text could form another key, such as `send:1` of the function `mail`. */
export function isJobId(id: string): boolean {
  return /^\d+$/.test(id);
}

/** @throws JobFailedError */
export function outputOf<T>(job: Job): T {
  if (job.error) throw new JobFailedError(job.fn, job.id, job.error);
  return job.output as T;
}

/** What the core brings; the features of a client add the rest. */
export function readerOf(jobs: JobAccess): JobReader {
  const ofCore: Pick<JobReader, 'get' | 'progress' | 'result'> = {
    get: (ref, key) => jobs.get(ref, key),
    progress: (ref, key) => jobs.progress(ref, key),
    result: (ref, key, options) => jobs.result(ref, key, options),
  };
  return ofCore as JobReader;
}
