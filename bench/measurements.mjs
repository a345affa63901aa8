import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** Every job's input; its handler returns it. */
export const PAYLOAD = { to: 'ada@example.com', subject: 'x'.repeat(60), retries: 3, tags: ['a', 'b'] };

const IN_FLIGHT = 100;
const BULK = 1000;
/** Between two jobs of an idle worker: long enough for it to be waiting again. */
const IDLE_MS = 5;

/** What is measured, in the order it is printed. `higher` tells which way is better. */
export const MEASURES = [
  { key: 'enqueue', title: `enqueue, ${IN_FLIGHT} in flight`, unit: 'jobs/s', higher: true },
  { key: 'bulk', title: `enqueue, bulk by ${BULK}`, unit: 'jobs/s', higher: true },
  { key: 'process1', title: 'process, concurrency 1', unit: 'jobs/s', higher: true },
  { key: 'process10', title: 'process, concurrency 10', unit: 'jobs/s', higher: true },
  { key: 'process100', title: 'process, concurrency 100', unit: 'jobs/s', higher: true },
  { key: 'startP50', title: 'idle, enqueue to handler, p50', unit: 'ms', higher: false },
  { key: 'startP99', title: 'idle, enqueue to handler, p99', unit: 'ms', higher: false },
  { key: 'callP50', title: 'idle, call to result, p50', unit: 'ms', higher: false },
  { key: 'callP99', title: 'idle, call to result, p99', unit: 'ms', higher: false },
  { key: 'redisCpu', title: 'Redis CPU, enqueue + process', unit: 'us/job', higher: false },
];

/** Numbers of jobs: enough for a steady state, few enough to wait for. */
export const SIZES = {
  quick: { enqueue: 3000, bulk: 10_000, process1: 1000, process10: 3000, process100: 5000, idle: 100 },
  full: { enqueue: 10_000, bulk: 50_000, process1: 5000, process10: 15_000, process100: 20_000, idle: 400 },
};

/** One round of one contender, whose queue is empty between measurements. */
export async function measure(open, redis, size) {
  const queue = await open(redis.url);
  try {
    await drain(queue, 200, 10);
    const { enqueue, redisCpu } = await throughAndThrough(queue, redis, size.enqueue);
    return {
      enqueue,
      redisCpu,
      bulk: await bulk(queue, redis, size.bulk),
      process1: await drain(queue, size.process1, 1),
      process10: await drain(queue, size.process10, 10),
      process100: await drain(queue, size.process100, 100),
      ...(await idle(queue, size.idle)),
    };
  } finally {
    await queue.close();
  }
}

/** Enqueues one by one, then runs them all: jobs a second of the first half, Redis CPU of both. */
async function throughAndThrough(queue, redis, count) {
  const before = await redis.cpuMicroseconds();
  const seconds = await timed(() => enqueueAll(queue, count));
  await work(queue, count, 100);
  return { enqueue: count / seconds, redisCpu: ((await redis.cpuMicroseconds()) - before) / count };
}

async function enqueueAll(queue, count) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await queue.enqueue(PAYLOAD);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function bulk(queue, redis, count) {
  const inputs = Array.from({ length: BULK }, () => PAYLOAD);
  const seconds = await timed(async () => {
    for (let done = 0; done < count; done += BULK) await queue.enqueueBulk(inputs);
  });
  // Nobody runs them.
  await redis.flush();
  return count / seconds;
}

/** Jobs a second, of a queue that was filled before. */
async function drain(queue, count, concurrency) {
  for (let left = count; left > 0; left -= BULK) {
    await queue.enqueueBulk(Array.from({ length: Math.min(left, BULK) }, () => PAYLOAD));
  }
  return count / (await work(queue, count, concurrency));
}

/** Seconds from the first handler's start to the last one's end. */
async function work(queue, count, concurrency) {
  let first;
  let left = count;
  let finish;
  const finished = new Promise((resolve) => (finish = resolve));
  const stop = await queue.work(concurrency, async (input) => {
    first ??= performance.now();
    left -= 1;
    if (left === 0) finish(performance.now());
    return input;
  });
  const seconds = ((await finished) - first) / 1000;
  await stop();
  return seconds;
}

/** One job at a time, while the worker waits for it. */
async function idle(queue, count) {
  let onStart = () => undefined;
  const stop = await queue.work(1, async (input) => {
    onStart(performance.now());
    return input;
  });
  const start = [];
  const call = [];
  for (let i = 0; i < count; i++) {
    await delay(IDLE_MS);
    const handled = new Promise((resolve) => (onStart = resolve));
    const enqueued = performance.now();
    await queue.enqueue(PAYLOAD);
    start.push((await handled) - enqueued);

    await delay(IDLE_MS);
    onStart = () => undefined;
    call.push((await timed(() => queue.call(PAYLOAD))) * 1000);
  }
  await stop();
  return {
    startP50: percentile(start, 0.5),
    startP99: percentile(start, 0.99),
    callP50: percentile(call, 0.5),
    callP99: percentile(call, 0.99),
  };
}

async function timed(action) {
  const started = performance.now();
  await action();
  return (performance.now() - started) / 1000;
}

function percentile(values, share) {
  return values.toSorted((one, other) => one - other)[Math.ceil(values.length * share) - 1];
}
