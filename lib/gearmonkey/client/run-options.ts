import { isDate } from 'node:util/types';
import { defined } from '../../job/defined.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { JobOptions } from '../../job/job-source.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { checkRetry, type JobRetryOptions } from '../../job/retry.js';
import type { Placement } from './job-store.js';

/** The queues of a function, in the words of the protocol. */
export type Priority = 'low' | 'normal' | 'high' | 'scheduled';

/** The options of the protocol's Client.run. */
export interface RunOptions {
  /** @default 'normal', or 'scheduled' when `scheduled` or `delay` is given */
  priority?: Priority;
  /** When it may run. A time that has passed means now. */
  scheduled?: Date;
  /** After how long it may run, counted from when it is sent to the server; instead of `scheduled`. 0 means now. */
  delay?: Duration;
  /** Return only when the job has finished, successfully or not (OPT_BLOCKING). @default false */
  blocking?: boolean;
  /** Refuse unless a worker is registered for the function (OPT_ROLLCALL). @default false */
  rollCall?: boolean;
  /** How long `blocking` and `call` wait at most: without it for ever, where no worker ever comes. @default no limit */
  timeout?: Duration;
  /** What happens when this job's handler fails. @default what handler or definition say */
  retry?: JobRetryOptions;
  /** How long a run of this job may take. @default what handler or definition say */
  jobTimeout?: Duration;
}

/** What `call` takes: it always waits. */
export type CallOptions = Omit<RunOptions, 'blocking'>;
/** How long `result` waits. */
export type ResultOptions = Pick<RunOptions, 'timeout'>;
/** What `runMany` takes: it never waits. */
export type RunManyOptions = Omit<RunOptions, 'blocking' | 'timeout'>;

const PRIORITIES: ReadonlySet<unknown> = new Set<Priority>(['low', 'normal', 'high', 'scheduled']);

const MANY: Readonly<Record<keyof RunManyOptions, true>> = {
  priority: true,
  scheduled: true,
  delay: true,
  rollCall: true,
  retry: true,
  jobTimeout: true,
};
const RUN_MANY = optionNames<RunManyOptions>(MANY);
const RUN = optionNames<RunOptions>({ ...MANY, blocking: true, timeout: true });
const RESULT = optionNames<ResultOptions>({ timeout: true });

/** @throws ConfigurationError, InvalidOptionError */
export function placementOfMany(options: RunManyOptions): Placement {
  return placementOf(checkOptions('runMany', options, RUN_MANY));
}

/** `reply` is who wants the output at once. @throws ConfigurationError, InvalidOptionError */
export function placementOf(options: RunOptions, reply?: string): Placement {
  const own = jobOptionsOf(options, reply);
  return defined({ ...queueOf(options), options: own });
}

/** What the job itself carries, as JSON. */
function jobOptionsOf({ retry, jobTimeout }: RunOptions, reply?: string): string | undefined {
  if (retry === undefined && jobTimeout === undefined && reply === undefined) return undefined;
  if (typeof retry?.backoff === 'function') {
    throw new InvalidOptionError('retry.backoff', retry.backoff, "'fixed' or 'exponential' for a single job");
  }
  const options: JobOptions = defined({
    retry: retry === undefined ? undefined : (checkRetry(retry) as JobRetryOptions),
    timeout: jobTimeout === undefined ? undefined : toMilliseconds('jobTimeout', jobTimeout),
    reply,
  });
  return JSON.stringify(options);
}

function queueOf({ priority, scheduled, delay }: RunOptions): Pick<Placement, 'queue' | 'score' | 'delay'> {
  const isLater = scheduled !== undefined || delay !== undefined;
  const queue = priority ?? (isLater ? 'scheduled' : 'normal');
  if (!PRIORITIES.has(queue)) {
    throw new InvalidOptionError('priority', priority, "'low', 'normal', 'high' or 'scheduled'");
  }
  if (scheduled !== undefined && delay !== undefined) {
    throw new InvalidOptionError('delay', delay, 'absent where `scheduled` is given: choose one of them');
  }
  if ((queue === 'scheduled') !== isLater) {
    const option = delay === undefined ? 'scheduled' : 'delay';
    throw new InvalidOptionError(
      option,
      scheduled ?? delay,
      "a time with priority 'scheduled', and absent with any other",
    );
  }
  if (delay !== undefined)
    return { queue, delay: toMilliseconds('delay', delay, { least: 0, most: MAX_SPAN_MS }) };
  return scheduled === undefined ? { queue } : { queue, score: secondsOf(scheduled) };
}

const VALID_DATE =
  "a valid Date, as in `scheduled: new Date('2027-01-01')`, or absent with `delay: '30s'` in its place";

/** In seconds, as on the wire; never below 0: the protocol looks for scores from 0 to now. */
function secondsOf(scheduled: Date): number {
  if (!isDate(scheduled) || Number.isNaN(scheduled.getTime()))
    throw new InvalidOptionError('scheduled', scheduled, VALID_DATE);
  return Math.max(0, scheduled.getTime() / 1000);
}

/** Milliseconds to wait at most; the options are known ones then. @throws ConfigurationError, InvalidOptionError */
export function waitOf(options: RunOptions): number {
  return limitOf(checkOptions('run', options, RUN).timeout);
}

/** The same for who waits for a job that is there. @throws ConfigurationError, InvalidOptionError */
export function resultWaitOf(options: ResultOptions): number {
  return limitOf(checkOptions('result', options, RESULT).timeout);
}

function limitOf(timeout: Duration | undefined): number {
  return timeout === undefined ? Infinity : toMilliseconds('timeout', timeout);
}
