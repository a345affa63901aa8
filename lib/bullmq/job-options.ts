import { checkWhole } from '../job/check-whole.js';
import { defined } from '../job/defined.js';
import { MAX_SPAN_MS } from '../job/duration.js';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import { IMPORT_HEADERS, type JobHeaders } from '../job/headers.js';
import type { KeepOptions, KeepSpan } from '../job/keep.js';
import { optionNames } from '../job/known-options.js';
import type { JobRetryOptions } from '../job/retry.js';
import type { UniqueOptions } from '../job/unique.js';
import type { Priority, RunManyOptions } from '../gearmonkey/core/client/run-options.js';
import { checkBullOptions, unsupported, type Refused } from './unsupported.js';

const KEEP = optionNames<KeepJobs>({ age: true, count: true });
const KEEP_REMEDIES = { limit: 'Leave it out: they are removed in small steps.' } as const;

/** What `JSON.parse` returns: BullMQ gives jobs without type arguments this type. */
export type Untyped = ReturnType<JSON['parse']>;

/** How long the wait before another attempt is. */
export interface BackoffOptions {
  /** Others are refused. The type is wider, for options in a variable. */
  type: 'fixed' | 'exponential' | (string & {});
  /** Milliseconds. @default 0 */
  delay?: number;
  /** The random part of a wait, 0 to 1. @default 0 */
  jitter?: number;
}

/** One job at a time for an id: without `ttl` until it has finished, with it for so many milliseconds. */
export interface DeduplicationOptions {
  id: string;
  ttl?: number;
  /** With `replace` and `ttl`: a debounced job, which runs `ttl` after the last call. */
  extend?: boolean;
  replace?: boolean;
}

/** How long ended jobs are kept: seconds, and how many. */
export interface KeepJobs {
  age?: number;
  count?: number;
}

export const JOB_REMEDIES = {
  jobId: 'Ids are numbers here. `deduplication: { id }` keeps a job from being added twice.',
  lifo: "Use `priority`, or `priority: 'high'` of GearMonkeyClient.run.",
  repeat: 'Use queue.upsertJobScheduler(id, repeat, template).',
  parent: 'Use GearMonkeyClient.flow, or `after` of GearMonkeyClient.run.',
  failParentOnFailure: 'Use `onParentError` of GearMonkeyClient.flow.',
  ignoreDependencyOnFailure: 'Use `onParentError` of GearMonkeyClient.flow.',
  removeDependencyOnFailure: 'Use `onParentError` of GearMonkeyClient.flow.',
  continueParentOnFailure: 'Use `onParentError` of GearMonkeyClient.flow.',
  keepLogs: 'Leave it out: the last 10,000 lines of a log are kept.',
  sizeLimit: 'Use `maxPayloadBytes` of BullModule.forRoot.',
  stackTraceLimit: "Leave it out, or use `errorDetail: 'message'` of BullModule.forRoot.",
  telemetry: 'Import the module of nestjs-gearmonkey/tracing.',
} as const;

/** Options of `queue.add`. */
export interface JobsOptions extends Refused<typeof JOB_REMEDIES> {
  /** How many attempts there are in all. @default 1 */
  attempts?: number;
  /** The wait before another attempt; a number is that of a fixed one, in milliseconds. @default none */
  backoff?: number | BackoffOptions;
  /** Milliseconds. */
  delay?: number;
  /** 1 to 2097152. Needs `priorities` of BullModule, since there are three of them here. */
  priority?: number;
  deduplication?: DeduplicationOptions;
  /** When the job was made, in milliseconds since 1970. It only travels with it. @default now */
  timestamp?: number;
  /** A rule of the queue here: see `defaultJobOptions` of BullModule. Of a single job it changes nothing. */
  removeOnComplete?: boolean | number | KeepJobs;
  /** As `removeOnComplete`. */
  removeOnFail?: boolean | number | KeepJobs;
}

/** Which of the three priorities a number of BullMQ is. */
export type PriorityRule = (priority: number) => Exclude<Priority, 'scheduled'>;

const KNOWN = optionNames<Omit<JobsOptions, keyof typeof JOB_REMEDIES>>({
  attempts: true,
  backoff: true,
  delay: true,
  priority: true,
  deduplication: true,
  timestamp: true,
  removeOnComplete: true,
  removeOnFail: true,
});

/** The name of a job, if it is not that of its queue. */
const NAME_HEADER = 'job-name';
/** Its options, for those who read it. */
export const OPTIONS_HEADER = 'bullmq-options';
const LEAST_MS = 1;
const LEAST_AGE_S = 60;
const MAX_AGE: KeepSpan = { age: MAX_SPAN_MS };

/** The name of a job: a processor tells its jobs apart by it, also those that were moved from BullMQ. */
export function nameOf(headers: JobHeaders, queue: string): string {
  return headers[NAME_HEADER] ?? headers[IMPORT_HEADERS.name] ?? queue;
}

/** The options of a job as it has them, with those of its queue. @throws ConfigurationError */
export function jobOptionsOf(
  user: string,
  defaults: JobsOptions | undefined,
  options: JobsOptions = {},
): JobsOptions {
  const checked = checkBullOptions(user, options, KNOWN, JOB_REMEDIES);
  return defined({ ...checkBullOptions(user, defaults ?? {}, KNOWN, JOB_REMEDIES), ...defined(checked) });
}

/** What the job is enqueued with. @throws ConfigurationError, InvalidOptionError */
export function runOptionsOf(
  queue: string,
  name: string,
  options: JobsOptions,
  priorities: PriorityRule | undefined,
): RunManyOptions {
  const { delay, priority, deduplication } = options;
  const unique = deduplication && uniqueOf(deduplication, delay);
  const later = laterOf(delay);
  // Of a single job they change nothing, but must be what they are elsewhere.
  keepOf(options);
  const chosen = priority === undefined ? undefined : priorityOf(priority, priorities);
  if (later !== undefined || unique?.debounce) refuseLaterPriority(priority, chosen, 'a delayed job');
  return defined({
    headers: headersOf(queue, name, options),
    retry: retryOf(options),
    unique,
    delay: unique?.debounce ? undefined : later,
    priority: later !== undefined || unique?.debounce || priority === 0 ? undefined : chosen,
  });
}

/** Undefined for a job that may run at once: as in BullMQ, also one with a delay below 0. @throws InvalidOptionError */
function laterOf(delay: number | undefined): number | undefined {
  if (Number.isNaN(delay)) throw new InvalidOptionError('delay', delay, 'a number of milliseconds');
  return delay !== undefined && delay > 0 ? delay : undefined;
}

/** A job that waits for its time has no other priority here. @throws ConfigurationError unless it is that one */
export function refuseLaterPriority(
  priority: number | undefined,
  chosen: Priority | undefined,
  whose: string,
): void {
  if (chosen === undefined || chosen === 'normal') return;
  throw unsupported(
    `priority of ${whose}, so \`priority: ${priority}\` would mean nothing`,
    "It is 'normal' once its time has come. Leave `priority` out, or let `priorities` of BullModule say 'normal' for this number.",
  );
}

const MAX_PRIORITY = 2 ** 21;

/** @throws InvalidOptionError · ConfigurationError without a rule */
export function priorityOf(priority: number, priorities: PriorityRule | undefined): Priority {
  checkWhole('priority', priority, 0, MAX_PRIORITY);
  if (priority === 0) return 'normal';
  if (priorities) return checkedPriority(priorities(priority), priority);
  throw new ConfigurationError(
    `There are three priorities here, so \`priority: ${priority}\` of BullMQ has to be one of them. ` +
      'Say which in BullModule.forRoot or registerQueue: ' +
      "`priorities: (priority) => (priority < 10 ? 'high' : 'low')`. A job without one has 'normal'.",
  );
}

/** A rule may return anything, such as what an object has for a number. @throws InvalidOptionError */
function checkedPriority(chosen: ReturnType<PriorityRule>, priority: number): Priority {
  if (chosen === 'high' || chosen === 'normal' || chosen === 'low') return chosen;
  throw new InvalidOptionError(`priorities(${priority})`, chosen, "'high', 'normal' or 'low'");
}

/** @throws InvalidOptionError */
export function retryOf({ attempts, backoff }: JobsOptions): JobRetryOptions | undefined {
  if (attempts === undefined || attempts === 0) return undefined;
  const given = typeof backoff === 'number' ? { type: 'fixed' as const, delay: backoff } : backoff;
  const { type = 'fixed', delay = 0, jitter = 0 } = given ?? {};
  const rules = { fixed: 'fixed', exponential: 'exponential' } as const;
  const rule = rules[type as keyof typeof rules] as (typeof rules)[keyof typeof rules] | undefined;
  if (rule === undefined)
    throw new InvalidOptionError(
      'backoff.type',
      type,
      "'fixed' or 'exponential': a function is the `retry.backoff` of @Worker",
    );
  const first = delay || LEAST_MS;
  return { attempts: Number(attempts), backoff: rule, delay: first, jitter, max: '24d' };
}

/** The options of a job that another program has enqueued, or a schedule. */
export function optionsFrom(headers: JobHeaders, retry: JobRetryOptions | undefined): JobsOptions {
  const imported = Number(headers[IMPORT_HEADERS.timestamp]);
  const own = {
    ...(Number.isSafeInteger(imported) && { timestamp: imported }),
    ...parsed(headers[OPTIONS_HEADER]),
  };
  if (retry === undefined) return own;
  const { attempts, backoff = 'exponential', delay = '1s' } = retry;
  const waits = typeof delay === 'number' ? { backoff: { type: backoff, delay } } : {};
  return defined({ attempts, ...waits, ...own });
}

/** @throws ConfigurationError, InvalidOptionError */
export function headersOf(queue: string, name: string, options: JobsOptions): JobHeaders {
  if (typeof name !== 'string' || name === '') throw new InvalidOptionError('name', name, 'text');
  return {
    ...(name === queue ? {} : { [NAME_HEADER]: name }),
    [OPTIONS_HEADER]: JSON.stringify(options),
  };
}

/** Which ended jobs of a queue are kept. @throws InvalidOptionError */
export function keepOf({
  removeOnComplete,
  removeOnFail,
}: Pick<JobsOptions, 'removeOnComplete' | 'removeOnFail'>): KeepOptions | undefined {
  if (removeOnComplete === undefined && removeOnFail === undefined) return undefined;
  return defined({
    success: spanOf('removeOnComplete', removeOnComplete),
    error: spanOf('removeOnFail', removeOnFail),
  });
}

/** The least that is kept here is a minute, or one job. */
function spanOf(name: string, given: JobsOptions['removeOnComplete']): KeepSpan | undefined {
  if (given === undefined) return undefined;
  if (given === false) return MAX_AGE;
  if (given === true || given === 0) return { age: LEAST_AGE_S * 1000 };
  if (typeof given === 'number') return given < 0 ? MAX_AGE : { ...MAX_AGE, count: given };
  const { age, count } = checkBullOptions(`\`${name}\``, given, KEEP, KEEP_REMEDIES);
  const kept = age === undefined ? MAX_AGE : { age: Math.max(LEAST_AGE_S, age) * 1000 };
  return count === undefined || count < 0 ? kept : { ...kept, count: Math.max(1, count) };
}

function uniqueOf(given: DeduplicationOptions, delay: number | undefined): UniqueOptions {
  const { id, ttl, extend = false, replace = false, ...others } = given;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw unsupported(
      `option \`deduplication.${other}\``,
      'Choose one of the `unique` jobs of GearMonkeyClient.',
    );
  // As in BullMQ, a `ttl` of 0 is none.
  if (!extend && !replace) return ttl ? { key: id, throttle: ttl } : { key: id };
  if (!extend || !replace || ttl === undefined)
    throw new ConfigurationError(
      '`extend` and `replace` of `deduplication` need each other and `ttl`: together they debounce. For others choose `unique` of GearMonkeyClient.run.',
    );
  if (delay !== undefined && delay !== ttl)
    throw new ConfigurationError(
      `A debounced job runs after its \`ttl\` of ${ttl} ms, so its \`delay\` can't be ${delay}. Make them the same.`,
    );
  return { key: id, debounce: ttl };
}

/** Another program may have written anything there. */
function parsed(text: string | undefined): JobsOptions {
  if (text === undefined) return {};
  try {
    const options: unknown = JSON.parse(text);
    return typeof options === 'object' && options !== null ? (options as JobsOptions) : {};
  } catch {
    return {};
  }
}
