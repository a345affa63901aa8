import { describe, expect, it } from '@jest/globals';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { readFailures } from '../../../lib/jobd/storage/failed-rows.js';
import { tableNames } from '../../../lib/jobd/storage/schema.js';
import { readOverview } from '../../../lib/jobd/storage/target-overview.js';
import { seedTable, SILENT, sqliteFile, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { inFullTier } from '../../support/tier.js';

const HUGE = '1234567890123456789';

/** A table for PostgreSQL and SQLite, with columns of other types than ours. */
const table = (name: string, types: Readonly<Record<string, string>> = {}) => {
  const columns = {
    id: 'integer primary key',
    target: 'varchar(16)',
    time_created: 'int NOT NULL',
    time_started: 'int DEFAULT 0',
    time_finished: 'int DEFAULT 0',
    status: "varchar(8) DEFAULT 'waiting'",
    result: 'varchar(4)',
    return_code: 'int',
    sig: 'char(10)',
    stdout: 'text',
    stderr: 'text',
    ...types,
  };
  const text = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  return `CREATE TABLE ${name} (${text.join()})`;
};

/** The targets that are counted of rows of two, one waiting and one failed of each. */
async function countsOf(rows: JobRows): Promise<Record<'waiting' | 'failed', string[]>> {
  for (const target of ['low', 'LOW']) {
    await rows.add('', { target });
    await rows.add('', { target, status: 'done', result: 'fail' });
  }
  const database = await Database.open(parseDatabaseUrl(rows.url), SILENT);
  const names = tableNames(rows.table);
  const waiting = await readOverview(database, names);
  const failed = await readFailures(database, names);
  await database.close();
  return { waiting: waiting.map(({ fn }) => fn), failed: failed.map(({ target }) => target).sort() };
}

describe('a table on SQLite', () => {
  const jobs = useJobTables(sqliteFile);

  it('whose targets compare without case: rows of other targets stay, and delay no row', async () => {
    const rows = await jobs.table((name) => table(name, { target: 'varchar(16) COLLATE NOCASE' }));
    await rows.addMany(100, '', { target: 'Low' });
    const own = await rows.addMany(3);
    const daemon = await jobs.daemon(rows.options());
    await rows.reach('done', own);
    daemon.poll();
    expect((await rows.statuses()).slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 'waiting'));
  });

  it('whose targets compare without case: each is counted, and fails, on its own', async () => {
    const rows = await jobs.table((name) => table(name, { target: 'varchar(16) COLLATE NOCASE' }));
    await expect(countsOf(rows)).resolves.toEqual({ waiting: ['LOW', 'low'], failed: ['LOW', 'low'] });
  });

  it('with rows whose times are NULL: they are due', async () => {
    const rows = await jobs.table((name) => table(name, { time_scheduled: 'int', attempts: 'int' }));
    const id = await rows.add('exit 1');
    await rows.execute(
      `INSERT INTO ${rows.table} (id, target, time_created, time_scheduled) VALUES (77, 'low', 1, NULL)`,
    );
    await rows.script(77, 'echo out');
    await jobs.daemon(rows.options());
    await rows.reach('done', [id, 77]);
    expect(await rows.row(77)).toMatchObject({ attempts: 1, stdout: 'out\n' });
  });
});

inFullTier(() => {
  describe('a table on PostgreSQL', () => {
    const jobs = useJobTables(() => PostgresServer.start());

    it('whose status is padded: rows of a daemon that died are taken over, and manual ones run', async () => {
      const types = { id: 'serial primary key', status: "char(10) DEFAULT 'waiting'", result: 'char(6)' };
      const rows = await jobs.table((name) => table(name, types));
      const orphan = await rows.add('', { status: 'running' });
      const manual = await rows.add('echo out', { status: 'manual' });
      const daemon = await jobs.daemon(rows.options());
      await rows.execute(`INSERT INTO ${rows.table}_owners VALUES (${orphan}, 'x', 'waiting')`);
      await rows.execute(`INSERT INTO ${rows.table}_daemons VALUES ('x', 'dead', '', '', 7)`);
      await rows.reach('done', [orphan], 30_000);
      expect(await rows.row(orphan)).toMatchObject({ result: 'fail' });
      const results = await daemon.runManual([manual, orphan]);
      expect(results.jobs.get(manual)).toMatchObject({ result: 'ok', stdout: 'out\n' });
      expect(results.errors.get(orphan)).toBe('status = done != manual');
    });

    it('that counts in bigint: retries are counted, not strung together', async () => {
      const counts = {
        attempts: 'bigint DEFAULT 0',
        max_attempts: 'bigint',
        time_scheduled: 'bigint DEFAULT 0',
      };
      const rows = await jobs.table((name) =>
        table(name, { id: 'bigserial primary key', timeout: 'bigint', ...counts }),
      );
      const id = await rows.add('echo $id >> "$dir/history"; exit 1', { max_attempts: 3, timeout: 60 });
      const target = { concurrency: 1, retry: { delay: 10, backoff: 'fixed' } } as const;
      await jobs.daemon({ ...rows.options(), targets: new Map([['low', target]]) });
      await rows.reach('done', [id], 30_000);
      expect(await rows.row(id)).toMatchObject({ attempts: 3, result: 'fail' });
      expect(await rows.history()).toEqual([id, id, id]);
    });

    it('with ids beyond 2^53: they stay, and other rows run', async () => {
      const rows = await jobs.table((name) =>
        table(name, { id: 'bigint primary key GENERATED BY DEFAULT AS IDENTITY' }),
      );
      await rows.execute(`INSERT INTO ${rows.table} (id, target, time_created) VALUES (${HUGE}, 'low', 1)`);
      const said: string[] = [];
      const error = (line: string) => void said.push(line);
      await rows.execute(`INSERT INTO ${rows.table} (id, target, time_created) VALUES (5, 'low', 1)`);
      await rows.script(5, 'echo out');
      await jobs.daemon({ ...rows.options(), log: { ...SILENT, error } });
      await rows.reach('done', [5]);
      expect(said).toEqual([
        expect.stringContaining(`There are rows with ids above ${Number.MAX_SAFE_INTEGER}`),
      ]);
    });
  });
});

inFullTier(() => {
  describe('a table on MariaDB', () => {
    const jobs = useJobTables(() => MariaDbServer.start());

    it('of the original, whose targets compare without case: each is counted, and fails, on its own', async () => {
      const rows = await jobs.table(seedTable);
      await expect(countsOf(rows)).resolves.toEqual({ waiting: ['LOW', 'low'], failed: ['LOW', 'low'] });
    });

    it('with ids beyond 2^53: no other row is written for them', async () => {
      const rows = await jobs.table((name) =>
        seedTable(name).replace('int(10) UNSIGNED NOT NULL AUTO', 'bigint NOT NULL AUTO'),
      );
      const rounded = String(BigInt(Number(HUGE)));
      const insert = `INSERT INTO ${rows.table} (id, target, status, time_created) VALUES`;
      await rows.execute(
        `${insert} (${HUGE}, 'low', 'waiting', 1), (${rounded}, 'low', 'done', 1), (5, 'low', 'waiting', 1)`,
      );
      await rows.script(5, 'echo out');
      const said: string[] = [];
      const error = (line: string) => void said.push(line);
      const daemon = await jobs.daemon({ ...rows.options(), log: { ...SILENT, error } });
      await rows.reach('done', [5]);
      daemon.poll();
      expect(await rows.statuses()).toEqual(['done', 'done', 'waiting']);
      expect(said).toEqual([expect.stringContaining('There are rows with ids above')]);
    });
  });
});
