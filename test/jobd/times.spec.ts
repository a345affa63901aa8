import { afterEach, describe, expect, it } from '@jest/globals';
import {
  JobdClient,
  JobdDaemon,
  JobdMaster,
  JobdWorker,
  jobd,
  type DaemonOptions,
  type JobRun,
} from '../../lib/jobd/index.js';
import { ClientTable } from '../../lib/jobd/nest/client-table.js';
import { NO_ROUTE } from '../../lib/jobd/nest/request-routes.js';
import { SILENT } from '../../lib/jobd/vocabulary/logging.js';
import { sqliteFile } from '../support/job-rows.js';
import { noDurations } from '../support/no-durations.js';
import { useJobTables } from '../support/use-job-tables.js';

const DATABASE = 'sqlite:/nowhere/jobs.db';
const daemonOptions: DaemonOptions = {
  database: DATABASE,
  launcher: '/bin/true',
  targets: new Map([['low', { concurrency: 1 }]]),
};
const server = { host: '127.0.0.1', port: 0, auth: {}, log: SILENT };
const address = { host: '127.0.0.1', port: 1 };

describe('times of jobd', () => {
  const daemon = (options: object) => new JobdDaemon({ ...daemonOptions, ...options });
  const source = (options: object) => jobd({ database: DATABASE, targets: ['low'], ...options });
  const master = (options: object) => new JobdMaster({ ...server, ...options });
  const worker = (options: object) =>
    new JobdWorker(daemon({}), { ...server, name: 'w', master: { ...address, ...options } });

  const options: [string, (options: object) => unknown, string?][] = [
    ...['pollInterval', 'lease', 'drainTimeout', 'manualPatience', 'outputGrace', 'killGrace'].map(
      (option): [string, (options: object) => unknown] => [option, daemon],
    ),
    [
      'timeout',
      (target) => daemon({ targets: new Map([['low', { concurrency: 1, ...target }]]) }),
      'targets.low.',
    ],
    ...['pollInterval', 'lease', 'manualPatience'].map((option): [string, (options: object) => unknown] => [
      option,
      source,
    ]),
    ['pingInterval', master],
    ['pokeThrottleInterval', master],
    ...[worker, (wrong: object) => source({ master: { ...address, ...wrong } })].flatMap(
      (make): [string, (options: object) => unknown, string][] => [
        ['pingInterval', make, 'master.'],
        ['reconnectTimeout', make, 'master.'],
      ],
    ),
  ];

  it.each(options)('`%s` is a duration, and the error names it', (option, make, path = '') => {
    for (const [, value] of noDurations())
      expect(() => make({ [option]: value })).toThrow(`Expected \`${path}${option}\` to be `);
    make({ [option]: '2s' });
    make({ [option]: 1999.5 });
  });

  it('refuses leases and polls that are too short, and what no timer holds', () => {
    expect(() => daemon({ lease: 99 })).toThrow('`lease` to be at least 100 ms and at most 24 days');
    expect(() => daemon({ pollInterval: '99ms' })).toThrow('`pollInterval` to be at least 100 ms');
    expect(() => source({ lease: 99 })).toThrow('`lease` to be at least 100 ms');
    expect(() => daemon({ drainTimeout: '25d' })).toThrow('at most 24 days');
  });
});

describe('times of jobd, with a table', () => {
  const jobs = useJobTables(sqliteFile);
  const tables = new Set<ClientTable>();
  afterEach(async () => {
    await Promise.all([...tables].map((table) => table.close()));
    tables.clear();
  });

  async function open() {
    const rows = await jobs.table();
    const table = new ClientTable(rows.options().database, rows.options().table ?? 'jobs', SILENT);
    tables.add(table);
    return { rows, client: new JobdClient(table, NO_ROUTE, 'key') };
  }

  it('a daemon stops within a duration, and refuses other values', async () => {
    const { rows } = await open();
    const daemon = await jobs.daemon(rows.options());
    for (const [, timeout] of noDurations())
      await expect(daemon.stop({ timeout: timeout as number })).rejects.toThrow('Expected `timeout`');
    await daemon.stop({ timeout: '1s' });
  });

  it('a run reports its duration in milliseconds', async () => {
    const { rows } = await open();
    await rows.add('sleep 0.2');
    const daemon = await jobs.daemon(rows.options());
    const run = new Promise<JobRun>((resolve) => daemon.onRun(resolve));
    const { duration } = await run;
    expect(duration).toBeGreaterThanOrEqual(190);
  });

  it.each(['time_created', 'time_started', 'time_finished', 'time_scheduled', 'timeout'])(
    "a new row's %s is seconds, and nothing is written where it is none",
    async (column) => {
      const { client, rows } = await open();
      for (const value of [new Date(), '30s', Date.now(), -1, Number.NaN, Infinity, {}])
        await expect(client.add('low', { [column]: value })).rejects.toMatchObject({
          code: 'INVALID_OPTION',
          option: column,
          message: expect.stringContaining('seconds, as the table has it'),
        });
      await expect(rows.all()).resolves.toEqual([]);
      const id = await client.add('low', { [column]: 60 });
      await expect(client.row(id)).resolves.toMatchObject({ [column]: 60 });
    },
  );

  it('the interval between reads of rows is a duration of 50 ms or more', async () => {
    const { client } = await open();
    for (const [, interval] of [...noDurations(), ['too short', 49]])
      expect(() => client.rows([1], { interval: interval as number })).toThrow(
        'Expected `interval` to be at least 50 ms',
      );
  });
});
