import { ownVersion } from '../../harness/packages.mjs';
import { BULK, CONCURRENCY, KEYS, load } from './load.mjs';

const TITLES = { none: 'no limit', one: '1 key', hundred: '100 keys', many: '10,000 keys' };

/** @type {import('../../harness/suite.mjs').Contender[]} */
const contenders = Object.keys(KEYS).map((key) => ({
  ...{ key, title: TITLES[key], version: ownVersion() },
  options: key === 'none' ? 'defaults' : `limit: { key, concurrency: ${CONCURRENCY} }, no key is full`,
}));

/** @type {import('../../harness/suite.mjs').Suite} */
export default {
  title: 'Limits by key, beside none',
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
        { key: 'enqueue', title: `enqueue, bulk by ${BULK}`, unit: 'jobs/s', better: 'more' },
        { key: 'process', title: `process, concurrency ${CONCURRENCY}`, unit: 'jobs/s', better: 'more' },
        { key: 'redisCpu', title: 'Redis CPU, both', unit: 'us/job', better: 'less' },
      ],
      run: (round) => load(round, 50_000),
    },
  ],
  panels: [
    {
      title: 'Jobs a second',
      rows: [
        ['enqueue', 'enqueue'],
        ['process', 'process'],
      ],
    },
    { title: 'Redis CPU of a job', rows: [['redisCpu', 'both']] },
  ],
};
