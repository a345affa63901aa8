import { map, type Observable } from 'rxjs';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../job/clock.js';
import { read } from '../../../job/codec.js';
import {
  InvalidOptionError,
  JobBegunError,
  JobFailedError,
  JobLostError,
  JobNotFoundError,
  NotCancellableError,
} from '../../../job/errors.js';
import type { FlowProgress } from '../../../job/flows.js';
import type { Job, JobProgress } from '../../../job/job.js';
import type { FunctionRef, InputOf, OutputOf } from '../../../job/job-definition.js';
import { isSignalName } from '../../../job/signals.js';
import { MAX_STEP_NAME } from '../../../job/steps.js';
import { readEntry, type StreamEntry, type StreamKind } from '../../../job/streams.js';
import type { JobFeeds } from './job-feeds.js';
import type { JobReader } from './job-handle.js';
import { JobSight, type ReadJob } from './job-sight.js';
import type { Changes, JobStore } from './job-store.js';
import { checkPriority } from '../../features/limits/limit-access.js';
import { runUntilFinal, untilFinal, type AwaitedKey, type Wait } from './job-waiter.js';
import type { KnownFunctions } from './known-functions.js';
import { observeJob, observeProgress } from './observables.js';
import { observeFlow } from '../../features/flows/observe-flow.js';
import { observeStream } from '../../features/records/observe-stream.js';
import type { JobKey } from '../wire/protocol.js';
import type { Updated } from '../wire/scripts.js';
import { resultWaitOf, type ResultOptions } from './run-options.js';
import { checkUpdate, type UpdateOptions } from '../../features/edits/update-options.js';
import { isBegun, markIn, toFinished, toJob, waitsForTime } from '../wire/stored-job.js';

/** A worker that gives a job its key needs a round trip for it. One without the limit may also run a job that has no key. */
const [FILING_LOOKS, FILING_MS] = [20, 10];

type JobOf<F extends FunctionRef> = Job<InputOf<F>, OutputOf<F>>;

/** Reads, changes and cancels single jobs. A key with a mark never returns another job that got the same id. */
export class JobAccess implements JobReader {
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

  async cancel(ref: FunctionRef, key: JobKey): Promise<boolean> {
    const fn = this.functions.nameOf(ref);
    const came = isId(key.id) ? await this.store.cancel(fn, key) : 'missing';
    if (came === 'missing') throw new JobNotFoundError(fn, key.id);
    if (came === 'lost') throw new JobLostError(fn, key.id);
    if (came === 'running') throw new NotCancellableError(fn, key.id);
    return came === 'cancelled';
  }

  async signal(ref: FunctionRef, key: JobKey, name: string, data: unknown): Promise<boolean> {
    const fn = this.functions.nameOf(ref);
    if (!isSignalName(name))
      throw new InvalidOptionError('name', name, `text of 1 to ${MAX_STEP_NAME} characters without a colon`);
    const encoded = this.functions.encodeSignal(ref, data);
    const came = isId(key.id) ? await this.store.signal(fn, key, name, encoded) : 'missing';
    if (came === 'missing') throw new JobNotFoundError(fn, key.id);
    if (came === 'lost') throw new JobLostError(fn, key.id);
    return came === 'signalled';
  }

  async update<F extends FunctionRef>(
    ref: F,
    key: JobKey,
    changes: UpdateOptions<InputOf<F>>,
  ): Promise<void> {
    const fn = this.functions.nameOf(ref);
    const { input: given, place } = checkUpdate(changes);
    const limit = this.functions.limitOf(ref);
    if (limit && place) checkPriority(limit, place.queue);
    const isSame = given === undefined;
    const limitKey = isSame ? undefined : limit?.keyOf(given);
    const input = isSame ? undefined : await this.functions.encode(ref, given);
    const made: Changes = { input, place, key: limitKey };
    const came = isId(key.id) ? await this.change(fn, key, made, limit !== undefined) : 'missing';
    if (came === 'missing') throw new JobNotFoundError(fn, key.id);
    if (came === 'lost') throw new JobLostError(fn, key.id);
    if (came !== 'updated') throw new JobBegunError(fn, key.id, came === 'finished');
  }

  /** A worker gives a job a key that was enqueued without one, such as a unique one: that is awaited, as it has not begun. */
  private async change(fn: string, key: JobKey, changes: Changes, limited: boolean): Promise<Updated> {
    for (let looks = 0; ; looks++) {
      const came = await this.store.update(fn, key, changes);
      if (came !== 'begun' || !limited || looks === FILING_LOOKS) return came;
      const [stored] = await this.store.read(fn, [key.id]);
      if (!stored || (isBegun(stored) && stored.has('key'))) return came;
      await delay(FILING_MS);
    }
  }

  /** How far a flow is. */
  flowProgress(fn: string, name: string, root: string): Observable<FlowProgress> {
    const read = (wanted: () => boolean) => this.store.flows.progress(fn, name, wanted);
    return observeFlow(() => this.feeds.forObserver(fn), { fn, name, root, read });
  }

  /** Returns how many jobs of a flow it has cancelled. */
  cancelFlow(fn: string, name: string): Promise<number> {
    return this.store.flows.cancel(fn, name);
  }

  progress(ref: FunctionRef, key: JobKey): Observable<JobProgress> {
    const fn = this.functions.nameOf(ref);
    return observeProgress(
      () => this.feeds.forObserver(fn),
      () => this.sight(ref, key),
    );
  }

  watch<F extends FunctionRef>(ref: F, key: JobKey): Observable<JobOf<F>> {
    const fn = this.functions.nameOf(ref);
    return observeJob(
      () => this.feeds.forObserver(fn),
      () => this.sight(ref, key),
    );
  }

  /** The values of `entries`. */
  stream(ref: FunctionRef, key: JobKey, kind: StreamKind, after = 0): Observable<unknown> {
    return this.entries(ref, key, kind, after).pipe(map(({ value }) => value));
  }

  /** What a job streams, each entry by the codec: chunks as the function's values, lines as text. */
  entries(ref: FunctionRef, key: JobKey, kind: StreamKind, after: number): Observable<StreamEntry> {
    const fn = this.functions.nameOf(ref);
    const codec = this.functions.codecOf(ref);
    return observeStream(
      () => this.feeds.forObserver(fn),
      () => this.sight(ref, key),
      {
        kind,
        after,
        read: (from, wanted) => this.store.readStream(fn, key.id, kind, from, wanted),
        decode: (bytes, number) => {
          const entry = readEntry(bytes);
          if (!entry) return undefined;
          const { value } = entry;
          return {
            number,
            time: new Date(entry.time),
            value: kind === 'log' ? Buffer.from(value).toString() : read(codec, fn, 'chunk', value),
          };
        },
      },
    );
  }

  private sight<F extends FunctionRef>(ref: F, { id, mark }: JobKey): JobSight<JobOf<F>> {
    const { clock = systemClock } = this.store;
    const fn = this.functions.nameOf(ref);
    return new JobSight(this.readerOf(ref), { clock, expire: (key) => this.store.expire(fn, key) }, id, mark);
  }

  private readerOf<F extends FunctionRef>(ref: F): ReadJob<JobOf<F>> {
    const fn = this.functions.nameOf(ref);
    return async ({ id, mark: known }, wanted) => {
      const [stored] = isId(id) ? await this.store.read(fn, [id], wanted) : [];
      if (!stored) throw new JobNotFoundError(fn, id);
      const mark = markIn(stored);
      if (known !== undefined && known !== mark) throw new JobLostError(fn, id);
      const now = waitsForTime(stored) ? await this.store.views.now(fn, wanted) : 0;
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
      sightOf: (key) => this.sight(ref, key),
      replied: (id, output) => toFinished(fn, id, output, this.functions.codecOf(ref)),
    };
  }
}

/** Ids come from INCR. Any other text could form another key, such as `send:1` of the function `mail`. */
function isId(id: string): boolean {
  return /^\d+$/.test(id);
}

/** @throws JobFailedError */
export function outputOf<T>(job: Job): T {
  if (job.error) throw new JobFailedError(job.fn, job.id, job.error);
  return job.output as T;
}
