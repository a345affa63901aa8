import { ownVersion } from '../../harness/packages.mjs';
import { CONCURRENCY, load } from './load.mjs';

/** @type {import('../../harness/suite.mjs').Contender[]} */
const contenders = ['on', 'off'].map((key) => ({
  ...{ key, title: `statistics ${key}`, version: ownVersion() },
  options: `statistics: ${key === 'on'}`,
}));

/** @type {import('../../harness/suite.mjs').Suite} */
export default {
  title: 'Statistics, beside none',
  contenders,
  start: async () => {
    // Not for the processes that are measured, which have no loader for TypeScript.
    const { startRedis } = await import('../../harness/redis-stage.mjs');
    return startRedis();
  },
  measurements: [
    {
      name: 'throughput',
      title: 'throughput',
      quick: true,
      rows: [
        { key: 'process', title: `process, concurrency ${CONCURRENCY}`, unit: 'jobs/s', better: 'more' },
        { key: 'workerCpu', title: 'CPU of the worker', unit: 'us/job', better: 'less' },
        { key: 'redisCpu', title: 'CPU of Redis', unit: 'us/job', better: 'less' },
        { key: 'commands', title: 'commands, by clients and scripts', unit: '/job', better: 'less' },
      ],
      run: (round) => load(round, 50_000),
    },
  ],
  panels: [
    { title: 'Jobs a second', rows: [['process', 'process']] },
    {
      title: 'CPU of a job',
      rows: [
        ['workerCpu', 'worker'],
        ['redisCpu', 'Redis'],
      ],
    },
  ],
};
