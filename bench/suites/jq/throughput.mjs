import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { encode } from '@msgpack/msgpack';
import { Redis } from 'ioredis';
import { FROM_SOURCES } from '../../harness/suite.mjs';
import { jobBody, largeJobBody, post, postMany } from './load.mjs';

const SERVER = fileURLToPath(new URL('./server.mjs', import.meta.url));
const REQUESTS = 20_000;
const WARM_UP = 4000;
const CONSTRAINTS = 20;
const CONSTRAINT = Buffer.from(
  encode({ match: [{ field: 'argument.tenant', exists: true }], per: 'argument.tenant', concurrency: 1 }),
);

/**
 * Measures jobs enqueued per second, or requests answered per second by the empty server.
 *
 * @param {import('../../harness/suite.mjs').Round} round
 */
export async function enqueue({ contender, addresses: { redis }, jobs }) {
  return withServer(contender, redis, async (url) => {
    await postMany(url, jobBody('warm'), jobs(WARM_UP));
    const count = jobs(REQUESTS);
    return { enqueue: count / (await postMany(url, jobBody('mail'), count)) };
  });
}

/**
 * Measures jobs run per second by one worker that gets pushes, or requests answered per second by the empty server.
 *
 * @param {import('../../harness/suite.mjs').Round} round
 */
export async function work({ contender, addresses: { redis }, jobs }) {
  return withServer(contender, redis, async (url) => {
    const count = jobs(REQUESTS);
    if (contender === 'nest') {
      await postMany(url, jobBody('warm'), jobs(WARM_UP));
      return { jobs: count / (await postMany(url, jobBody('mail'), count)) };
    }
    await drain(url, 'warm', jobs(WARM_UP));
    return { jobs: count / (await drain(url, 'mail', count)) };
  });
}

/**
 * Measures the milliseconds that twenty constraints on the argument add to the `POST /job` of a large job, p50.
 *
 * @param {import('../../harness/suite.mjs').Round} round
 */
export async function constrained({ contender, addresses: { redis }, jobs }) {
  return withServer(contender, redis, async (url) => {
    const body = largeJobBody();
    const count = jobs(20, 5);
    const free = await p50(url, body, count);
    for (let i = 0; i < CONSTRAINTS; i++) await post(url, '/constraints', CONSTRAINT);
    return { constrained: (await p50(url, body, count)) - free };
  });
}

/** The first request after a change of constraints is not counted. */
async function p50(url, body, count) {
  const times = [];
  await post(url, '/job', body);
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await post(url, '/job', body);
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[Math.floor(count / 2)] ?? NaN;
}

/** Enqueues all jobs, then starts the worker and the clock. @returns seconds */
async function drain(url, name, count) {
  const { startWorker } = await import('./worker.mjs');
  await postMany(url, jobBody(name), count);
  const worker = await startWorker(url, name, count);
  const seconds = await worker.done;
  await worker.stop();
  return seconds;
}

async function withServer(contender, url, measure) {
  const redis = new Redis(url);
  await redis.flushall();
  const child = fork(SERVER, [JSON.stringify({ contender, redis: url })], { execArgv: FROM_SOURCES });
  try {
    const [{ url: master }] = await once(child, 'message');
    return await measure(master);
  } finally {
    child.kill('SIGKILL');
    redis.disconnect();
  }
}
