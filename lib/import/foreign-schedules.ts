import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import {
  checkScheduleId,
  specOf,
  type ScheduleOptions,
} from '../gearmonkey/features/schedules/recur-options.js';
import { loadPatterns, nextSlot } from '../gearmonkey/features/schedules/timing.js';
import { defined } from '../job/defined.js';
import { dueOf } from './foreign-system.js';
import { backoffOf, headersOf, numberOf, objectOf, retryOf, timeOf, type LeftReason } from './found-job.js';

/** A schedule of another system, as it is stored. */
export interface StoredForeignSchedule {
  readonly key: string;
  /** The time of the next job, in ms since 1970, as it is stored. */
  readonly score: string;
  readonly hash: Readonly<Record<string, string>>;
  /** The next job, if it is there, and from when it may run if it is delayed. */
  readonly job?: {
    readonly id: string;
    readonly hash: Readonly<Record<string, string>>;
    readonly due?: number;
  };
}

/** Options of `recur`, with times in ms since 1970, and without the input. */
type PlannedTimes = Omit<ScheduleOptions, 'from' | 'until' | 'input'> & { from?: number; until?: number };

/** The schedule that takes its place. */
export interface PlannedSchedule {
  readonly fn: string;
  /** Absent if no more jobs follow. */
  readonly options?: PlannedTimes;
  /** JSON. */
  readonly data: string;
  /** The id of the delayed job that goes with it. */
  readonly job?: string;
}

/** Reads a page of schedules. */
export async function readSchedules(
  redis: Redis | Cluster,
  base: string,
  first: number,
  most: number,
): Promise<StoredForeignSchedule[]> {
  const last = String(first + most - 1);
  const entries = await redis.zrange(`${base}repeat`, String(first), last, 'WITHSCORES');
  const found = [];
  for (let i = 0; i + 1 < entries.length; i += 2)
    found.push(readSchedule(redis, base, entries[i] as string, entries[i + 1] as string));
  return Promise.all(found);
}

/** One that was read before, as it is now; undefined if it is gone. */
export async function readAgain(
  redis: Redis | Cluster,
  base: string,
  { key }: StoredForeignSchedule,
): Promise<StoredForeignSchedule | undefined> {
  const score = await redis.zscore(`${base}repeat`, key);
  return score === null ? undefined : readSchedule(redis, base, key, score);
}

/** In ms. Longer ago no worker has taken the due job: it waits behind others. */
const JUST_DUE_MS = 10_000;

/**
 * Whether a worker may be about to add the next job: in Bull and BullMQ 4 it does so some milliseconds after it has taken the due one.
 * A schedule that was moved in between would go on in both systems.
 *
 * @param now in ms since 1970, of the server; the clock of the worker may differ by some seconds
 */
export function isBetweenJobs({ score, job }: StoredForeignSchedule, now: number): boolean {
  return job?.due === undefined && Math.abs(now - Number(score)) < JUST_DUE_MS;
}

async function readSchedule(
  redis: Redis | Cluster,
  base: string,
  key: string,
  score: string,
): Promise<StoredForeignSchedule> {
  const hash = await hashOf(redis, `${base}repeat:${key}`);
  for (const id of idsOfNext(key, score)) {
    const [job, delayed] = await Promise.all([hashOf(redis, base + id), redis.zscore(`${base}delayed`, id)]);
    if (Object.keys(job).length > 0)
      return {
        key,
        score,
        hash,
        job: defined({ id, hash: job, due: delayed === null ? undefined : dueOf(delayed) }),
      };
  }
  return { key, score, hash };
}

/** Empty if there is none, or if the key has another type. */
async function hashOf(redis: Redis | Cluster, key: string): Promise<Record<string, string>> {
  return redis.hgetall(key).catch((error: unknown) => {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return {};
    throw error;
  });
}

/**
 * The ids that the next job may have: of schedulers, of repeatable jobs of BullMQ 4, and of Bull. Keys of these begin with the name
 * of the job and its id, and a name may have colons.
 */
function idsOfNext(key: string, score: string): string[] {
  const parts = key.split(':');
  const old = (name: string, jobId: string) => `repeat:${md5(name + jobId + md5(key))}:${score}`;
  const olds = parts.slice(1, MOST_PARTS).flatMap((id, index) => {
    const name = parts.slice(0, index + 1).join(':');
    return [old(name, id), old(name, id === '' ? ':' : `${id}:`)];
  });
  return [`repeat:${key}:${score}`, ...olds];
}

/** Of a key that are looked at for the name of its job. */
const MOST_PARTS = 10;

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

/**
 * The schedule that takes its place, or why it stays: `schedule` if none would have the same times.
 *
 * @param queue the queue that it is of
 * @param now in ms since 1970, of the queue's server
 */
export async function planSchedule(
  stored: StoredForeignSchedule,
  queue: string,
  functionOf: (name: string | undefined) => string | undefined,
  now: number,
): Promise<PlannedSchedule | LeftReason> {
  const { key, hash, job } = stored;
  const next = job?.due ?? Number(stored.score);
  const jobOptions = objectOf(job?.hash['opts'] ?? hash['opts'] ?? '{}');
  const data = job?.hash['data'] ?? hash['data'] ?? (hash['ic'] === undefined ? undefined : '{}');
  if (!jobOptions || data === undefined || !isJson(data)) return 'broken';
  const repeat = { ...(jobOptions['repeat'] as Record<string, unknown> | undefined), ...hash };
  const name = job?.hash['name'] ?? hash['name'];
  const fn = functionOf(name === '__default__' ? undefined : name);
  if (fn === undefined) return 'unmapped';

  // A next job that is due waits, or runs: it is carried over by itself, and the schedule goes on after it.
  const goes = job !== undefined && job.due !== undefined && next > now;
  const left = remaining(repeat, jobOptions, goes);
  if (left !== undefined && left <= 0) return { fn, data };
  const { attempts, backoff } = jobOptions;
  const headers = headersOf({ id: key, name });
  const retry = retryOf({ attempts: numberOf(attempts), made: 0, backoff: backoffOf(backoff) });
  const options = defined({
    id: idOf(queue, key, name ?? fn),
    limit: left,
    until: timeOf(repeat['endDate']),
    headers,
    retry,
  });
  const timing = await timingOf(repeat, next, now);
  if (!timing) return 'schedule';
  if (!goes && isOver(timing, options.until, now)) return { fn, data };
  const planned = { fn, data, options: { ...options, ...timing } };
  try {
    checkScheduleId(options.id);
    const { id: _, input: _input, ...checked } = recurOptions(planned) ?? options;
    specOf(checked);
  } catch {
    return 'schedule';
  }
  return defined({ ...planned, job: goes ? job.id : undefined });
}

/** What `recur` takes. */
export function recurOptions({
  options,
  data,
}: PlannedSchedule & { options: PlannedTimes }): ScheduleOptions {
  const { from, until, ...rest } = options;
  return {
    ...rest,
    input: JSON.parse(data) as unknown,
    ...(from !== undefined && { from: new Date(from) }),
    ...(until !== undefined && { until: new Date(until) }),
  };
}

/** How many jobs may follow; undefined for any number. The next one was counted when it was made. */
function remaining(
  repeat: Record<string, unknown>,
  options: Record<string, unknown>,
  goes: boolean,
): number | undefined {
  const limit = numberOf(repeat['limit']);
  if (limit === 0) return undefined;
  const { count = repeat['count'] } = (options['repeat'] ?? {}) as { count?: unknown };
  return limit - (Math.max(1, numberOf(count)) - (goes ? 1 : 0));
}

type Times = Pick<PlannedTimes, 'cron' | 'seconds' | 'timezone' | 'every' | 'from'>;

/** Its times from the next one on; undefined if a schedule here would have another next one. */
async function timingOf(
  repeat: Record<string, unknown>,
  next: number,
  now: number,
): Promise<Times | undefined> {
  const every = numberOf(repeat['every']);
  const passed = next > now ? 0 : Math.floor((now - next) / every) + 1;
  if (every > 0) return { every, from: next + every * passed };
  const cron = String(repeat['pattern'] ?? repeat['cron'] ?? '').trim();
  const seconds = !cron.startsWith('@') && cron.split(/\s+/).length === 6;
  const { tz } = repeat;
  // Without a zone it goes by the clock of the machine where it was added.
  const zones =
    typeof tz === 'string' && tz !== '' ? [tz] : ['UTC', Intl.DateTimeFormat().resolvedOptions().timeZone];
  await loadPatterns();
  for (const timezone of zones) {
    const timing = { cron, timezone, ...(seconds && { seconds }) };
    // A server whose clock is behind must not have the same time again.
    if (next <= now) return { ...timing, from: next + 1 };
    if (isNext(timing, next)) return { ...timing, from: next };
  }
  return undefined;
}

/** Whether no more jobs follow one that is due. */
function isOver({ from = 0, ...timing }: Times, until: number | undefined, now: number): boolean {
  if (until === undefined) return false;
  if (timing.every !== undefined) return from > until;
  try {
    return nextSlot({ ...(timing as { cron: string }), until }, Math.max(now, from - 1)) === undefined;
  } catch {
    return false;
  }
}

function isNext(timing: Times, next: number): boolean {
  try {
    return nextSlot(timing as { cron: string }, next - 1)?.time === next;
  } catch {
    return false;
  }
}

/**
 * Names of the app's own stay; hashes, and keys of several parts, get the job's name in front. Queues may use the same names, and
 * `upsertJobScheduler` of `nestjs-gearmonkey/bullmq` has to find the schedule: without the queue in front it would make a second one.
 */
function idOf(queue: string, key: string, name: string): string {
  const isOwn = !/[\s:]/.test(key) && !/^[0-9a-f]{32}$/.test(key);
  return `${queue}:${isOwn ? key : `${name.replaceAll(/\s+/g, '-')}-${md5(key).slice(0, 8)}`}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
