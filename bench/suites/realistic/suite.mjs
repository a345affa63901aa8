import { CONTENDERS } from '../peers/contenders.mjs';
import { payloadOf } from '../peers/payload.mjs';
import { idle } from './idle.mjs';
import { imports } from './import.mjs';
import { endedJobs, inContext, largeInputs, slowHandlers } from './load.mjs';

const SMALL = 20;
const KIB = 1024;

/** @returns {import('../../harness/suite.mjs').Row} */
const row = (key, title, unit, better = /** @type {'more' | 'less'} */ ('less')) => ({
  key,
  title,
  unit,
  better,
  targets: { bullmq: 1, 'bee-queue': 1 },
});

/** @returns {import('../../harness/suite.mjs').Measurement} */
const idleWith = (functions) => ({
  name: `idle-${functions}`,
  title: `a process with workers of ${functions} function(s) and nothing to do`,
  rows: [
    row(`import${functions}`, 'import', 'ms'),
    row(`ready${functions}`, 'from there until the workers are ready', 'ms'),
    row(`idleCpu${functions}`, 'Node CPU', 'ms/s'),
    row(`idleCommands${functions}`, 'commands, with those in scripts', '/s'),
    row(`rss${functions}`, 'memory of the process', 'MiB'),
  ],
  run: (round) => idle(round, functions),
});

/** What apps have, beside what one job costs when nothing else is there. @type {import('../../harness/suite.mjs').Suite} */
export default {
  title: 'nestjs-gearmonkey beside BullMQ and bee-queue, as apps have it',
  contenders: CONTENDERS,
  start: async () => {
    // Not for the processes that are measured, which have no loader for TypeScript.
    const { startRedis } = await import('../../harness/redis-stage.mjs');
    return startRedis();
  },
  measurements: [
    {
      name: 'slow-handlers',
      title: 'handlers that take 5 ms, at concurrency 50',
      rows: [
        row('slowRate', 'process', 'jobs/s', 'more'),
        row('slowNode', 'Node CPU, worker', 'us/job'),
        row('slowRedis', 'Redis CPU', 'us/job'),
      ],
      run: (round) => slowHandlers(round, payloadOf(SMALL), 20_000),
    },
    {
      name: 'context',
      title: 'an app with an AsyncLocalStorage',
      rows: [
        row('contextClient', 'Node CPU, client with 100 in flight', 'us/job'),
        row('contextWorker', 'Node CPU, worker at 100', 'us/job'),
      ],
      run: (round) => inContext(round, payloadOf(SMALL), 20_000),
    },
    {
      name: 'payload-1k',
      title: 'inputs of 1 KiB, concurrency 10',
      rows: [row('kilobyteWorker', 'Node CPU, worker', 'us/job')],
      run: (round) => largeInputs(round, payloadOf(KIB), 20_000, 'kilobyte'),
    },
    {
      name: 'payload-50k',
      title: 'inputs of 50 KiB, concurrency 10',
      rows: [row('fiftyWorker', 'Node CPU, worker', 'us/job')],
      run: (round) => largeInputs(round, payloadOf(50 * KIB), 3000, 'fifty'),
    },
    {
      name: 'ended',
      title: 'a job that has ended 12 s ago',
      rows: [row('endedBytes', 'Redis memory', 'bytes')],
      run: (round) => endedJobs(round, payloadOf(SMALL), 10_000),
    },
    {
      name: 'import',
      title: 'what a Nest app imports: @nestjs/core with nestjs-gearmonkey, @nestjs/bullmq or bee-queue',
      rows: [row('nestImport', 'import', 'ms')],
      run: (round) => imports(round),
    },
    idleWith(1),
    idleWith(100),
  ],
  panels: [],
};
