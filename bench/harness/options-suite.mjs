import { CONCURRENCY, load } from './options-load.mjs';
import { ownVersion } from './packages.mjs';

/**
 * A suite that runs the same jobs with several options of `forRoot`.
 *
 * @param {string} title
 * @param {Record<string, { title: string, says: string, options: object }>} settings by the key of the contender
 * @returns {import('./suite.mjs').Suite}
 */
export function optionsSuite(title, settings) {
  return {
    title,
    contenders: Object.entries(settings).map(([key, { title: name, says }]) => ({
      ...{ key, title: name, version: ownVersion() },
      options: says,
    })),
    start: async () => {
      // Not for the processes that are measured, which have no loader for TypeScript.
      const { startRedis } = await import('./redis-stage.mjs');
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
        run: (round) => load(round, 50_000, settings[round.contender]?.options ?? {}),
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
}
