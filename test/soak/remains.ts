import type { Redis } from 'ioredis';

/** What must not be left of a function when all jobs have ended and so many workers are there. */
export async function remains(redis: Redis, { workers = 0 } = {}): Promise<string[]> {
  const sizes = {
    'lease:soak': await redis.zcard('lease:soak'),
    'workers:soak': (await redis.zcard('workers:soak')) - workers,
    'count:soak': Number(await redis.get('count:soak')) - workers,
    'queue:soak:scheduled': await redis.zcard('queue:soak:scheduled'),
    'queue:soak:high': await redis.llen('queue:soak:high'),
    'queue:soak:normal': await redis.llen('queue:soak:normal'),
    'queue:soak:low': await redis.llen('queue:soak:low'),
  };
  return Object.entries(sizes)
    .filter(([, size]) => size !== 0)
    .map(([key, size]) => `${key} has ${size} too many`);
}
