import { describe, expect, it, jest } from '@jest/globals';
import type { Claim } from '../../../lib/job/job-source.js';
import { jobd } from '../../../lib/jobd/nest/jobd.js';
import { databaseAddress } from '../../../lib/jobd/storage/database-location.js';
import type { JobdSource } from '../../../lib/jobd/source/jobd-source.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { claimOne, success } from '../../contract/claiming.js';
import { seedTable, SILENT, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { eventually, until } from '../../support/until.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';

describe('rows of an app that has died', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  stopProgramsAfterEach();

  const optionsOf = (rows: JobRows, orphans: 'fail' | 'requeue') => {
    const table = { database: rows.url, table: rows.table };
    return { ...table, targets: ['low'], orphans, lease: 2000 };
  };

  async function opened(rows: JobRows, orphans: 'fail' | 'requeue', lost: Claim[] = []): Promise<JobdSource> {
    const source = jobd({ ...optionsOf(rows, orphans), log: SILENT });
    await source.open(['low'], (claim) => lost.push(claim));
    return source;
  }

  it.each(['fail', 'requeue'] as const)('after a SIGKILL: %s', async (orphans) => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add();
    const app = await Program.start('test/support/jobd-app.mjs', optionsOf(rows, orphans));
    expect(await rows.row(id)).toMatchObject({ status: 'running' });
    await app.kill();
    const source = await opened(rows, orphans);
    if (orphans === 'requeue') await source.settle([success(await claimOne(source, 'low'))]);
    await rows.reach('done', [id]);
    expect((await rows.row(id)).result).toBe(orphans === 'fail' ? 'fail' : 'ok');
    expect(await rows.owners()).toEqual([]);
    await source.close();
  });

  it('that was only delayed: it reports lost claims, and settles nothing', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add();
    const lost: Claim[] = [];
    const slow = await opened(rows, 'requeue', lost);
    const claim = await claimOne(slow, 'low');
    await expect(slow.renew([claim])).resolves.toEqual([]);
    // As after a long sleep, in which another process took over.
    await rows.execute(`DELETE FROM ${rows.table}_owners`);
    await rows.execute(`UPDATE ${rows.table} SET status = 'waiting'`);
    const other = await opened(rows, 'requeue');
    const again = await claimOne(other, 'low');
    expect(again.token).toBeGreaterThan(claim.token);
    await expect(slow.renew([claim])).resolves.toEqual([claim]);
    await eventually(() => expect(lost).toHaveLength(1));
    expect(lost).toEqual([claim]);
    await expect(slow.settle([success(claim, 'old')])).resolves.toEqual([claim]);
    await expect(other.settle([success(again, 'new')])).resolves.toEqual([]);
    expect(await rows.row(id)).toMatchObject({ status: 'done', stdout: 'new' });
    await Promise.all([slow.close(), other.close()]);
  });

  it('that is closed while it opens: it leaves no entry', async () => {
    const rows = await jobs.table(seedTable);
    const source = jobd({ ...optionsOf(rows, 'fail'), log: SILENT });
    const opening = source.open(['low']);
    await source.close();
    await opening.catch(() => undefined);
    expect(await rows.execute(`SELECT name FROM ${rows.table}_daemons`)).toEqual([]);
    expect(source.health()).toMatchObject({ connected: false });
  });

  it('that is idle: its waits leave nothing in memory', async () => {
    const rows = await jobs.table(seedTable);
    const source = await opened(rows, 'fail');
    const ending = new AbortController();
    const added = jest.spyOn(AbortSignal.prototype, 'addEventListener');
    const removed = jest.spyOn(AbortSignal.prototype, 'removeEventListener');
    const claiming = source.claim(new SlotTable([['low', 1]]), ending.signal);
    for (let turn = 0; turn < 50; turn++) {
      const waits = added.mock.calls.length;
      source.poll();
      await eventually(() => expect(added.mock.calls.length).toBeGreaterThan(waits));
    }
    // The one that waits now, and the few that the database's own waits have.
    expect(added.mock.calls.length - removed.mock.calls.length).toBeLessThan(10);
    ending.abort();
    await claiming;
    jest.restoreAllMocks();
    await source.close();
  });

  it('during an outage: outcomes wait, and rows added meanwhile are claimed afterwards', async () => {
    const rows = await jobs.table(seedTable);
    const [first = 0, second = 0] = await rows.addMany(2);
    const source = await opened(rows, 'fail');
    const claim = await claimOne(source, 'low');
    await jobs.server.kill();
    let isSettled = false;
    const settled = source.settle([success(claim)]).finally(() => (isSettled = true));
    const claiming = claimOne(source, 'low');
    await until(() => !source.health().connected);
    expect(source.health().problem).toBeDefined();
    await expect(source.reach(200)).rejects.toThrow('did not answer');
    expect(isSettled).toBe(false);
    await jobs.server.restart();
    await expect(settled).resolves.toEqual([]);
    await source.settle([success(await claiming)]);
    await rows.reach('done', [first, second]);
    expect(source.health()).toMatchObject({ connected: true, server: databaseAddress(rows.url) });
    await source.reach(1000);
    await source.close();
  });
});
