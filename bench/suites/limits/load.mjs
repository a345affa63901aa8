import { openOwnApp } from '../../harness/own-app.mjs';
import { RedisUsage } from '../../harness/redis-usage.mjs';
import { drain, warmUpJobs } from '../peers/throughput.mjs';
// Imported by path: bench/ is a separate package, where the name does not resolve.
import { defineJob } from '../../../dist/index.js';

export const CONCURRENCY = 100;
export const BULK = 1000;
const WARM_UP_JOBS = 2000;

/** How many jobs of a key run at once: so many that no key is full. What full keys cost is in test/scale/limit-cost.spec.ts. */
const ROOM = CONCURRENCY;

/** The numbers of keys that are compared; without keys the function has no limit. */
export const KEYS = { none: 0, one: 1, hundred: 100, many: 10_000 };

/**
 * A round: jobs enqueued and processed a second, and Redis' CPU time for both.
 *
 * @param {import('../../harness/suite.mjs').Round} round
 * @param {number} full how many jobs a whole round has
 */
export async function load({ contender, addresses: { redis: url }, jobs }, full) {
  const keys = KEYS[contender];
  const usage = new RedisUsage(url);
  await usage.flush();
  const queue = await open(url, keys);
  try {
    const warm = warmUpJobs(jobs, WARM_UP_JOBS);
    await fill(queue, warm, keys);
    await drain(queue, warm, CONCURRENCY);
    await usage.flush();
    return await measure(queue, usage, jobs(full), keys);
  } finally {
    await queue.close();
    usage.close();
  }
}

async function measure(queue, usage, count, keys) {
  const before = await usage.cpu();
  const started = performance.now();
  await fill(queue, count, keys);
  const filled = (performance.now() - started) / 1000;
  const { seconds } = await drain(queue, count, CONCURRENCY);
  const after = await usage.cpu();
  return {
    enqueue: count / filled,
    process: count / seconds,
    redisCpu: (after.all - before.all) / count,
  };
}

async function fill(queue, count, keys) {
  for (let from = 0; from < count; from += BULK) {
    const length = Math.min(BULK, count - from);
    await queue.enqueueBulk(
      Array.from({ length }, (_, i) => ({ tenant: `t${(from + i) % Math.max(1, keys)}` })),
    );
  }
}

function open(url, keys) {
  const limit = keys > 0 ? { limit: { key: ({ tenant }) => tenant, concurrency: ROOM } } : {};
  return openOwnApp(url, defineJob('bench', limit));
}
