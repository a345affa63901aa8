import { describe, expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seedTable } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';

const ROWS_A_ROUND = 16;
/** Of a daemon, or of an app: rows that run, and as many that have ended and are yet to be written. */
const IN_HAND_AT_MOST = 2 * 2;
const VICTIMS = [['app'], ['daemon'], ['app', 'daemon']] as const;
const PATIENCE = { timeout: 30_000, interval: 20 };

describe('handlers and daemons that share a table', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  stopProgramsAfterEach();

  it.each([
    ['fail', 'auto'],
    ['requeue', false],
  ] as const)('lose no row by SIGKILLs of both, orphans: %s, posixSpawn: %s', async (orphans, posixSpawn) => {
    const rows = await jobs.table(seedTable);
    const job = join(rows.folder, 'job');
    const history = join(rows.folder, 'history');
    await writeFile(job, `echo "$1" >> "${history}"; sleep 0.05\n`);
    const shared = { database: rows.url, table: rows.table, orphans, lease: 2000 };
    const launcher = { launcher: `/bin/sh ${job} {id}`, posixSpawn, pollInterval: 300 };
    const starts = {
      app: () => Program.start('test/support/jobd-worker-app.mjs', { ...shared, targets: ['low'], history }),
      daemon: () =>
        Program.start('test/support/jobd-program.mjs', {
          ...{ ...shared, ...launcher, targets: [['low', { concurrency: 2 }]] },
        }),
    };
    const programs = { app: await starts.app(), daemon: await starts.daemon() };
    const ids: number[] = [];
    let kills = 0;
    for (const victims of VICTIMS) {
      ids.push(...(await rows.addMany(ROWS_A_ROUND)));
      const begun = (await rows.history()).length;
      await until(async () => (await rows.history()).length >= begun + 6, PATIENCE);
      for (const victim of victims) await programs[victim].kill();
      for (const victim of victims) programs[victim] = await starts[victim]();
      kills += victims.length;
    }
    await rows.reach('done', ids, 30_000);
    const runs = await rows.history();
    const again = runs.length - new Set(runs).size;
    const failed = (await rows.all()).filter(({ result }) => result !== 'ok').length;
    expect(orphans === 'fail' ? again : failed).toBe(0);
    expect(orphans === 'fail' ? failed : again).toBeLessThanOrEqual(kills * IN_HAND_AT_MOST);
    expect(await rows.owners()).toEqual([]);
    const byHandlers = (await rows.all()).filter(({ stdout }) => stdout === 'by a handler');
    expect(byHandlers.length).toBeGreaterThan(0);
    expect(byHandlers.length).toBeLessThan(ids.length);
  });
});
