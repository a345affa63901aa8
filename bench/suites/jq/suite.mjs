import { ownVersion } from '../../harness/packages.mjs';
import { IN_FLIGHT } from './load.mjs';
import { constrained, enqueue, work } from './throughput.mjs';

const HALF = { nest: 0.5 };
/** @returns {import('../../harness/suite.mjs').Row} */
const rate = (key, title) => ({ key, title, unit: '1/s', better: 'more', targets: HALF });

/** @type {import('../../harness/suite.mjs').Suite} */
export default {
  title: 'JQ: the master beside the same Nest server answering an empty MessagePack POST',
  contenders: [
    {
      key: 'jq',
      title: 'jq-master',
      version: ownVersion(),
      options: 'at its defaults, in a process of its own; one Nest worker that listens',
    },
    {
      key: 'nest',
      title: 'empty Nest server',
      version: ownVersion(),
      options: "the master's adapter, Express' body parser, one route, no guard, no filter, no Redis",
    },
  ],
  start: async () => {
    const { startRedis } = await import('../../harness/redis-stage.mjs');
    return startRedis();
  },
  measurements: [
    {
      name: 'enqueue',
      title: `POST /job, ${IN_FLIGHT} in flight`,
      quick: true,
      rows: [rate('enqueue', 'jobs enqueued, or requests answered')],
      run: enqueue,
    },
    {
      name: 'jobs',
      title: `jobs through one HTTP worker of ${IN_FLIGHT} slots: push, handler, report`,
      quick: true,
      rows: [rate('jobs', 'jobs run, or requests answered')],
      run: work,
    },
    {
      name: 'constrained',
      title: 'POST /job with an argument of 4 MiB, one after the other: what 20 constraints on it add, p50',
      contenders: ['jq'],
      rows: [{ key: 'constrained', title: 'added', unit: 'ms', better: 'less', target: 100 }],
      run: constrained,
    },
  ],
  panels: [
    {
      title: 'jq-master beside an empty Nest server, a second',
      rows: [
        ['enqueue', 'enqueue'],
        ['jobs', 'run'],
      ],
    },
  ],
};
