import { describe, expect, it } from '@jest/globals';
import { PostgresServer } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

describe('the daemon on PostgreSQL that crashes', () => {
  const jobs = useJobTables(() => PostgresServer.start());

  it('writes what ended meanwhile, and runs the rest', async () => {
    const rows = await jobs.table();
    const hold = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';
    const ids = await rows.addMany(4, hold);
    await jobs.daemon(rows.options({ low: 2 }));
    await rows.reach('running', ids.slice(0, 2));
    await until(async () => (await rows.history()).length === 2);
    await jobs.server.restart();
    await rows.put('go');
    await rows.reach('done', ids);
    expect((await rows.all()).map(({ stdout }) => stdout)).toEqual(['end\n', 'end\n', 'end\n', 'end\n']);
    expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
  });
});
