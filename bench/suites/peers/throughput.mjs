import { RedisUsage } from '../../harness/redis-usage.mjs';
import { openQueue } from './contenders.mjs';
import { startHeld } from './held-worker.mjs';

export const IN_FLIGHT = 100;
export const BULK = 1000;
const WARM_UP_JOBS = 2000;
const WARM_UP_PART = 0.2;

/**
 * A round of throughput: jobs per second, by row keys made of `prefix` and the operation.
 *
 * @param counts how many jobs of each kind a full run has; kinds that are left out are not measured
 */
export async function throughput({ contender, url, redisUrl, jobs, prefix, input, counts, events = true }) {
  const usage = new RedisUsage(redisUrl);
  await usage.flush();
  const queue = await openQueue({ key: contender, url, events });
  /** @type {Record<string, number>} */
  const figures = {};
  try {
    // If few jobs are measured, as with large inputs, few are enough to warm up.
    const warm = Math.min(WARM_UP_JOBS, Math.min(...Object.values(counts)) * WARM_UP_PART);
    await warmUp(queue, input, warmUpJobs(jobs, warm));
    await usage.flush();
    for (const [what, full] of Object.entries(counts)) {
      figures[`${prefix}${what}`] = await MEASURES[what](queue, input, jobs(full));
      await usage.flush();
    }
  } finally {
    await queue.close();
    usage.close();
  }
  return figures;
}

const MEASURES = {
  enqueue: async (queue, input, count) => count / (await timed(() => enqueueAll(queue, input, count))),
  bulk: async (queue, input, count) => count / (await timed(() => fill(queue, input, count))),
  process1: drainer(1),
  process10: drainer(10),
  process100: drainer(100),
};

function drainer(concurrency) {
  return async (queue, input, count) => {
    await fill(queue, input, count);
    return count / (await drain(queue, count, concurrency)).seconds;
  };
}

/** Jobs to warm up the JIT compiler, also in a quick run; only a tiny run has fewer. */
export function warmUpJobs(jobs, full) {
  return Math.min(full, jobs(full * 10));
}

/** Runs jobs until the code is compiled. */
export async function warmUp(queue, input, count) {
  await fill(queue, input, count);
  await enqueueAll(queue, input, count);
  await drain(queue, 2 * count, IN_FLIGHT);
}

/** Enqueues jobs one by one, with a fixed number in flight. */
export async function enqueueAll(queue, input, count) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await queue.enqueue(input);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

export async function fill(queue, input, count) {
  for (let left = count; left > 0; left -= BULK) {
    await queue.enqueueBulk(Array.from({ length: Math.min(left, BULK) }, () => input));
  }
}

/** Runs `count` jobs on a started worker. Returns seconds until the last one has ended, and the CPU time of the process. */
export async function drain(queue, count, concurrency) {
  let left = count;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const worker = await startHeld(queue, concurrency, () => {
    left -= 1;
    if (left === 0) finish({ at: performance.now(), cpu: process.cpuUsage(cpuBefore) });
  });
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  worker.release();
  const { at, cpu } = await finished;
  await worker.stop();
  return { seconds: (at - started) / 1000, cpuMicroseconds: cpu.user + cpu.system };
}

async function timed(action) {
  const started = performance.now();
  await action();
  return (performance.now() - started) / 1000;
}
