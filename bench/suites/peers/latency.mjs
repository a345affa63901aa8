import { setTimeout as delay } from 'node:timers/promises';
import { RedisUsage } from '../../harness/redis-usage.mjs';
import { percentile } from '../../harness/statistics.mjs';
import { openQueue } from './contenders.mjs';
import { warmUpJobs } from './throughput.mjs';

/** Pause between two jobs, in which the worker becomes idle again. */
const IDLE_MS = 5;
/** Jobs of a plain client are found by periodic checks, so they come at random times between two checks. */
const PLAIN_IDLE_MS = { least: 20, most: 520 };
const WARM_UP_JOBS = 100;
/** Few, since each job may take a second. */
const PLAIN_MIN_JOBS = 3;

/** Measures one job at a time on an idle worker: milliseconds from enqueue to handler, and from call to result. */
export async function idleLatency({ contender, url, redisUrl, jobs, prefix, input, count }) {
  return withIdleWorker({ contender, url, redisUrl, results: true }, async ({ queue, handled }) => {
    const start = () => startMs(queue, input, handled);
    const call = () => elapsedMs(() => queue.call(input));
    await series(warmUpJobs(jobs, WARM_UP_JOBS), start, () => 0);
    await series(warmUpJobs(jobs, WARM_UP_JOBS), call, () => 0);
    const starts = await series(jobs(count), start, () => IDLE_MS);
    const calls = await series(jobs(count), call, () => IDLE_MS);
    return {
      [`${prefix}startP50`]: percentile(starts, 0.5),
      [`${prefix}startP99`]: percentile(starts, 0.99),
      [`${prefix}callP50`]: percentile(calls, 0.5),
      [`${prefix}callP99`]: percentile(calls, 0.99),
    };
  });
}

/** Measures from a plain client's first command to the handler, for contenders with a `plainClient`. */
export async function plainLatency({ contender, url, redisUrl, jobs, prefix, input, count }) {
  return withIdleWorker({ contender, url, redisUrl, results: false }, async ({ queue, handled }) => {
    const plain = queue.plainClient();
    try {
      const total = jobs(count, PLAIN_MIN_JOBS);
      const { least, most } = PLAIN_IDLE_MS;
      const pause = (index) => least + ((most - least) * index) / total;
      const starts = await series(total, () => startMs(plain, input, handled), pause);
      return { [`${prefix}P50`]: percentile(starts, 0.5), [`${prefix}P99`]: percentile(starts, 0.99) };
    } finally {
      plain.close();
    }
  });
}

async function withIdleWorker({ contender, url, redisUrl, results }, measure) {
  const usage = new RedisUsage(redisUrl);
  await usage.flush();
  usage.close();
  const queue = await openQueue({ key: contender, url, results });
  /** @type {(at: number) => void} */
  let onStart = () => undefined;
  const handled = () => new Promise((resolve) => (onStart = resolve));
  const stop = await queue.work(1, async () => {
    onStart(performance.now());
    return true;
  });
  try {
    return await measure({ queue, handled });
  } finally {
    await stop();
    await queue.close();
  }
}

async function series(count, measure, pauseMs) {
  const values = [];
  for (let i = 0; i < count; i++) {
    await delay(pauseMs(i));
    values.push(await measure());
  }
  return values;
}

async function startMs(client, input, handled) {
  const started = handled();
  const asked = performance.now();
  await client.enqueue(input);
  return (await started) - asked;
}

async function elapsedMs(action) {
  const started = performance.now();
  await action();
  return performance.now() - started;
}
