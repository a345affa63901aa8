import type { Redis } from 'ioredis';

/**
 * A millisecond of the server is some hundred commands of a script, so a call may make this many. What is left
 * over is done by later calls, and must come to the same in the end.
 */
export const MOST_COMMANDS = 6000;

/** How many commands the scripts of a call make. */
export async function commandsDuring(redis: Redis, call: () => Promise<unknown>): Promise<number> {
  await redis.config('RESETSTAT');
  await call();
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(/cmdstat_([a-z|]+):calls=(\d+)/g)]
    .filter(([, name]) => name !== 'evalsha' && !name?.startsWith('config'))
    .reduce((sum, [, , calls]) => sum + Number(calls), 0);
}
