import { describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { SILENT } from '../../support/job-rows.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { useTls } from '../../support/tls.js';
import { eventually } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

describe('PostgreSQL', () => {
  const tls = useTls();
  const jobs = useJobTables(() => PostgresServer.start(tls.files));

  it('gets results of the outage when it is back, and the rest runs', async () => {
    const rows = await jobs.table();
    const hold = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';
    const ids = await rows.addMany(4, hold);
    await jobs.daemon(rows.options({ low: 2 }));
    await rows.reach('running', ids.slice(0, 2));
    await eventually(async () => expect(await rows.history()).toHaveLength(2));
    await jobs.server.restart();
    await rows.put('go');
    await rows.reach('done', ids);
    expect((await rows.all()).map(({ stdout }) => stdout)).toEqual(['end\n', 'end\n', 'end\n', 'end\n']);
    expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
  });

  it('serves a table whose targets are padded with spaces', async () => {
    const columns = 'target char(16), sig char(10)';
    const rows = await jobs.table(
      (table) => `CREATE TABLE ${table} (id serial PRIMARY KEY, ${columns}, time_created int NOT NULL,
        time_started int DEFAULT 0, time_finished int DEFAULT 0, status varchar(8) DEFAULT 'waiting',
        result varchar(4), return_code int, stdout text, stderr text)`,
    );
    const id = await rows.add('echo out');
    const manual = await rows.add('echo by hand', { status: 'manual' });
    const daemon = await jobs.daemon(rows.options());
    await rows.reach('done', [id]);
    const { jobs: ended } = await daemon.runManual([manual]);
    expect(ended.get(manual)).toMatchObject({ result: 'ok', stdout: 'by hand\n' });
    expect((await rows.all()).map(({ stdout }) => stdout)).toEqual(['out\n', 'by hand\n']);
  });

  it('is back once all that it refused is answered, and says so once', async () => {
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const log = { ...SILENT, warn: note, error: note };
    const database = await Database.open(parseDatabaseUrl(jobs.server.url), log);
    const ask = (text: string) => () => database.attempt((queries) => sql.raw(text).execute(queries));
    const refused = database.insist(ask('select 1 from a_table_of_later'));
    await eventually(() => expect(database.isReachable).toBe(false));
    await ask('select 1')();
    await database.insist(ask('select 1'));
    expect(database.isReachable).toBe(false);
    const signal = AbortSignal.abort();
    await expect(database.insist(ask('select 1 from another'), { signal })).rejects.toThrow('in time');
    await ask('create table a_table_of_later (id int)')();
    await refused;
    expect(database.isReachable).toBe(true);
    expect(lines).toEqual([expect.stringContaining("doesn't answer"), 'The database answers again.']);
    await database.close();
  });

  it('waits three seconds for a lock', async () => {
    const database = await Database.open(parseDatabaseUrl(jobs.server.url), SILENT);
    const ask = sql<{ lock_timeout: string }>`show lock_timeout`;
    const { rows } = await database.attempt((queries) => ask.execute(queries));
    expect(rows).toEqual([{ lock_timeout: '3s' }]);
    await database.close();
  });

  it('encrypts if configured, and only for a server whose certificate it trusts', async () => {
    const { url } = jobs.server;
    const isEncrypted = async (parameters: string) => {
      const database = await Database.open(parseDatabaseUrl(`${url}${parameters}`), SILENT);
      try {
        const ask = sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
        return (await database.attempt((queries) => ask.execute(queries))).rows[0]?.ssl;
      } finally {
        await database.close();
      }
    };
    await expect(isEncrypted('')).resolves.toBe(false);
    await expect(isEncrypted(`?tls_ca=${encodeURIComponent(tls.authority.file)}`)).resolves.toBe(true);
    await expect(isEncrypted('?tls=true')).rejects.toMatchObject({
      code: 'JOBD_DATABASE_SETUP',
      message: expect.stringMatching(/unable to verify the first certificate/),
    });
  });
});
