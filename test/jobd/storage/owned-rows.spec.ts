import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DaemonRegistry } from '../../../lib/jobd/storage/daemon-registry.js';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { initDatabase } from '../../../lib/jobd/storage/init-database.js';
import { JobTable } from '../../../lib/jobd/storage/job-table.js';
import { tableNames } from '../../../lib/jobd/storage/schema.js';
import { SILENT, sqliteFile } from '../../support/job-rows.js';

const NOW = 1_800_000_000;
const NAMES = tableNames('jobs');

describe('two daemons with a table in SQLite', () => {
  let database: Database;
  let endings: (() => unknown)[] = [];
  beforeEach(async () => {
    const file = await sqliteFile();
    await initDatabase(file.url, 'jobs', SILENT);
    database = await Database.open(parseDatabaseUrl(file.url), SILENT);
    endings = [() => database.close(), () => file.stop()];
  });
  afterEach(async () => {
    for (const end of endings) await end();
  });

  /** A daemon that is entered, and its view of the table. */
  async function enter(instance: string) {
    const registry = new DaemonRegistry(database, NAMES, {
      ...{ instance, name: instance, machine: '', process: '' },
    });
    await registry.beat();
    return { registry, table: await JobTable.open(database, NAMES, registry) };
  }

  const add = (more: object = {}) =>
    database.attempt((queries) =>
      queries
        .insertInto('jobs')
        .values({ target: 'low', time_created: 1, ...more } as never)
        .execute(),
    );
  const rows = () => database.attempt((queries) => queries.selectFrom('jobs').selectAll().execute());

  /** The first has begun a row, and the other has read its last sign of life. */
  async function begun() {
    const [first, other] = [await enter('first'), await enter('other')];
    await add();
    const { accepted } = await first.table.acceptance.begin(new Map([['low', 1]]), NOW);
    const [job] = accepted;
    const [dead] = await other.registry.others();
    if (!job || !dead) throw new Error('Expected a row and a daemon.');
    return { first, other, job, dead };
  }

  it('leave the rows of one that has shown meanwhile that it is alive', async () => {
    const { first, other, dead } = await begun();
    await first.registry.beat();
    await expect(other.registry.takeOver(dead, 'requeue', NOW)).resolves.toBeUndefined();
    await expect(rows()).resolves.toMatchObject([{ status: 'running' }]);
  });

  it('write no end of a row that the other has taken over', async () => {
    const { first, other, job, dead } = await begun();
    await expect(other.registry.takeOver(dead, 'requeue', NOW)).resolves.toEqual({ released: 1, failed: 0 });
    const { id, owner } = job;
    const ended = [{ id, owner, columns: { status: 'done', result: 'ok' } as const }];
    const end = () => first.table.write({ begun: [], ended }, NOW);
    await expect(end()).resolves.toEqual(new Set());
    await expect(rows()).resolves.toMatchObject([{ status: 'waiting', result: null }]);
    await other.table.acceptance.begin(new Map([['low', 1]]), NOW);
    await expect(end()).resolves.toEqual(new Set());
    await expect(rows()).resolves.toMatchObject([{ status: 'running', result: null }]);
  });

  it('fail a row that ran, if the policy is to fail', async () => {
    const { other, dead } = await begun();
    await expect(other.registry.takeOver(dead, 'fail', NOW)).resolves.toEqual({ released: 0, failed: 1 });
    await expect(rows()).resolves.toMatchObject([{ status: 'done', result: 'fail' }]);
  });

  it('accept the oldest rows of their targets that are due, each once', async () => {
    const [first, other] = [await enter('first'), await enter('other')];
    await add({ time_scheduled: NOW + 1 });
    await add({ target: 'high' });
    for (let row = 0; row < 3; row++) await add({ time_scheduled: NOW });
    const accepted = async ({ table }: typeof first) =>
      (await table.acceptance.waiting(['low'], 2, NOW)).accepted.map(({ id }) => id);
    await expect(accepted(first)).resolves.toEqual([3, 4]);
    await expect(accepted(other)).resolves.toEqual([5]);
  });
});
