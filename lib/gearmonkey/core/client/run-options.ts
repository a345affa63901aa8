import { isDate } from 'node:util/types';
import { defined } from '../../../job/defined.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../../../job/duration.js';
import { InvalidOptionError } from '../../../job/errors.js';
import type { OnParentError } from '../../../job/flows.js';
import { addHeaders, checkHeaders, type GivenHeaders } from '../../../job/headers.js';
import type { JobOptions } from '../../../job/job-source.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import { checkRetry, type JobRetryOptions } from '../../../job/retry.js';
import { checkTags } from '../../../job/tags.js';
import type { UniqueOptions } from '../../../job/unique.js';
import type { Place, Placement } from './job-store.js';

/** The queues of a function, with the protocol's names. */
export type Priority = 'low' | 'normal' | 'high' | 'scheduled';

/** A job that another may wait for: a handle, a running job, or its function and id. */
export interface JobRef {
  readonly fn: string;
  readonly id: string | number;
}

/** The options of the protocol's Client.run. */
export interface RunOptions<Input = unknown> {
  /** @default 'normal', or 'scheduled' when `scheduled` or `delay` is given */
  priority?: Priority;
  /** When the job may run. A time in the past means now. */
  scheduled?: Date;
  /** How long the job waits, by the server's clock from when it gets the job. Use either this or `scheduled`. 0 means now. */
  delay?: Duration;
  /** Resolve only when the job has finished, successfully or not (OPT_BLOCKING). @default false */
  blocking?: boolean;
  /** Reject unless a worker is registered for the function (OPT_ROLLCALL). @default false */
  rollCall?: boolean;
  /** How long `blocking` and `call` wait. Without it they wait forever if there is no worker. @default no limit */
  timeout?: Duration;
  /** What happens when this job's handler fails. @default the options of handler or definition */
  retry?: JobRetryOptions;
  /** How long a run of this job may take. @default the options of handler or definition */
  jobTimeout?: Duration;
  /**
   * The job ends as an error, `JOB_EXPIRED`, unless it was begun by then: a time, or a span from when it may run, by the
   * server's clock.
   * @default the definition's, or never
   */
  expires?: Date | Duration;
  /** Text that travels with the job, for `job.headers`. Goes before headers of the module with the same names. */
  headers?: GivenHeaders;
  /** What `find` finds the job by, such as `['order:7']`: at most 16 texts of 128 bytes. */
  tags?: readonly string[];
  /**
   * Creates no job if its key has one: the call then returns that one, and `handle.created` is false. `false` creates a job
   * in any case. @default the definition's
   */
  unique?: UniqueOptions<Input> | false;
  /**
   * The job begins once all these jobs have succeeded; its handler reads their outputs with `job.parents()`. At most 1,000. It
   * belongs to the flow of the first of them that has one, so a running job adds to its flow with `after: [job]`.
   */
  after?: readonly JobRef[];
  /**
   * With `after`, if one of those jobs fails or is cancelled: this job ends as an error, `PARENT_FAILED`; or it runs once all
   * have ended; or it is cancelled. @default 'fail'
   */
  onParentError?: OnParentError;
}

/** Options of `call`, which always waits. */
export type CallOptions<Input = unknown> = Omit<RunOptions<Input>, 'blocking'>;
/** Options of `result`. */
export type ResultOptions = Pick<RunOptions, 'timeout'>;
/** What `update` changes of a job. What is left out stays. */
export interface UpdateOptions<Input = unknown> {
  /** Checked and encoded as that of `run`. */
  input?: Input;
  /** The queue that the job moves to, behind the others there. */
  priority?: Priority;
  /** When the job may run. A time in the past means now. */
  scheduled?: Date;
  /** How long the job waits, counted from now. Use either this or `scheduled`. */
  delay?: Duration;
}

/** Options of `cancel`. */
export interface CancelOptions {
  /** With false a job that runs is left alone, even if it began a moment ago. @default true */
  running?: boolean;
}

/** Options of a call with any input. */
export type AnyRunOptions = RunOptions<never>;
/** Options of `runMany`, which never waits. */
export type RunManyOptions<Input = unknown> = Omit<
  RunOptions<Input>,
  'after' | 'blocking' | 'onParentError' | 'timeout'
>;

const PRIORITIES: ReadonlySet<unknown> = new Set<Priority>(['low', 'normal', 'high', 'scheduled']);

const MANY: Readonly<Record<keyof RunManyOptions, true>> = {
  priority: true,
  scheduled: true,
  delay: true,
  rollCall: true,
  retry: true,
  jobTimeout: true,
  headers: true,
  tags: true,
  expires: true,
  unique: true,
};
const RUN_MANY = optionNames<RunManyOptions>(MANY);
const RUN = optionNames<RunOptions>({
  ...MANY,
  blocking: true,
  timeout: true,
  after: true,
  onParentError: true,
});
const RESULT = optionNames<ResultOptions>({ timeout: true });

/** Returns a copy. @throws ConfigurationError */
export function checkRunMany(options: RunManyOptions<never>): RunManyOptions<never> {
  return checkOptions('runMany', options, RUN_MANY);
}

/** What the client adds to a job's own options. */
export interface AddedOptions {
  /** The client that the output is sent to. */
  readonly reply?: string | undefined;
  /** Those of the module. */
  readonly headers?: GivenHeaders | undefined;
  /** Those of tracing: they are left out if there is no room for them. */
  readonly traced?: GivenHeaders | undefined;
  /** That of the definition, in milliseconds. */
  readonly expires?: number | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** @throws ConfigurationError, InvalidOptionError */
export function placementOf(options: AnyRunOptions, added: AddedOptions): Placement {
  const queue = queueOf(options);
  const expiry = expiryOf(options.expires === undefined ? added.expires : options.expires, queue, added.now);
  return defined({ ...queue, options: jobOptionsOf(options, added, expiry.expires), ...expiry });
}

/** The options that the job itself carries, as JSON. */
function jobOptionsOf(
  { retry, jobTimeout, ...own }: AnyRunOptions,
  added: AddedOptions,
  expires: number | undefined,
): string | undefined {
  const { reply } = added;
  const headers = addHeaders(added.traced, checkHeaders(added.headers, own.headers));
  const tags = checkTags(own.tags);
  if ([retry, jobTimeout, reply, headers, tags, expires].every((option) => option === undefined))
    return undefined;
  const checked = retry === undefined ? undefined : checkRetry(retry);
  if (typeof checked?.backoff === 'function') {
    throw new InvalidOptionError(
      'retry.backoff',
      checked.backoff,
      "'fixed' or 'exponential' for a single job",
    );
  }
  const options: JobOptions = defined({
    retry: checked as JobRetryOptions | undefined,
    timeout: jobTimeout === undefined ? undefined : toMilliseconds('jobTimeout', jobTimeout),
    reply,
    headers,
    tags,
    expires,
  });
  return JSON.stringify(options);
}

/** When a job expires: a span goes by the server's clock, as this machine's may be wrong. @throws InvalidOptionError */
function expiryOf(
  expires: Date | Duration | undefined,
  { score, delay = 0 }: Pick<Placement, 'score' | 'delay'>,
  now: number,
): Pick<Placement, 'expires' | 'expiresIn'> {
  if (expires === undefined) return {};
  if (!isDate(expires)) return { expiresIn: toMilliseconds('expires', expires, { most: MAX_SPAN_MS }) };
  const due = Math.ceil(score === undefined ? now + delay : score * 1000);
  const time = expires.getTime();
  if (Number.isNaN(time))
    throw new InvalidOptionError('expires', expires, "a valid Date, or a span such as '1h'");
  if (time <= due && due > now)
    throw new InvalidOptionError('expires', expires, 'later than the time from which the job may run');
  return { expires: Math.max(0, time) };
}

/** The queue that these options choose. @throws InvalidOptionError */
export function queueOf({ priority, scheduled, delay }: AnyRunOptions): Place {
  const isLater = scheduled !== undefined || delay !== undefined;
  const queue = priority ?? (isLater ? 'scheduled' : 'normal');
  if (!PRIORITIES.has(queue)) {
    throw new InvalidOptionError('priority', priority, "'low', 'normal', 'high' or 'scheduled'");
  }
  if (scheduled !== undefined && delay !== undefined) {
    throw new InvalidOptionError('delay', delay, 'absent when `scheduled` is given: choose one of them');
  }
  if (isLater && queue !== 'scheduled') {
    const time = delay === undefined ? 'scheduled' : 'delay';
    const absent = `absent with \`${time}\`: a job that waits for its time has no other`;
    throw new InvalidOptionError('priority', priority, absent);
  }
  if (!isLater && queue === 'scheduled') {
    const given = "a Date when the priority is 'scheduled', or `delay` in its place";
    throw new InvalidOptionError('scheduled', scheduled, given);
  }
  if (delay !== undefined)
    return { queue, delay: toMilliseconds('delay', delay, { least: 0, most: MAX_SPAN_MS }) };
  return scheduled === undefined ? { queue } : { queue, score: secondsOf(scheduled) };
}

const VALID_DATE =
  "a valid Date, as in `scheduled: new Date('2027-01-01')`, or absent with `delay: '30s'` in its place";

/** Converts to seconds, the unit on the wire. Never below 0: the protocol has scores from 0. */
function secondsOf(scheduled: Date): number {
  if (!isDate(scheduled) || Number.isNaN(scheduled.getTime()))
    throw new InvalidOptionError('scheduled', scheduled, VALID_DATE);
  return Math.max(0, scheduled.getTime() / 1000);
}

/** Returns a copy of the options, and how long to wait in milliseconds. @throws ConfigurationError, InvalidOptionError */
export function checkRun(options: AnyRunOptions | undefined): [AnyRunOptions, number] {
  const checked: AnyRunOptions = options === undefined ? {} : checkOptions('run', options, RUN);
  return [checked, limitOf(checked.timeout)];
}

/** The same for a job that was enqueued before. @throws ConfigurationError, InvalidOptionError */
export function resultWaitOf(options: ResultOptions): number {
  return limitOf(checkOptions('result', options, RESULT).timeout);
}

function limitOf(timeout: Duration | undefined): number {
  return timeout === undefined ? Infinity : toMilliseconds('timeout', timeout);
}
