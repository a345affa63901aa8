import { isDate } from 'node:util/types';
import { checkWhole } from '../../../job/check-whole.js';
import { defined } from '../../../job/defined.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from '../../../job/duration.js';
import { InvalidOptionError } from '../../../job/errors.js';
import { checkHeaders, type GivenHeaders } from '../../../job/headers.js';
import type { JobOptions } from '../../../job/job-source.js';
import { checkOptions, optionNames } from '../../../job/known-options.js';
import { checkRetry, type JobRetryOptions } from '../../../job/retry.js';
import type { CatchUp, Spec } from './spec.js';
import { checkCron, checkTimezone } from './check-cron.js';
import { nextSlot } from './timing.js';

/** When jobs recur. Either `cron` or `every`. */
export interface RecurringTimes {
  /** A pattern of five fields, `'0 9 * * 1-5'`, or of six with `seconds: true`; or `'@daily'` and the like. */
  cron?: string;
  /** Whether the pattern begins with a field for seconds. @default false */
  seconds?: boolean;
  /** The time zone of the pattern, such as `'Europe/Berlin'`. @default 'UTC' */
  timezone?: string;
  /** The time between two jobs, at least a second. It counts from `from`, or else from when the schedule was made. */
  every?: Duration;
  /** No job before this time. */
  from?: Date;
  /** No job after this time. */
  until?: Date;
  /** How many jobs there are in all. @default no limit */
  limit?: number;
}

/** How the jobs of a schedule are created and run. */
export interface RecurringJobOptions {
  /**
   * What happens with jobs whose time passed while no worker ran: `'skip'` creates none (but one that is less than a minute
   * late), `'last'` the last of them, `'all'` each. @default 'last'
   */
  catchUp?: CatchUp;
  /** Each job runs up to this much later, by chance. @default 0 */
  jitter?: Duration;
  /** Whether a job is created while the last one of this schedule waits or runs. @default 'queue', which creates it */
  ifRunning?: 'queue' | 'skip';
  /** How long a job may wait until it is begun; then it ends as an error, `JOB_EXPIRED`. @default the definition's, or forever */
  expires?: Duration;
  /** What happens when a handler fails. @default the options of handler or definition */
  retry?: JobRetryOptions;
  /** How long a run may take. @default the options of handler or definition */
  jobTimeout?: Duration;
  /** Text that travels with each job, for `job.headers`. */
  headers?: GivenHeaders;
}

/** Options of `recur`. */
export interface ScheduleOptions<Input = unknown> extends RecurringTimes, RecurringJobOptions {
  /** Names the schedule, among all of its server. A second call with the same id changes it. */
  id: string;
  /** The input of each job. */
  input?: Input;
}

/** What `schedules.update` changes. `null` removes an option. */
export type ScheduleChanges<Input = unknown> = {
  [Name in keyof Omit<ScheduleOptions<Input>, 'id' | 'input'>]?: ScheduleOptions<Input>[Name] | null;
} & { input?: Input };

const TIMES: Readonly<Record<keyof RecurringTimes, true>> = {
  cron: true,
  seconds: true,
  timezone: true,
  every: true,
  from: true,
  until: true,
  limit: true,
};
const JOBS: Readonly<Record<keyof RecurringJobOptions, true>> = {
  catchUp: true,
  jitter: true,
  ifRunning: true,
  expires: true,
  retry: true,
  jobTimeout: true,
  headers: true,
};
/** Names of what a decorator takes as well. */
export const RECURRING_OPTIONS = optionNames<RecurringTimes & RecurringJobOptions>({ ...TIMES, ...JOBS });
const RECUR = optionNames<ScheduleOptions>({ ...TIMES, ...JOBS, id: true, input: true });
const UPDATE = optionNames<ScheduleChanges>({ ...TIMES, ...JOBS, input: true });

const LEAST_EVERY_MS = 1000;
const MAX_ID_BYTES = 200;
const CATCH_UPS: ReadonlySet<unknown> = new Set<CatchUp>(['skip', 'last', 'all']);

/** @throws ConfigurationError */
export function checkRecurNames<T extends ScheduleOptions>(options: T): T {
  return checkOptions('recur', options, RECUR);
}

/** @throws ConfigurationError */
export function checkUpdateNames(changes: ScheduleChanges): ScheduleChanges {
  return checkOptions('schedules.update', changes, UPDATE);
}

/** @throws InvalidOptionError */
export function checkScheduleId(id: unknown): string {
  const isName = typeof id === 'string' && id !== '' && id.isWellFormed() && !/[\s\p{Cc}\p{Cf}]/u.test(id);
  if (isName && Buffer.byteLength(id) <= MAX_ID_BYTES) return id;
  const expected = `1 to ${MAX_ID_BYTES} bytes without white space, such as 'daily-report'`;
  throw new InvalidOptionError('id', id, expected);
}

/** A schedule's spec without its input. */
export type SpecOfOptions = Omit<Spec, 'input' | 'base64' | 'unique' | 'anchor' | 'paused' | 'app'>;

/**
 * Checks the options and converts them to the form in which they are stored.
 *
 * @param added what the module and the definition add
 * @throws InvalidOptionError
 */
export function specOf(
  options: RecurringTimes & RecurringJobOptions,
  added: { readonly headers?: GivenHeaders | undefined; readonly expires?: number | undefined } = {},
): SpecOfOptions {
  const { limit, catchUp = 'last', jitter, ifRunning = 'queue', expires } = options;
  if (!CATCH_UPS.has(catchUp)) throw new InvalidOptionError('catchUp', catchUp, "'skip', 'last' or 'all'");
  if (ifRunning !== 'queue' && ifRunning !== 'skip')
    throw new InvalidOptionError('ifRunning', ifRunning, "'queue' or 'skip'");
  const long = { most: MAX_SPAN_MS };
  return defined({
    ...timingOf(options),
    limit: limit === undefined ? undefined : checkWhole('limit', limit, 1),
    catchUp: catchUp === 'last' ? undefined : catchUp,
    jitter:
      jitter === undefined ? undefined : toMilliseconds('jitter', jitter, { ...long, least: 0 }) || undefined,
    ifRunning: ifRunning === 'skip' ? ifRunning : undefined,
    expires: expires === undefined ? added.expires : toMilliseconds('expires', expires, long),
    options: jobOptionsOf(options, added.headers),
  });
}

function timingOf(options: RecurringTimes): SpecOfOptions {
  const { cron, every, seconds = false, timezone } = options;
  if ((cron === undefined) === (every === undefined)) {
    const given = cron === undefined ? 'neither of them' : 'both of them';
    throw new InvalidOptionError('cron', cron, `given, or \`every\` in its place: there is ${given}`);
  }
  const [from, until] = [timeOf('from', options.from), timeOf('until', options.until)];
  if (from !== undefined && until !== undefined && until < from)
    throw new InvalidOptionError('until', options.until, 'after `from`');
  if (every !== undefined) {
    const absent = 'absent with `every`, which has no pattern';
    if (timezone !== undefined) throw new InvalidOptionError('timezone', timezone, absent);
    if (options.seconds !== undefined) throw new InvalidOptionError('seconds', seconds, absent);
    const bounds = { least: LEAST_EVERY_MS, most: MAX_SPAN_MS };
    return defined({ every: toMilliseconds('every', every, bounds), from, until });
  }
  if (typeof seconds !== 'boolean') throw new InvalidOptionError('seconds', seconds, 'true or false');
  const zone = checkTimezone(timezone);
  checkCron(cron, zone, seconds);
  const timing = defined({ cron, seconds: seconds || undefined, timezone: zone, from, until });
  // Without `from` it would depend on the date whether a schedule is accepted.
  if (from === undefined || nextSlot(timing, from - 1)) return timing;
  const [option, value] =
    until === undefined ? (['from', options.from] as const) : (['until', options.until] as const);
  throw new InvalidOptionError(option, value, 'such that the pattern matches between `from` and `until`');
}

function jobOptionsOf(options: RecurringJobOptions, added: GivenHeaders | undefined): Spec['options'] {
  const { retry, jobTimeout } = options;
  if (typeof retry?.backoff === 'function')
    throw new InvalidOptionError('retry.backoff', retry.backoff, "'fixed' or 'exponential' for a schedule");
  const own: Pick<JobOptions, 'retry' | 'timeout' | 'headers'> = defined({
    retry: retry === undefined ? undefined : (checkRetry(retry) as JobRetryOptions),
    timeout: jobTimeout === undefined ? undefined : toMilliseconds('jobTimeout', jobTimeout),
    headers: checkHeaders(added, options.headers),
  });
  return Object.keys(own).length === 0 ? undefined : own;
}

function timeOf(option: string, date: Date | undefined): number | undefined {
  if (date === undefined) return undefined;
  if (isDate(date) && !Number.isNaN(date.getTime())) return date.getTime();
  throw new InvalidOptionError(option, date, "a valid Date, such as new Date('2027-01-01')");
}
