import { openOwnApp } from '../../harness/own-app.mjs';
import { RedisUsage } from '../../harness/redis-usage.mjs';
import { enqueueAll, warmUpJobs } from '../peers/throughput.mjs';
// Imported by path: bench/ is a separate package, where the name does not resolve.
import { defineJob } from '../../../dist/index.js';

export const BULK = 1000;
const WARM_UP_JOBS = 2000;
const INPUT = { path: 'a.jpg' };

/** Whose jobs have which tags. One of its own: bulk calls have one each, as all jobs of a call have the same options. */
export const TAGS = {
  none: () => undefined,
  one: () => ['a'],
  five: () => ['a', 'b', 'c', 'd', 'e'],
  own: (n) => [`order:${n}`],
};

/**
 * A round: jobs enqueued a second, and Redis' CPU time and memory for them. None is run.
 *
 * @param {import('../../harness/suite.mjs').Round} round
 * @param {number} full how many jobs a whole round has, half of them in bulk
 */
export async function load({ contender, addresses, jobs }, full) {
  const url = addresses.redis ?? '';
  const usage = new RedisUsage(url);
  await usage.flush();
  const queue = await openTagged(url, TAGS[contender]);
  try {
    const warm = warmUpJobs(jobs, WARM_UP_JOBS);
    await fill(queue, warm);
    await enqueueAll(queue, INPUT, warm);
    await usage.flush();
    return await measure(queue, usage, jobs(full / 2));
  } finally {
    await queue.close();
    usage.close();
  }
}

async function measure(queue, usage, count) {
  const before = await usage.cpu();
  const bytes = await usage.keyBytes();
  const bulk = await timed(() => fill(queue, count));
  const single = await timed(() => enqueueAll(queue, INPUT, count));
  const after = await usage.cpu();
  return {
    bulk: count / bulk,
    single: count / single,
    redisCpu: (after.all - before.all) / (2 * count),
    memory: ((await usage.keyBytes()) - bytes) / (2 * count),
  };
}

async function timed(work) {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

async function fill(queue, count) {
  for (let left = count; left > 0; left -= BULK)
    await queue.enqueueBulk(Array.from({ length: Math.min(left, BULK) }, () => INPUT));
}

async function openTagged(url, tagsOf) {
  const queue = await openOwnApp(url, defineJob('bench'));
  let jobs = 0;
  const options = () => {
    const tags = tagsOf(++jobs);
    return tags ? { tags } : {};
  };
  return {
    enqueueBulk: (inputs) => queue.enqueueBulk(inputs, options()),
    enqueue: (input) => queue.enqueue(input, options()),
    close: () => queue.close(),
  };
}
