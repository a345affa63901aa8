import { defined } from '../../job/defined.js';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { JobOptions } from '../../job/job-source.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { checkRetry, type JobRetryOptions } from '../../job/retry.js';
import type { Placement } from './job-store.js';

export type Priority = 'low' | 'normal' | 'high' | 'scheduled';

/** The options of the protocol's Client.run. */
export interface RunOptions {
  /** @default 'normal', or 'scheduled' when `scheduled` is given */
  priority?: Priority;
  /** When it may run: a Date, or seconds since 1970. A time that has passed means now. */
  scheduled?: Date | number;
  /** Return only when the job has finished, successfully or not (OPT_BLOCKING). @default false */
  blocking?: boolean;
  /** Refuse unless a worker is registered for the function (OPT_ROLLCALL). @default false */
  rollCall?: boolean;
  /** Seconds that `blocking` and `call` wait at most: without it for ever, where no worker ever comes. @default no limit */
  timeout?: number;
  /** What happens when this job's handler fails. @default what handler or definition say */
  retry?: JobRetryOptions;
  /** How long a run of this job may take. @default what handler or definition say */
  jobTimeout?: Duration;
}

export type CallOptions = Omit<RunOptions, 'blocking'>;
export type ResultOptions = Pick<RunOptions, 'timeout'>;
export type RunManyOptions = Omit<RunOptions, 'blocking' | 'timeout'>;

const PRIORITIES: ReadonlySet<unknown> = new Set<Priority>(['low', 'normal', 'high', 'scheduled']);

const MANY: Readonly<Record<keyof RunManyOptions, true>> = {
  priority: true,
  scheduled: true,
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

function queueOf({ priority, scheduled }: RunOptions): Pick<Placement, 'queue' | 'score'> {
  const queue = priority ?? (scheduled === undefined ? 'normal' : 'scheduled');
  if (!PRIORITIES.has(queue)) {
    throw new InvalidOptionError('priority', priority, "'low', 'normal', 'high' or 'scheduled'");
  }
  if ((queue === 'scheduled') !== (scheduled !== undefined)) {
    throw new InvalidOptionError(
      'scheduled',
      scheduled,
      "a time with priority 'scheduled', and absent with any other",
    );
  }
  return scheduled === undefined ? { queue } : { queue, score: scoreOf(scheduled) };
}

/** The year 5138: who passes more means milliseconds. */
const MAX_SECONDS = 1e11;

/** Never below 0: the protocol looks for scores from 0 to now. */
function scoreOf(scheduled: Date | number): number {
  const seconds = scheduled instanceof Date ? scheduled.getTime() / 1000 : scheduled;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) {
    throw new InvalidOptionError('scheduled', scheduled, 'a valid Date or seconds since 1970');
  }
  if (typeof scheduled === 'number' && scheduled > MAX_SECONDS) {
    throw new InvalidOptionError('scheduled', scheduled, 'seconds since 1970, not milliseconds, or a Date');
  }
  return Math.max(0, seconds);
}

/** Seconds to wait at most; the options are known ones then. @throws ConfigurationError, InvalidOptionError */
export function waitOf(options: RunOptions): number {
  return secondsOf(checkOptions('run', options, RUN).timeout);
}

/** The same for who waits for a job that is there. @throws ConfigurationError, InvalidOptionError */
export function resultWaitOf(options: ResultOptions): number {
  return secondsOf(checkOptions('result', options, RESULT).timeout);
}

function secondsOf(timeout: number | undefined): number {
  if (timeout === undefined) return Infinity;
  if (typeof timeout !== 'number' || !(timeout > 0) || timeout > 2_147_483) {
    throw new InvalidOptionError('timeout', timeout, 'more than 0 and at most 2147483 seconds');
  }
  return timeout;
}
