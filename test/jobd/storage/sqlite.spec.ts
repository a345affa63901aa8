import { afterEach, describe, expect, it } from '@jest/globals';
import { statSync } from 'node:fs';
import Libsql from 'libsql';
import { ClientTable } from '../../../lib/jobd/nest/client-table.js';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { initDatabase } from '../../../lib/jobd/storage/init-database.js';
import type { JobdDatabase } from '../../../lib/jobd/storage/schema.js';
import { SILENT, sqliteFile } from '../../support/job-rows.js';

function insertion(queries: JobdDatabase, target: string) {
  return queries.insertInto('jobs').values({ target, time_created: 1 } as never);
}

describe('a SQLite file that another process uses too', () => {
  const endings: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });

  /** The file, and another's connection to it. */
  async function shared() {
    const file = await sqliteFile();
    endings.push(() => file.stop());
    await initDatabase(file.url, 'jobs', SILENT);
    const location = parseDatabaseUrl(file.url);
    if (location.dialect !== 'sqlite') throw new Error('It is no file.');
    const other = new Libsql(location.path);
    endings.push(() => other.close());
    const targets = () => other.prepare('select target from jobs order by id').all();
    return { file, other, targets };
  }

  it('accepts a row once the lock is free', async () => {
    const { file, other, targets } = await shared();
    const table = new ClientTable(file.url, 'jobs', SILENT);
    endings.push(() => table.close());
    other.exec('begin immediate');
    const added = table.add('low', {});
    // The connection is open, and has found the lock.
    await table.read([1]);
    other.exec('commit');
    await added;
    expect(targets()).toEqual([{ target: 'low' }]);
  });

  it.each([
    ['alone', (database: Database) => database.attempt.bind(database)],
    ['in a transaction', (database: Database) => database.transaction.bind(database)],
  ])('says why a write %s failed and ended its transaction, and does the next', async (_, ask) => {
    const { file, other, targets } = await shared();
    other.exec(`create trigger refusing before insert on jobs when new.target = 'bad'
      begin select raise(rollback, 'no such target'); end`);
    const database = await Database.open(parseDatabaseUrl(file.url), SILENT);
    endings.push(() => database.close());
    const add = (target: string) => ask(database)((queries) => insertion(queries, target).execute());
    await expect(add('bad')).rejects.toThrow('no such target');
    await add('good');
    expect(targets()).toEqual([{ target: 'good' }]);
  });

  it('is read by no other users of the machine', async () => {
    const { file } = await shared();
    const location = parseDatabaseUrl(file.url);
    const { mode } = statSync('path' in location ? location.path : '');
    expect(mode & 0o007).toBe(0);
  });

  it('can be opened by many at once even if it is new', async () => {
    const file = await sqliteFile();
    endings.push(() => file.stop());
    const open = () => initDatabase(file.url, 'jobs', SILENT);
    const created = await Promise.all(Array.from({ length: 24 }, open));
    expect(created).toContain(true);
  });

  it('keeps writes of a connection after a refused one', async () => {
    const { file, other, targets } = await shared();
    const database = await Database.open(parseDatabaseUrl(file.url), SILENT);
    endings.push(() => database.close());
    const add = (target: string) => database.attempt((queries) => insertion(queries, target).execute());
    other.exec('begin immediate');
    await expect(add('refused')).rejects.toThrow('locked');
    other.exec('commit');
    await add('written');
    expect(targets()).toEqual([{ target: 'written' }]);
  });
});
