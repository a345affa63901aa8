import type { Cluster, Redis } from 'ioredis';
import { LIMITS, TENANTS } from './jobs.mjs';

/** Keys that may stay: jobs for 25 hours, ids, rules of limits and functions forever, unique keys and lists of jobs until others are used, and keys that expire by themselves. */
const MAY_STAY = /^(uid|job|control|unique|ended|retrying):|^functions$/;
const EXPIRES = /^((sender|lock|plain|recovery|statistics|tags):|limit:.*:starts:)/;
/** Of jobs and flows that have ended these expire, of any client. */
const EXPIRES_OF_JOBS = /^job:.*:(children|parents|output|log|flow:.*)$/;
/** What TTL answers of a key without an end; of one that has just expired it is another number. */
const NEVER = -1;
const PATTERN_COUNT = 1000;

/** Keys that should not be there once the last worker has stopped. */
export async function leftoverKeys(redis: Redis): Promise<string[]> {
  const left: string[] = [];
  for await (const keys of redis.scanStream({ count: PATTERN_COUNT }) as AsyncIterable<string[]>) {
    for (const key of keys) {
      const mustExpire = EXPIRES_OF_JOBS.test(key);
      if (MAY_STAY.test(key) && !mustExpire) continue;
      if ((mustExpire || EXPIRES.test(key)) && (await redis.ttl(key)) !== NEVER) continue;
      if (key.startsWith('count:') && (await redis.get(key)) === '0') continue;
      left.push(key);
    }
  }
  return left;
}

const PRIORITIES = ['high', 'normal', 'low'];

/** Also by the name that a function has in keys, with a hash tag. */
const hasLimit = (fn: string) => LIMITS[fn.replace(/[{}]/g, '')] !== undefined;

type Count = ['zcard' | 'llen', string];

/** The keys of waiting and running jobs, each with the command that counts them. */
function countsOf(fn: string): Count[] {
  const list = (key: string): Count => ['llen', key];
  const limited = TENANTS.flatMap((key) => PRIORITIES.map((name) => list(`limit:${fn}:wait:${name}:${key}`)));
  return [
    ['zcard', `lease:${fn}`],
    ['zcard', `queue:${fn}:scheduled`],
    ...PRIORITIES.map((name) => list(`queue:${fn}:${name}`)),
    ...(hasLimit(fn) ? [['zcard', `limit:${fn}:due`] satisfies Count, ...limited] : []),
  ];
}

/** In one transaction: a job that moves from one of the keys to another between two counts would be in neither. */
async function unfinishedOf(redis: Redis | Cluster, fn: string): Promise<number> {
  const counts = (await redis.multi(countsOf(fn)).exec()) ?? [];
  return counts.reduce((sum, [error, count]) => {
    if (error) throw error;
    return sum + Number(count);
  }, 0);
}

/** Jobs that wait or run, by the keys that tell. */
export async function unfinished(redis: Redis | Cluster, functions: readonly string[]): Promise<number> {
  const counts = await Promise.all(functions.map((fn) => unfinishedOf(redis, fn)));
  return counts.reduce((sum, count) => sum + count, 0);
}
