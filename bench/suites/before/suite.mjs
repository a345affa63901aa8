import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ownVersion } from '../../harness/packages.mjs';
import { cpuOf } from './cpu.mjs';

/** How much more CPU a job may take than before: an unchanged tree has been seen within 1.1. */
const MOST = 1.15;

/** @returns {import('../../harness/suite.mjs').Row} */
const row = (key, title) => ({ key, title, unit: 'us/job', better: 'less', targets: { before: MOST } });

/** Answers whether this tree has become slower: `npm run bench -- before COMMIT`. @type {import('../../harness/suite.mjs').Suite} */
export default {
  title: 'CPU of a job, in this tree and before',
  // Other programs only add to what a round takes.
  compared: 'min',
  contenders: [
    { key: 'now', title: 'this tree', version: ownVersion(), options: 'as it is built in dist/' },
    { key: 'before', title: 'before', version: '', options: 'the commit that was given' },
  ],
  start: async ({ commit }) => {
    const { startRedis } = await import('../../harness/redis-stage.mjs');
    const { buildCommit } = await import('./commit.mjs');
    const built = buildCommit(commit);
    const stage = await startRedis();
    const here = new URL('../../../dist/index.js', import.meta.url).href;
    const before = pathToFileURL(join(built.folder, 'dist/index.js')).href;
    return {
      addresses: { ...stage.addresses, now: here, before },
      facts: [...stage.facts, ['before', built.hash]],
      stop: async () => {
        await stage.stop();
        built.remove();
      },
    };
  },
  measurements: [
    {
      name: 'client',
      title: 'the client, and Redis for it',
      rows: [
        row('enqueue1', 'enqueue, one at a time'),
        row('enqueue100', 'enqueue, 100 in flight'),
        row('bulk', 'enqueue in bulk by 1000'),
        row('redisEnqueue', 'Redis, enqueue with 100 in flight'),
      ],
      run: (round) => cpuOf(round, 'client'),
    },
    {
      name: 'worker',
      title: 'the worker, and Redis for it',
      rows: [
        row('run1', 'run, concurrency 1'),
        row('run10', 'run, concurrency 10'),
        row('run100', 'run, concurrency 100'),
        row('redisRun', 'Redis, run at concurrency 100'),
      ],
      run: (round) => cpuOf(round, 'worker'),
    },
  ],
  panels: [],
};
