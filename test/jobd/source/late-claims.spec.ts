import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { jobd } from '../../../lib/jobd/nest/jobd.js';
import type { Presence } from '../../../lib/jobd/membership/presence.js';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { initDatabase } from '../../../lib/jobd/storage/init-database.js';
import { tableNames, type JobsTable } from '../../../lib/jobd/storage/schema.js';
import { realNow } from '../../../lib/job/real-time.js';
import { claimOne } from '../../contract/claiming.js';
import { sqliteFile, SILENT, type SqlServer } from '../../support/job-rows.js';

let server: SqlServer;
let database: Database;
beforeAll(async () => {
  server = await sqliteFile();
  await initDatabase(server.url, 'jobs', SILENT);
  database = await Database.open(parseDatabaseUrl(server.url), SILENT);
});
afterAll(async () => {
  await database.close();
  await server.stop();
});

it('a row that was claimed before its process was stopped begins only if no other has taken it over', async () => {
  const source = jobd({ database: server.url, targets: ['mail'] });
  const values = { target: 'mail', time_created: 1 } as unknown as JobsTable;
  await database.attempt((queries) => queries.insertInto('jobs').values(values).execute());
  await source.open(['mail']);
  const claim = await claimOne(source, 'mail');
  expect(source.leases.mayBeLost?.(claim)).toBe(false);
  const presence = source['rows']?.['member']['presence'] as Presence;
  const stop = () => (presence['beganAt'] = realNow() - 60_000);
  stop();
  expect(source.leases.mayBeLost?.(claim)).toBe(true);
  await expect(source.renew([claim])).resolves.toEqual([]);
  expect(source.leases.mayBeLost?.(claim)).toBe(false);
  // As another one does that takes it for dead.
  await database.attempt((queries) => queries.deleteFrom(tableNames('jobs').daemons).execute());
  await database.attempt((queries) => queries.updateTable('jobs').set({ status: 'waiting' }).execute());
  stop();
  await expect(source.renew([claim])).resolves.toEqual([claim]);
  await source.close();
});
