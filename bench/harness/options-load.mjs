import { openOwnApp } from './own-app.mjs';
import { RedisUsage } from './redis-usage.mjs';
import { drain, fill, warmUpJobs } from '../suites/peers/throughput.mjs';
// Imported by path: bench/ is a separate package, where the name does not resolve.
import { defineJob } from '../../dist/index.js';

export const CONCURRENCY = 100;
const WARM_UP_JOBS = 2000;
const INPUT = { path: 'a.jpg' };

/**
 * A round: jobs processed a second, and what a job costs the worker and Redis. What the worker writes as it closes is
 * counted too.
 *
 * @param {import('./suite.mjs').Round} round
 * @param {number} full how many jobs a whole round has
 * @param {object} options of `forRoot`, beside the connection
 */
export async function load({ addresses: { redis: url }, jobs }, full, options) {
  const usage = new RedisUsage(url);
  await usage.flush();
  const queue = await openOwnApp(url, defineJob('bench'), options);
  try {
    const warm = warmUpJobs(jobs, WARM_UP_JOBS);
    await fill(queue, INPUT, warm);
    await drain(queue, warm, CONCURRENCY);
    await usage.flush();
    return await measure(queue, usage, jobs(full));
  } finally {
    await queue.close();
    usage.close();
  }
}

async function measure(queue, usage, count) {
  await fill(queue, INPUT, count);
  const before = { cpu: await usage.cpu(), calls: sum(await usage.calls()) };
  const { seconds, cpuMicroseconds } = await drain(queue, count, CONCURRENCY);
  const after = { cpu: await usage.cpu(), calls: sum(await usage.calls()) };
  return {
    process: count / seconds,
    workerCpu: cpuMicroseconds / count,
    redisCpu: (after.cpu.all - before.cpu.all) / count,
    commands: (after.calls - before.calls) / count,
  };
}

function sum(calls) {
  return [...calls.values()].reduce((all, count) => all + count, 0);
}
