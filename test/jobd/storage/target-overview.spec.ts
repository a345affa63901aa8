import { describe, expect, it } from '@jest/globals';
import { ClientTable } from '../../../lib/jobd/nest/client-table.js';
import { SILENT, sqliteFile, type SqlServer } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { furtherInFullTier } from '../../support/tier.js';
import { useJobTables } from '../../support/use-job-tables.js';

describe.each(
  furtherInFullTier<[string, () => Promise<SqlServer>]>(
    [
      ['SQLite', sqliteFile],
      ['PostgreSQL', () => PostgresServer.start()],
    ],
    [['MariaDB', () => MariaDbServer.start()]],
  ),
)('an overview of the targets on %s', (_, start) => {
  const jobs = useJobTables(start);

  it('counts rows that have not ended, and knows the age of the oldest that waits', async () => {
    const rows = await jobs.table();
    const table = new ClientTable(rows.url, rows.table, SILENT);
    await expect(table.overview()).resolves.toEqual([]);
    const first = Math.floor(Date.UTC(2026, 0, 1) / 1000);
    await rows.add('', { status: 'done' });
    await table.add('low', { time_created: first });
    await table.add('low', { time_created: first + 60 });
    await table.add('low', { status: 'manual' });
    await rows.add('', { target: 'high', status: 'accepted' });
    await rows.add('', { target: 'high', status: 'running' });
    const none = { high: 0, normal: 0, low: 0 };
    await expect(table.overview()).resolves.toEqual([
      { fn: 'high', waiting: none, scheduled: 0, running: 2 },
      {
        fn: 'low',
        waiting: { ...none, normal: 2 },
        scheduled: 1,
        running: 0,
        oldest: new Date(first * 1000),
      },
    ]);
    await table.close();
  });
});
