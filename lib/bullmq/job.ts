import { defined } from '../job/defined.js';
import { ConfigurationError, GearMonkeyError, InvalidOptionError, JobFailedError } from '../job/errors.js';
import type { Job as JobSnapshot } from '../job/job.js';
import { isFinal, type JobState } from '../job/job-state.js';
import { SnoozeError, UnrecoverableError } from '../job/retry.js';
import type { RunningJob } from '../worker/running-job.js';
import { nameOf, optionsFrom, priorityOf, type JobsOptions, type Untyped } from './job-options.js';
import type { QueueEvents } from './queue-events.js';
import type { QueueParts } from './queue-parts.js';
import { unsupported } from './unsupported.js';

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

/** A job as BullMQ has it: what `queue.add` returns, and what a processor gets. */
export class Job<Data = Untyped, Result = Untyped, Name extends string = string> {
  readonly #queue: QueueParts;
  readonly #run: JobRun | undefined;
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
  readonly delay: number;
  readonly priority: number;
  processedOn?: number;
  finishedOn?: number;
  failedReason?: string;
  stacktrace: string[];
  returnvalue: Result;
  /** What `updateProgress` was given. @default 0 */
  progress: number;

  /** @internal */
  constructor(queue: QueueParts, fields: JobFields<Data, Result>, run?: JobRun) {
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

  /** A job that a processor runs. @internal */
  static ofRun(queue: QueueParts, data: unknown, run: JobRun): Job {
    const { claim, headers, recurring } = run.running;
    const now = Date.now();
    const opts = optionsFrom(headers, claim.options.retry);
    return new Job(
      queue,
      {
        id: claim.id,
        name: nameOf(headers, queue.name),
        data,
        opts,
        timestamp: opts.timestamp ?? recurring?.slot.getTime() ?? now - (claim.waited ?? 0),
        attemptsMade: claim.attempts - claim.stalls - 1,
        attemptsStarted: claim.attempts,
        stalledCounter: claim.stalls,
        processedOn: now,
      },
      run,
    );
  }

  /** A job as it is on the server. @internal */
  static ofSnapshot(queue: QueueParts, job: JobSnapshot): Job {
    const { id, headers, state, times, progress, errors, attempts } = job;
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
        attemptsMade: Math.max(0, attempts - begun),
        attemptsStarted: attempts,
        processedOn: times.started?.getTime(),
        finishedOn: times.finished?.getTime(),
        failedReason: job.error?.message ?? errors.at(-1)?.message,
        stacktrace: errors.map(({ stack, message }) => stack ?? message),
        returnvalue: job.output,
        progress: progress && (progress.dividend / progress.divisor) * PERCENT,
      }),
    );
  }

  /** How a run ended whose processor has thrown. @internal */
  failureOf(error: unknown): unknown {
    if (error instanceof DelayedError)
      return this.#delayedUntil === undefined
        ? new ConfigurationError(
            'A processor threw a DelayedError without job.moveToDelayed. Call that before.',
          )
        : new SnoozeError(Math.max(0, this.#delayedUntil - Date.now()));
    if (!this.#isDiscarded || error instanceof UnrecoverableError) return error;
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

  /** The job runs again at this time, in milliseconds since 1970. The processor throws a `DelayedError` then. */
  async moveToDelayed(timestamp: number, token?: string): Promise<void> {
    void token;
    this.#need('moveToDelayed');
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
        defined({ timeout: ttl }),
      )) as Result;
    } catch (error) {
      throw error instanceof JobFailedError ? new Error(error.error.message, { cause: error }) : error;
    }
  }

  /** Puts a failed job back into its queue. */
  async retry(): Promise<void> {
    await this.#queue.client.retry(this.#queue.name, this.id).done;
  }

  /** Deletes a job that waits or has failed. @throws ConfigurationError for one that runs or has completed */
  async remove(): Promise<void> {
    const { client, name } = this.#queue;
    const state = (await client.get(name, this.id))?.state;
    if (state === undefined) return;
    if (state === 'running')
      throw unsupported(`job.remove() of a running job`, 'GearMonkeyClient.cancel also ends those.');
    if (state === 'succeeded')
      throw unsupported(
        `job.remove() of a completed job`,
        'Say with `removeOnComplete` how long they are kept.',
      );
    if (!isFinal(state)) await client.cancel(name, this.id);
    await client.discard(name, this.id).done;
  }

  /** A delayed job runs now. @throws JobBegunError */
  async promote(): Promise<void> {
    await this.changeDelay(0);
  }

  /** @param delay milliseconds from now @throws JobBegunError */
  async changeDelay(delay: number): Promise<void> {
    await this.#queue.client.update(this.#queue.name, this.id, { delay });
  }

  /** @throws JobBegunError · ConfigurationError without `priorities` of BullModule */
  async changePriority({ priority = 0 }: { priority?: number }): Promise<void> {
    const { client, name, priorities } = this.#queue;
    const chosen = priority === 0 ? 'normal' : priorityOf(priority, priorities);
    await client.update(name, this.id, { priority: chosen });
  }

  #need(method: string): JobRun {
    if (this.#run) return this.#run;
    throw unsupported(`job.${method} outside of a job's processor`, 'Call it in `process`.');
  }
}
