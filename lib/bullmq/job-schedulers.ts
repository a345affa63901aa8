import { defined } from '../job/defined.js';
import { InvalidOptionError } from '../job/errors.js';
import { optionNames } from '../job/known-options.js';
import type { Schedule } from '../gearmonkey/features/schedules/schedule.js';
import type { ScheduleOptions } from '../gearmonkey/features/schedules/recur-options.js';
import {
  headersOf,
  priorityOf,
  refuseLaterPriority,
  retryOf,
  type JobsOptions,
  type PriorityRule,
  type Untyped,
} from './job-options.js';
import { checkBullOptions, unsupported, type Refused } from './unsupported.js';

const REPEAT_REMEDIES = {
  immediately: 'Call queue.add beside it for a job at once.',
  offset: 'Use `startDate`, from which `every` counts.',
  key: 'The first argument of upsertJobScheduler names it.',
  jobId: 'The first argument of upsertJobScheduler names it.',
  count: 'Leave it out.',
  prevMillis: 'Leave it out.',
} as const;

/** When the jobs of a scheduler are. Either `pattern` or `every`. */
export interface RepeatOptions extends Refused<typeof REPEAT_REMEDIES> {
  /** A cron pattern of five fields, or of six with seconds. */
  pattern?: string;
  /** Milliseconds, at least 1000. They count from `startDate`, or from when the scheduler is made. */
  every?: number;
  /** The time zone of the pattern. @default that of this process */
  tz?: string;
  startDate?: Date | string | number;
  endDate?: Date | string | number;
  /** How many jobs there are in all. */
  limit?: number;
}

const TEMPLATE_REMEDIES = {
  delay: 'Use `jitter` of GearMonkeyClient.recur to spread jobs.',
  priority: 'Jobs of schedules have the priority `normal`.',
  deduplication: "Use `ifRunning: 'skip'` of GearMonkeyClient.recur.",
} as const;

/** What the jobs of a scheduler are. */
export interface JobSchedulerTemplate<Data = Untyped, Name extends string = string> {
  name?: Name;
  data?: Data;
  opts?: Omit<JobsOptions, keyof typeof TEMPLATE_REMEDIES> & Refused<typeof TEMPLATE_REMEDIES>;
}

/** A scheduler as the server has it. */
export interface JobSchedulerJson<Data = Untyped> {
  key: string;
  name: string;
  pattern?: string;
  every?: number;
  tz?: string;
  startDate?: number;
  endDate?: number;
  limit?: number;
  /** When the next job is, in milliseconds since 1970. */
  next?: number;
  iterationCount: number;
  template: { data: Data };
}

const REPEAT = optionNames<Omit<RepeatOptions, keyof typeof REPEAT_REMEDIES>>({
  pattern: true,
  every: true,
  tz: true,
  startDate: true,
  endDate: true,
  limit: true,
});
const TEMPLATE = optionNames<JobSchedulerTemplate>({ name: true, data: true, opts: true });
const SECONDS_FIELDS = 6;

/** Schedules have ids among all of a server, schedulers among those of their queue. */
export function scheduleId(queue: string, id: string): string {
  return `${queue}:${id}`;
}

/** What a queue does with the options of its jobs. */
interface SchedulerRules {
  readonly merge: (opts: JobsOptions) => JobsOptions;
  readonly priorities: PriorityRule | undefined;
}

/** @throws ConfigurationError, InvalidOptionError */
export function scheduleOf<Data>(
  queue: string,
  id: string,
  repeat: RepeatOptions,
  template: JobSchedulerTemplate<Data>,
  { merge, priorities }: SchedulerRules,
): ScheduleOptions {
  const user = `upsertJobScheduler("${id}")`;
  if (typeof id !== 'string' || id === '') throw new InvalidOptionError('jobSchedulerId', id, 'text');
  const { pattern, every, tz, startDate, endDate, limit } = checkBullOptions(
    user,
    repeat,
    REPEAT,
    REPEAT_REMEDIES,
  );
  const { name = id, data, opts = {} } = checkBullOptions(user, template, TEMPLATE, {});
  const own = checkBullOptions(user, opts, new Set(Object.keys(opts)), TEMPLATE_REMEDIES) as JobsOptions;
  const { delay, priority, deduplication, ...merged } = merge(own);
  // As in BullMQ, the next time is that of the pattern.
  void delay;
  if (priority !== undefined)
    refuseLaterPriority(priority, priorityOf(priority, priorities), 'jobs of schedulers');
  if (deduplication)
    throw unsupported(`option \`deduplication\` of ${user}`, TEMPLATE_REMEDIES.deduplication);
  const until = dateOf(endDate);
  if (until && until.getTime() <= Date.now())
    throw new InvalidOptionError('endDate', until.toISOString(), 'in the future');
  return defined({
    id: scheduleId(queue, id),
    cron: pattern,
    seconds: pattern?.trim().split(/\s+/).length === SECONDS_FIELDS || undefined,
    timezone: pattern === undefined ? undefined : (tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone),
    every,
    from: dateOf(startDate),
    until,
    limit,
    input: data === undefined ? {} : data,
    retry: retryOf(merged),
    headers: headersOf(queue, name, merged),
  });
}

/** Undefined for a schedule that is not a queue's. */
export function schedulerOf(queue: string, schedule: Schedule): JobSchedulerJson | undefined {
  const prefix = scheduleId(queue, '');
  if (!schedule.id.startsWith(prefix)) return undefined;
  const { cron, every, timezone, from, until, limit, next, created, input } = schedule;
  const key = schedule.id.slice(prefix.length);
  return defined({
    key,
    name: key,
    pattern: cron,
    every,
    tz: timezone,
    startDate: from?.getTime(),
    endDate: until?.getTime(),
    limit,
    next: next?.getTime(),
    iterationCount: created,
    template: { data: input },
  });
}

function dateOf(given: Date | string | number | undefined): Date | undefined {
  return given === undefined ? undefined : new Date(given);
}
