import { readFileSync } from 'node:fs';
import { median } from '../../harness/statistics.mjs';
import { floodReader, floodWorker } from './flood.mjs';
import { bareRate, COMMAND, medianOf, runBare } from './spawning.mjs';
import { withDaemon } from './table.mjs';

const ROWS = 2000;
const MANUAL_RUNS = 300;
const WARM_UP = 50;
const FLOOD_MIB = 64;
const FLOODS = 9;
const OURS = 'jobd';

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

/**
 * @param {import('../../harness/suite.mjs').Round} round
 * @param {number} concurrency
 */
async function drain({ contender, addresses: { database }, jobs }, concurrency) {
  const count = jobs(ROWS);
  if (contender !== OURS) return bareRate(count, concurrency);
  return withDaemon({ database, concurrency }, async ({ daemon, rows }) => {
    await rows.add(count, 'waiting');
    const ended = rows.runs(count);
    const started = performance.now();
    daemon.poll();
    await ended;
    const rate = (count * 1000) / (performance.now() - started);
    const done = await rows.done();
    if (done !== count) throw new Error(`${done} of ${count} rows are done.`);
    return rate;
  });
}

/** @param {import('../../harness/suite.mjs').Round} round */
async function manual({ contender, addresses: { database }, jobs }) {
  const count = jobs(MANUAL_RUNS);
  if (contender !== OURS) {
    await medianOf(WARM_UP, runBare);
    return { manualP50: await medianOf(count, runBare) };
  }
  return withDaemon({ database, concurrency: 1 }, async ({ daemon, rows }) => {
    const ids = await rows.add(WARM_UP + count, 'manual');
    const run = () => daemon.runManual([ids.shift()]);
    await medianOf(WARM_UP, run);
    return { manualP50: await medianOf(count, run) };
  });
}

/** @returns {import('../../harness/suite.mjs').Measurement} */
const drained = (concurrency) => ({
  name: `drain${concurrency}`,
  title: `${ROWS} rows of ${COMMAND}, concurrency ${concurrency}`,
  quick: true,
  rows: [
    {
      ...{ key: `drain${concurrency}`, title: 'processes', unit: 'jobs/s', better: 'more' },
      targets: { bare: 0.9 },
    },
  ],
  run: async (round) => ({ [`drain${concurrency}`]: await drain(round, concurrency) }),
});

/** @type {import('../../harness/suite.mjs').Suite} */
export default {
  fromSources: true,
  title: 'jobd beside bare child processes',
  contenders: [
    { key: OURS, title: 'jobd', version, options: 'a daemon on MariaDB, defaults' },
    {
      ...{ key: 'bare', title: 'child_process', version: process.version },
      options: 'spawn with the same pipes and a group of its own, and nothing else',
    },
  ],
  start: async () => {
    const { MariaDbServer } = await import('../../../test/support/mariadb-server.ts');
    const server = await MariaDbServer.start();
    return {
      addresses: { database: server.url },
      facts: [['MariaDB', await server.version()]],
      stop: () => server.stop(),
    };
  },
  measurements: [
    drained(1),
    drained(8),
    {
      name: 'manual',
      title: 'run-manual of one job, one after the other',
      quick: true,
      rows: [
        {
          ...{ key: 'manualP50', title: 'request to reply, p50', unit: 'ms', better: 'less' },
          targets: { bare: 1.2 },
        },
      ],
      run: manual,
    },
    {
      name: 'flood',
      title: `${FLOOD_MIB} MiB without an end of the message, before any password`,
      quick: true,
      rows: [
        {
          ...{ key: 'flood', title: 'processor time, sender included', unit: 'ms', better: 'less' },
          targets: { bare: 1.2 },
        },
      ],
      run: async ({ contender }) => {
        const flood = contender === OURS ? floodWorker : floodReader;
        const costs = [];
        for (let i = 0; i < FLOODS; i++) costs.push(await flood(FLOOD_MIB * 1024 * 1024));
        return { flood: median(costs) };
      },
    },
  ],
  panels: [
    {
      title: 'Rows and processes',
      rows: [
        ['drain1', 'concurrency 1'],
        ['drain8', '8'],
      ],
    },
  ],
};
