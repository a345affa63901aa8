import { FORMS } from './forms.mjs';
import { loops } from './loops.mjs';

/** @returns {import('../../harness/suite.mjs').Row} */
const rate = (key, title) => ({ key, title, unit: 'jobs/s', better: 'more' });
/** @returns {import('../../harness/suite.mjs').Row} */
const pings = (key) => ({ key: `${key}Ping`, title: 'PINGs meanwhile', unit: 'calls/s', better: 'more' });
/** @returns {import('../../harness/suite.mjs').Row} */
const server = (key, title, target) => ({
  ...{ key: `${key}Server`, title: `${title}, server time`, unit: 'us/job', better: 'less', target },
});
/** @returns {import('../../harness/suite.mjs').Row} */
const ofOriginal = (key, title, target) => ({
  ...{ key: `${key}OfOriginal`, title: `${title}, beside the original`, unit: 'x', better: 'more', target },
});

const BY_100 = 'put, pipelined by 100';
const POP_50 = 'pop 50, 50 completes in a pipeline';
const POP_MANY = 'pop 50, one complete.many';

/** @type {import('../../harness/suite.mjs').Measurement[]} */
const measurements = [
  {
    name: 'put',
    title: 'put',
    quick: true,
    rows: [
      rate('putSequential', 'put, one after the other'),
      server('putSequential', 'put, one after the other'),
      pings('putSequential'),
      rate('putPipelined', BY_100),
      server('putPipelined', BY_100, 17),
      pings('putPipelined'),
      ofOriginal('putPipelined', BY_100, 2),
    ],
    run: (round) => loops(round, ['putSequential', 'putPipelined'], 20_000),
  },
  {
    name: 'pop',
    title: 'pop and complete',
    quick: true,
    rows: [
      rate('popComplete1', 'pop 1, complete'),
      server('popComplete1', 'pop 1, complete'),
      pings('popComplete1'),
      rate('popComplete50', POP_50),
      server('popComplete50', POP_50),
      pings('popComplete50'),
      ofOriginal('popComplete50', POP_50),
      rate('popCompleteMany', POP_MANY),
      server('popCompleteMany', POP_MANY, 30),
      pings('popCompleteMany'),
      ofOriginal('popCompleteMany', POP_MANY, 3),
    ],
    run: (round) => loops(round, ['popComplete1', 'popComplete50', 'popCompleteMany'], 20_000),
  },
];

/** @type {import('../../harness/suite.mjs').Suite} */
export default {
  fromSources: true,
  title: 'qless: our core in both forms, beside figures of the original',
  contenders: FORMS,
  start: async () => {
    // Not for the processes that are measured, which have no loader for TypeScript.
    const { startRedis } = await import('../../harness/redis-stage.mjs');
    return startRedis();
  },
  measurements,
  panels: [
    {
      title: 'Jobs a second',
      rows: [
        ['putSequential', 'put'],
        ['putPipelined', 'by 100'],
        ['popComplete50', 'pop 50'],
        ['popCompleteMany', 'in one call'],
      ],
    },
    {
      title: 'Server time of a job',
      rows: [
        ['putPipelinedServer', 'put'],
        ['popComplete50Server', 'pop, complete'],
        ['popCompleteManyServer', 'in one call'],
      ],
    },
  ],
};
