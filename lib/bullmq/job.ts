import { defined } from '../job/defined.js';
import { MAX_SPAN_MS, toMilliseconds } from '../job/duration.js';
import { ConfigurationError, GearMonkeyError, InvalidOptionError, JobFailedError } from '../job/errors.js';
import type { Job as JobSnapshot } from '../job/job.js';
import { isFinal, type JobState } from '../job/job-state.js';
import { SnoozeError, UnrecoverableError } from '../job/retry.js';
import type { RunningJob } from '../worker/running-job.js';
import {
  nameOf,
  optionsFrom,
  priorityOf,
  refuseLaterPriority,
  type JobsOptions,
  type Untyped,
} from './job-options.js';
import type { QueueEvents } from './queue-events.js';
import type { QueueParts } from './queue-parts.js';
import { refuseMethods, unsupported, type Remedies } from './unsupported.js';

/** The states of BullMQ that jobs have here. */
export type BullJobState = 'waiting' | 'waiting-children' | 'delayed' | 'active' | 'completed' | 'failed';

/** Thrown by a processor after `job.moveToDelayed`. */
export class DelayedError extends GearMonkeyError {
  readonly code = 'DELAYED';

  constructor(message = 'The job was moved to delayed', options?: ErrorOptions) {
    super(message, options);
  }
}

/** What is known of a job when the object is made. */
export type JobFields<Data, Result> = Pick<Job<Data, Result>, 'id' | 'name' | 'data' | 'timestamp'> & {
  readonly opts: JobsOptions;
} & Partial<
    Pick<
      Job<Data, Result>,
      | 'attemptsMade'
      | 'attemptsStarted'
      | 'stalledCounter'
      | 'processedOn'
      | 'finishedOn'
      | 'failedReason'
      | 'stacktrace'
      | 'returnvalue'
      | 'progress'
    >
  >;

/** What a run tells of its job. */
export interface JobRun {
  readonly running: RunningJob;
  progressed(progress: number): void;
}

const STATES: Readonly<Record<JobState, BullJobState>> = {
  waiting: 'waiting',
  scheduled: 'delayed',
  retrying: 'delayed',
  running: 'active',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
};
const PERCENT = 100;

/** What processors of BullMQ throw to have something done. */
const THROWN: Remedies = {
  RateLimitError:
    "Use the option `limiter` of @Processor, or move the processor to a @Worker with a `limit` and call its job's holdKey.",
  WaitingChildrenError: 'Use GearMonkeyClient.flow, whose `children` begin after their job.',
  WaitingError: 'Use job.moveToDelayed with a DelayedError.',
};

/** What earlier runs have left. */
function endsOf({ errors, error, progress }: JobSnapshot) {
  return {
    failedReason: error?.message ?? errors.at(-1)?.message,
    stacktrace: errors.map(({ stack, message }) => stack ?? message),
    progress: progress && (progress.dividend / progress.divisor) * PERCENT,
  };
}

/** A job as BullMQ has it: what `queue.add` returns, and what a processor gets. */
export class Job<Data = Untyped, Result = Untyped, Name extends string = string> {
  readonly #queue: QueueParts;
  /** Until it has ended: what is called later would be lost. */
  #run: JobRun | undefined;
  #isDiscarded = false;
  #delayedUntil: number | undefined;

  readonly id: string;
  readonly name: Name;
  readonly queueName: string;
  data: Data;
  readonly opts: JobsOptions & { attempts: number };
  /** How many attempts have ended: 0 in the first one. */
  attemptsMade: number;
  /** How many have begun. */
  attemptsStarted: number;
  /** How often it lost its worker. */
  readonly stalledCounter: number;
  /** When it was made, in milliseconds since 1970. */
  readonly timestamp: number;
  /** As it was added, or changed by this object. */
  delay: number;
  priority: number;
  processedOn?: number;
  finishedOn?: number;
  failedReason?: string;
  stacktrace: string[];
  returnvalue: Result;
  /** What `updateProgress` was given. @default 0 */
  progress: number;

  /** @internal @throws ConfigurationError for a constructor's call of BullMQ */
  constructor(queue: QueueParts, fields: JobFields<Data, Result>, run?: JobRun) {
    // The published declarations have no constructor.
    if (typeof (queue as Partial<QueueParts> | undefined)?.client !== 'object')
      throw unsupported('new Job()', 'Add jobs with queue.add, and read them with queue.getJob.');
    this.#queue = queue;
    this.#run = run;
    const { id, name, data, opts, timestamp } = fields;
    this.id = id;
    this.name = name as Name;
    this.queueName = queue.name;
    this.data = data;
    this.opts = { ...opts, attempts: opts.attempts ?? 0 };
    this.attemptsMade = fields.attemptsMade ?? 0;
    this.attemptsStarted = fields.attemptsStarted ?? 0;
    this.stalledCounter = fields.stalledCounter ?? 0;
    this.timestamp = timestamp;
    this.delay = opts.delay ?? 0;
    this.priority = opts.priority ?? 0;
    this.processedOn = fields.processedOn;
    this.finishedOn = fields.finishedOn;
    this.failedReason = fields.failedReason;
    this.stacktrace = fields.stacktrace ?? [];
    this.returnvalue = fields.returnvalue ?? (null as Result);
    this.progress = fields.progress ?? 0;
  }

  /** A job that a processor runs. @param before what is known of earlier runs @internal */
  static ofRun(queue: QueueParts, data: unknown, run: JobRun, before?: JobSnapshot): Job {
    const { claim, headers, recurring, snoozes } = run.running;
    const now = Date.now();
    const opts = optionsFrom(headers, claim.options.retry);
    return new Job(
      queue,
      defined({
        id: claim.id,
        name: nameOf(headers, queue.name),
        data,
        opts,
        timestamp:
          opts.timestamp ??
          recurring?.slot.getTime() ??
          before?.times.created?.getTime() ??
          now - (claim.waited ?? 0),
        attemptsMade: claim.attempts - claim.stalls - 1,
        // Runs that ended with a DelayedError count, as in BullMQ.
        attemptsStarted: claim.attempts + snoozes,
        stalledCounter: claim.stalls,
        processedOn: now,
        ...(before && endsOf(before)),
      }),
      run,
    );
  }

  /** A job as it is on the server. @internal */
  static ofSnapshot(queue: QueueParts, job: JobSnapshot): Job {
    const { id, headers, state, times, attempts, stalls = 0, snoozes } = job;
    const opts = optionsFrom(headers, undefined);
    const begun = state === 'running' ? 1 : 0;
    return new Job(
      queue,
      defined({
        id,
        name: nameOf(headers, queue.name),
        data: job.input,
        opts,
        timestamp: opts.timestamp ?? times.created?.getTime() ?? 0,
        attemptsMade: Math.max(0, attempts - begun - stalls),
        attemptsStarted: attempts + snoozes,
        stalledCounter: stalls,
        processedOn: times.started?.getTime(),
        finishedOn: times.finished?.getTime(),
        ...endsOf(job),
        returnvalue: job.output,
      }),
    );
  }

  /** Its run has ended. @internal */
  ended(): void {
    this.#run = undefined;
  }

  /** How a run ends whose processor has called `moveToDelayed`, whatever it did then; undefined for others. @internal */
  get postponed(): SnoozeError | undefined {
    const until = this.#delayedUntil;
    return until === undefined ? undefined : new SnoozeError(Math.max(0, until - Date.now()));
  }

  /** How a run ended whose processor has thrown. @internal */
  failureOf(error: unknown): unknown {
    // Code that is not moved yet may throw those of BullMQ, which knows them by their names, too.
    const name = error instanceof Error ? error.name : '';
    if (error instanceof DelayedError || name === 'DelayedError')
      return new ConfigurationError(
        'A processor threw a DelayedError without job.moveToDelayed. Call that before.',
      );
    if (Object.hasOwn(THROWN, name)) return unsupported(name, THROWN[name] ?? '');
    if (error instanceof UnrecoverableError || (!this.#isDiscarded && name !== 'UnrecoverableError'))
      return error;
    return new UnrecoverableError(error instanceof Error ? error.message : String(error), { cause: error });
  }

  /**
   * How far the job is, in percent. Only in its processor.
   *
   * @throws InvalidOptionError unless it is a number · JobAbortedError when the job has to stop
   */
  async updateProgress(progress: number): Promise<void> {
    const { running, progressed } = this.#need('updateProgress');
    if (typeof progress !== 'number')
      throw new InvalidOptionError(
        'progress',
        progress,
        'a number of percent: for anything else use job.log, or stream it (docs/guides/streams.md)',
      );
    await running.update(progress, PERCENT);
    this.progress = progress;
    progressed(progress);
  }

  /** Adds a line to the job's log. Only in its processor. */
  async log(line: string): Promise<void> {
    return this.#need('log').running.log(line);
  }

  /** Changes the data of a job that no worker has begun. @throws JobBegunError */
  async updateData(data: Data): Promise<void> {
    await this.#queue.client.update(this.#queue.name, this.id, { input: data });
    this.data = data;
  }

  /** If this attempt fails, there is no other. Only in its processor. */
  discard(): void {
    this.#need('discard');
    this.#isDiscarded = true;
  }

  /**
   * The job runs again at this time, in milliseconds since 1970, when this run has ended. The processor throws a
   * `DelayedError` then; what else it returns or throws is not stored.
   *
   * @throws InvalidOptionError
   */
  async moveToDelayed(timestamp: number, token?: string): Promise<void> {
    void token;
    this.#need('moveToDelayed');
    if (!Number.isFinite(timestamp))
      throw new InvalidOptionError('timestamp', timestamp, 'milliseconds since 1970, as of Date.now()');
    toMilliseconds('timestamp', Math.max(0, timestamp - Date.now()), { least: 0, most: MAX_SPAN_MS });
    this.#delayedUntil = timestamp;
  }

  /** `'unknown'` if the job is no longer kept. */
  async getState(): Promise<BullJobState | 'unknown'> {
    const job = await this.#queue.client.get(this.#queue.name, this.id);
    if (!job) return 'unknown';
    return job.waitsForJobs ? 'waiting-children' : STATES[job.state];
  }

  async isCompleted(): Promise<boolean> {
    return (await this.getState()) === 'completed';
  }

  async isFailed(): Promise<boolean> {
    return (await this.getState()) === 'failed';
  }

  async isActive(): Promise<boolean> {
    return (await this.getState()) === 'active';
  }

  async isDelayed(): Promise<boolean> {
    return (await this.getState()) === 'delayed';
  }

  async isWaiting(): Promise<boolean> {
    return (await this.getState()) === 'waiting';
  }

  /**
   * Waits until the job has finished, and returns what its processor returned.
   *
   * @param events need not be given
   * @param ttl milliseconds
   * @throws Error with the message of the processor's error · WaitTimeoutError
   */
  async waitUntilFinished(events?: QueueEvents, ttl?: number): Promise<Result> {
    void events;
    try {
      return (await this.#queue.client.result(
        this.#queue.name,
        this.id,
        // As in BullMQ, 0 is no limit.
        defined({ timeout: ttl || undefined }),
      )) as Result;
    } catch (error) {
      throw error instanceof JobFailedError ? new Error(error.error.message, { cause: error }) : error;
    }
  }

  /**
   * Puts a failed job back into its queue. Its attempts begin anew.
   *
   * @throws ConfigurationError for one that has not failed
   */
  async retry(state: 'failed' = 'failed', ...options: never[]): Promise<void> {
    if (state !== 'failed')
      throw unsupported(`job.retry('${String(state)}')`, 'Only failed jobs are retried: add it again.');
    if (options[0] !== undefined)
      throw unsupported('options of job.retry', 'Leave them out: the attempts begin anew.');
    const { client, name } = this.#queue;
    if ((await client.retry(name, this.id).done) === 0)
      throw new ConfigurationError(
        `Job ${this.id} of "${name}" can't be retried: it is ${await this.getState()}, not failed. Ask for its state before.`,
      );
  }

  /** Deletes a job that waits or has failed. @throws ConfigurationError for one that runs or has completed */
  async remove(): Promise<void> {
    const { client, name } = this.#queue;
    const state = (await client.get(name, this.id))?.state;
    if (state === undefined) return;
    if (state === 'succeeded')
      throw unsupported(
        `job.remove() of a completed job`,
        'Say with `removeOnComplete` how long they are kept.',
      );
    // It may begin meanwhile.
    const hasEnded = isFinal(state) || (await client.cancel(name, this.id, { running: false }));
    if (!hasEnded)
      throw unsupported(`job.remove() of a running job`, 'GearMonkeyClient.cancel also ends those.');
    await client.discard(name, this.id).done;
  }

  /** A delayed job runs now. @throws JobBegunError · ConfigurationError for one that is not delayed */
  async promote(): Promise<void> {
    await this.#changeDelay('promote', 0);
  }

  /** @param delay milliseconds from now @throws JobBegunError · ConfigurationError for one that is not delayed */
  async changeDelay(delay: number): Promise<void> {
    await this.#changeDelay('changeDelay', delay);
  }

  /**
   * Changes the priority of a job that waits. One that is delayed has none here, and stays where it is.
   *
   * @throws JobBegunError · ConfigurationError without `priorities` of BullModule, and for one that is delayed
   */
  async changePriority({ priority = 0, ...others }: { priority?: number }): Promise<void> {
    const { client, name, priorities } = this.#queue;
    const [other] = Object.keys(others);
    if (other !== undefined)
      throw unsupported(`option \`${other}\` of job.changePriority`, 'Only `priority` is there.');
    const chosen = priorityOf(priority, priorities);
    if (await this.isDelayed()) refuseLaterPriority(priority, chosen, 'a delayed job');
    else await client.update(name, this.id, { priority: chosen });
    this.priority = priority;
  }

  async #changeDelay(method: string, delay: number): Promise<void> {
    const { client, name } = this.#queue;
    const state = await this.getState();
    if (state === 'waiting')
      throw new ConfigurationError(
        `job.${method} is for delayed jobs, and job ${this.id} of "${name}" is waiting. Ask for its state before.`,
      );
    await client.update(name, this.id, { delay });
    this.delay = delay;
  }

  /** Its fields. */
  toJSON(): object {
    return { ...this };
  }

  #need(method: string): JobRun {
    if (this.#run) return this.#run;
    throw unsupported(
      `job.${method} outside of a run of the job`,
      'Call it in `process`, and await it there.',
    );
  }
}

const FLOWS = 'Use GearMonkeyClient.flow, and job.parents() of a @Worker (docs/guides/flows.md).';
const OUTCOMES = 'A processor ends its job by what it returns or throws.';
const ADDED = 'Add jobs with queue.add, and read them with queue.getJob.';

refuseMethods(Job, 'Job', {
  create: ADDED,
  createBulk: ADDED,
  fromId: ADDED,
  fromJSON: ADDED,
  addJobLog: ADDED,
});
refuseMethods(Job.prototype, 'job', {
  moveToCompleted: OUTCOMES,
  moveToFailed: OUTCOMES,
  moveToWait: 'Call job.moveToDelayed(Date.now()), and throw a DelayedError.',
  moveToWaitingChildren: FLOWS,
  getChildrenValues: FLOWS,
  getDependencies: FLOWS,
  getDependenciesCount: FLOWS,
  getFailedChildrenValues: FLOWS,
  getIgnoredChildrenFailures: FLOWS,
  removeChildDependency: FLOWS,
  removeUnprocessedChildren: FLOWS,
  isWaitingChildren: "Use (await job.getState()) === 'waiting-children'.",
  extendLock: 'Leave it out: leases are renewed.',
  clearLogs: 'Leave it out: the last 10,000 lines of a log are kept.',
  removeDeduplicationKey: 'Use `unique` of GearMonkeyClient.run (docs/guides/unique.md).',
  asJSON: 'Use JSON.stringify(job).',
  asJSONSandbox: 'Processors in a file or a process of their own are not there.',
});
