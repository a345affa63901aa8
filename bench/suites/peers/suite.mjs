import { CONTENDERS } from './contenders.mjs';
import { cost } from './cost.mjs';
import { idleLatency, plainLatency } from './latency.mjs';
import { payloadOf } from './payload.mjs';
import { processes } from './processes.mjs';
import { BULK, IN_FLIGHT, throughput } from './throughput.mjs';

const DELAY_MS = 1;
const SMALL = 20;
const KIB = 1024;

/**
 * @typedef {import('../../harness/suite.mjs').Row} Row
 * @typedef {import('../../harness/suite.mjs').Measurement} Measurement
 */

/** @returns {Row} */
const rate = (key, title, targets) => ({ key, title, unit: 'jobs/s', better: 'more', targets });
const less =
  (unit) =>
  /** @returns {Row} */
  (key, title, targets) => ({ key, title, unit, better: 'less', targets });
const ms = less('ms');
const microseconds = less('us/job');
const calls = less('calls/job');

const enqueue = (prefix, targets) => rate(`${prefix}enqueue`, `enqueue, ${IN_FLIGHT} in flight`, targets);
const bulk = (prefix, targets) => rate(`${prefix}bulk`, `enqueue, bulk by ${BULK}`, targets);
const processing = (prefix, concurrency, targets) =>
  rate(`${prefix}process${concurrency}`, `process, concurrency ${concurrency}`, targets);

/** Ahead of both. */
const AHEAD = { bullmq: 1, 'bee-queue': 1 };

/** The same jobs with larger inputs. @returns {Measurement} */
function withPayload(name, bytes, targets, counts) {
  const prefix = `${name}-`;
  return {
    name,
    title: `payloads of ${bytes} bytes`,
    rows: [enqueue(prefix, targets), bulk(prefix, targets), processing(prefix, 100, targets)],
    run: ({ contender, addresses: { redis }, jobs }) =>
      throughput({ contender, url: redis, redisUrl: redis, jobs, prefix, input: payloadOf(bytes), counts }),
  };
}

/** @type {Measurement[]} */
const measurements = [
  {
    name: 'throughput',
    title: `throughput, payloads of ${SMALL} bytes`,
    quick: true,
    rows: [
      enqueue('', { bullmq: 3.5, 'bee-queue': 1.7 }),
      bulk('', { bullmq: 8, 'bee-queue': 2.2 }),
      processing('', 1, { bullmq: 7, 'bee-queue': 8 }),
      processing('', 10, { bullmq: 2, 'bee-queue': 2 }),
      processing('', 100, { bullmq: 2, 'bee-queue': 1.8 }),
    ],
    run: ({ contender, addresses: { redis }, jobs }) =>
      throughput({
        ...{ contender, url: redis, redisUrl: redis, jobs, prefix: '', input: payloadOf(SMALL) },
        counts: { enqueue: 60_000, bulk: 100_000, process1: 30_000, process10: 40_000, process100: 60_000 },
      }),
  },
  {
    name: 'latency',
    title: 'latency of an idle worker, in one process with the client',
    quick: true,
    rows: [
      ms('startP50', 'enqueue to handler, p50', { bullmq: 0.85 }),
      ms('startP99', 'enqueue to handler, p99'),
      ms('callP50', 'call to result, p50', { bullmq: 0.65 }),
      ms('callP99', 'call to result, p99'),
    ],
    run: ({ contender, addresses: { redis }, jobs }) =>
      idleLatency({
        ...{ contender, url: redis, redisUrl: redis, jobs, prefix: '', input: payloadOf(SMALL) },
        count: 400,
      }),
  },
  {
    name: 'plain',
    title: "latency of a plain client's job (INCR, HSET, PUBLISH, LPUSH) on an idle worker",
    quick: true,
    contenders: ['gearmonkey'],
    rows: [
      { ...ms('plainP50', 'first command to handler, p50'), target: 50 },
      ms('plainP99', 'first command to handler, p99'),
    ],
    run: ({ contender, addresses: { redis }, jobs }) =>
      plainLatency({
        ...{ contender, url: redis, redisUrl: redis, jobs, prefix: 'plain', input: payloadOf(SMALL) },
        count: 40,
      }),
  },
  {
    name: 'cost',
    title: `cost of a job, enqueue and process with ${IN_FLIGHT} in flight`,
    quick: true,
    rows: [
      microseconds('redisCpu', 'Redis CPU'),
      microseconds('redisEnqueue', 'Redis CPU, enqueue', { bullmq: 0.25, 'bee-queue': 0.65 }),
      microseconds('redisRun', 'Redis CPU, process', { bullmq: 0.45, 'bee-queue': 0.6 }),
      microseconds('redisMainCpu', 'Redis CPU, main thread'),
      calls('commands', 'commands of clients'),
      calls('scripted', 'commands inside scripts'),
      microseconds('clientCpu', 'Node CPU, client', { bullmq: 0.22, 'bee-queue': 0.45 }),
      microseconds('workerCpu', 'Node CPU, worker', { bullmq: 0.3, 'bee-queue': 0.31 }),
      microseconds('workerCpu1', 'Node CPU, worker, concurrency 1', { bullmq: 0.16, 'bee-queue': 0.13 }),
      less('bytes')('memory', 'Redis memory of a waiting job'),
    ],
    run: (round) => cost({ ...round, input: payloadOf(SMALL), count: 20_000 }),
  },
  {
    name: 'no-events',
    title: "throughput with bee-queue's events off, where results are lost",
    contenders: ['gearmonkey', 'bee-queue'],
    rows: [1, 10, 100].map((concurrency) => processing('no-events-', concurrency)),
    run: ({ contender, addresses: { redis }, jobs }) =>
      throughput({
        ...{ contender, url: redis, redisUrl: redis, jobs, prefix: 'no-events-', input: payloadOf(SMALL) },
        counts: { process1: 30_000, process10: 40_000, process100: 60_000 },
        events: false,
      }),
  },
  withPayload('payload-1k', KIB, AHEAD, { enqueue: 30_000, bulk: 50_000, process100: 30_000 }),
  // Of bee-queue's lead with large inputs, docs/understand/performance.md says the reason.
  withPayload('payload-50k', 50 * KIB, { bullmq: 1 }, { enqueue: 3000, bulk: 4000, process100: 3000 }),
  {
    name: 'delay',
    title: `${DELAY_MS} ms of network delay, payloads of ${SMALL} bytes`,
    rows: [
      enqueue('delay-', AHEAD),
      bulk('delay-', AHEAD),
      ...[1, 10, 100].map((concurrency) => processing('delay-', concurrency, AHEAD)),
      ms('delay-startP50', 'idle, enqueue to handler, p50', { bullmq: 0.7, 'bee-queue': 1 }),
      ms('delay-startP99', 'idle, enqueue to handler, p99'),
      ms('delay-callP50', 'idle, call to result, p50', { bullmq: 0.75, 'bee-queue': 1 }),
      ms('delay-callP99', 'idle, call to result, p99'),
    ],
    run: async ({ contender, addresses: { redis, delayedRedis }, jobs }) => {
      const common = { contender, url: delayedRedis, redisUrl: redis, jobs, prefix: 'delay-' };
      const input = payloadOf(SMALL);
      const counts = { enqueue: 20_000, bulk: 50_000, process1: 1500, process10: 8000, process100: 20_000 };
      const rates = await throughput({ ...common, input, counts });
      return { ...rates, ...(await idleLatency({ ...common, input, count: 100 })) };
    },
  },
  {
    name: 'processes',
    title: 'several processes, 100 jobs at a time each',
    rows: [
      rate('flow', '2 producers and 2 workers at once', AHEAD),
      rate('drain4', '4 workers, a queue filled before', AHEAD),
    ],
    run: (round) => processes({ ...round, bytes: SMALL, counts: { flow: 60_000, drain4: 80_000 } }),
  },
];

/** @type {import('../../harness/suite.mjs').Suite} */
export default {
  title: 'nestjs-gearmonkey beside BullMQ and bee-queue',
  contenders: CONTENDERS,
  start: async () => {
    // Not for the processes that are measured, which have no loader for TypeScript.
    const { startRedis } = await import('../../harness/redis-stage.mjs');
    const stage = await startRedis({ delayMs: DELAY_MS });
    const sizes = `inputs of ${SMALL} bytes of JSON, ${KIB} and ${50 * KIB} where it says so; outputs of 4 bytes`;
    return { ...stage, facts: [...stage.facts, ['payload', sizes]] };
  },
  measurements,
  panels: [
    {
      title: 'Enqueue',
      rows: [
        ['enqueue', '100 in flight'],
        ['bulk', 'bulk by 1000'],
      ],
    },
    {
      title: 'Process',
      rows: [
        ['process1', 'concurrency 1'],
        ['process10', '10'],
        ['process100', '100'],
      ],
    },
    {
      title: 'Idle worker, p50',
      rows: [
        ['startP50', 'enqueue to handler'],
        ['callP50', 'call to result'],
      ],
    },
    {
      title: 'Cost of a job',
      rows: [
        ['redisCpu', 'Redis'],
        ['clientCpu', 'Node, client'],
        ['workerCpu', 'Node, worker'],
      ],
    },
  ],
};
