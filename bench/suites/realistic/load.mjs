import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { RedisUsage } from '../../harness/redis-usage.mjs';
import { openQueue } from '../peers/contenders.mjs';
import { drain, enqueueAll, fill, IN_FLIGHT, warmUp, warmUpJobs } from '../peers/throughput.mjs';

const WARM_UP_JOBS = 5000;
const HANDLER_MS = 5;
const HANDLER_CONCURRENCY = 50;
/** Longer than the lists live on which the protocol has clients wait for a job. */
const ENDED_SECONDS = 12;

/**
 * Opens a contender's queue on an empty Redis, and closes it.
 *
 * @param {any} round
 */
async function withQueue({ contender, addresses: { redis: url } }, measure) {
  const usage = new RedisUsage(url);
  await usage.flush();
  const queue = await openQueue({ key: contender, url });
  try {
    return await measure(queue, usage);
  } finally {
    await queue.close();
    usage.close();
  }
}

/**
 * Handlers that wait for something else, as most do.
 *
 * @param {any} round
 */
export function slowHandlers(round, input, full) {
  return withQueue(round, async (queue, usage) => {
    await warmUp(queue, input, warmUpJobs(round.jobs, WARM_UP_JOBS));
    await usage.flush();
    const count = round.jobs(full);
    await fill(queue, input, count);
    const ended = withResolvers();
    let left = count;
    const redis = await usage.cpu();
    const [cpu, since] = [process.cpuUsage(), performance.now()];
    const stop = await queue.work(HANDLER_CONCURRENCY, async () => {
      await delay(HANDLER_MS);
      left -= 1;
      if (left === 0) ended.resolve();
      return true;
    });
    await ended.promise;
    const seconds = (performance.now() - since) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const redisCpu = ((await usage.cpu()).all - redis.all) / count;
    await stop();
    return { slowRate: count / seconds, slowNode: (user + system) / count, slowRedis: redisCpu };
  });
}

/** @returns {{ promise: Promise<void>, resolve: () => void }} */
function withResolvers() {
  let resolve = () => {};
  const promise = /** @type {Promise<void>} */ (new Promise((settle) => (resolve = () => settle())));
  return { promise, resolve };
}

/**
 * CPU of a job in an app that has an AsyncLocalStorage, as with OpenTelemetry or a logger with fields of the request.
 *
 * @param {any} round
 */
export function inContext(round, input, full) {
  return new AsyncLocalStorage().run({ request: 1 }, () =>
    withQueue(round, async (queue, usage) => {
      await warmUp(queue, input, warmUpJobs(round.jobs, WARM_UP_JOBS));
      await usage.flush();
      const count = round.jobs(full);
      const before = process.cpuUsage();
      await enqueueAll(queue, input, count);
      const { user, system } = process.cpuUsage(before);
      const { cpuMicroseconds } = await drain(queue, count, IN_FLIGHT);
      return { contextClient: (user + system) / count, contextWorker: cpuMicroseconds / count };
    }),
  );
}

/**
 * Node's CPU of a larger job.
 *
 * @param {any} round
 */
export function largeInputs(round, input, full, prefix) {
  return withQueue(round, async (queue, usage) => {
    await warmUp(queue, input, warmUpJobs(round.jobs, full / 5));
    await usage.flush();
    const count = round.jobs(full);
    await fill(queue, input, count);
    const { cpuMicroseconds } = await drain(queue, count, 10);
    return { [`${prefix}Worker`]: cpuMicroseconds / count };
  });
}

/**
 * Bytes of Redis for a job that has ended.
 *
 * @param {any} round
 */
export function endedJobs(round, input, full) {
  return withQueue(round, async (queue, usage) => {
    await warmUp(queue, input, round.jobs(100));
    await usage.flush();
    const before = await usage.memoryBytes();
    const count = round.jobs(full);
    await fill(queue, input, count);
    await drain(queue, count, IN_FLIGHT);
    await delay(round.jobs(ENDED_SECONDS, 1) * 1000);
    return { endedBytes: ((await usage.memoryBytes()) - before) / count };
  });
}
