import type { Cluster, Redis } from 'ioredis';

/** Keys that may stay: jobs for 25 hours, ids forever, unique keys until others are used, and keys that expire by themselves. */
const MAY_STAY = /^(uid|job|unique):/;
const EXPIRES = /^(sender|lock|plain):/;
/** What TTL answers of a key without an end; of one that has just expired it is another number. */
const NEVER = -1;
const PATTERN_COUNT = 1000;

/** Keys that should not be there once the last worker has stopped. */
export async function leftoverKeys(redis: Redis): Promise<string[]> {
  const left: string[] = [];
  for await (const keys of redis.scanStream({ count: PATTERN_COUNT }) as AsyncIterable<string[]>) {
    for (const key of keys) {
      if (MAY_STAY.test(key)) continue;
      if (EXPIRES.test(key) && (await redis.ttl(key)) !== NEVER) continue;
      if (key.startsWith('count:') && (await redis.get(key)) === '0') continue;
      left.push(key);
    }
  }
  return left;
}

/** Jobs that wait or run, by the keys that tell. */
export async function unfinished(redis: Redis | Cluster, functions: readonly string[]): Promise<number> {
  const counts = await Promise.all(
    functions.flatMap((fn) => [
      redis.zcard(`lease:${fn}`),
      redis.zcard(`queue:${fn}:scheduled`),
      ...['high', 'normal', 'low'].map((name) => redis.llen(`queue:${fn}:${name}`)),
    ]),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
