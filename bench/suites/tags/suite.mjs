import { ownVersion } from '../../harness/packages.mjs';
import { BULK, load, TAGS } from './load.mjs';

const TITLES = { none: 'no tags', one: '1 tag', five: '5 tags', own: '1 tag, of its own' };
const SAYS = { none: 'defaults', one: "tags: ['a']", five: "tags: ['a', … 'e']", own: "tags: ['order:N']" };

/** @type {import('../../harness/suite.mjs').Suite} */
export default {
  title: 'Jobs with tags, beside none',
  contenders: Object.keys(TAGS).map((key) => ({
    ...{ key, title: TITLES[key], version: ownVersion() },
    options: SAYS[key],
  })),
  start: async () => {
    // Not for the processes that are measured, which have no loader for TypeScript.
    const { startRedis } = await import('../../harness/redis-stage.mjs');
    return startRedis();
  },
  measurements: [
    {
      name: 'enqueue',
      title: 'enqueue',
      quick: true,
      rows: [
        { key: 'bulk', title: `bulk by ${BULK}`, unit: 'jobs/s', better: 'more' },
        { key: 'single', title: 'one by one, 100 in flight', unit: 'jobs/s', better: 'more' },
        { key: 'redisCpu', title: 'CPU of Redis, both', unit: 'us/job', better: 'less' },
        { key: 'memory', title: 'memory of Redis', unit: 'bytes/job', better: 'less' },
      ],
      run: (round) => load(round, 30_000),
    },
  ],
  panels: [
    {
      title: 'Jobs a second',
      rows: [
        ['bulk', 'bulk'],
        ['single', 'one by one'],
      ],
    },
    { title: 'CPU of a job', rows: [['redisCpu', 'Redis']] },
  ],
};
