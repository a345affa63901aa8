import { describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { ClientTable } from '../../../lib/jobd/nest/client-table.js';
import { DaemonRegistry } from '../../../lib/jobd/storage/daemon-registry.js';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import type { ManualRules } from '../../../lib/jobd/storage/acceptance.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { initDatabase } from '../../../lib/jobd/storage/init-database.js';
import { JobTable } from '../../../lib/jobd/storage/job-table.js';
import { tableNames, type JobsTable } from '../../../lib/jobd/storage/schema.js';
import { seedTable, SILENT, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { useTls } from '../../support/tls.js';
import { eventually, until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

describe('the storage on MariaDB', () => {
  const tls = useTls();
  const jobs = useJobTables(() =>
    MariaDbServer.start([`--ssl-cert=${tls.files.cert}`, `--ssl-key=${tls.files.key}`]),
  );

  async function withTable<T>(
    rows: JobRows,
    use: (table: JobTable, database: Database) => Promise<T>,
    answerTimeout?: number,
  ): Promise<T> {
    const database = await Database.open(parseDatabaseUrl(rows.url), SILENT, { answerTimeout });
    const names = tableNames(rows.table);
    const identity = { instance: crypto.randomUUID(), name: 'one', machine: '', process: '' };
    const registry = new DaemonRegistry(database, names, identity);
    try {
      return await use(await JobTable.open(database, names, registry), database);
    } finally {
      await database.close();
    }
  }

  it.each(['a beat', 'a fetch'] as const)(
    'takes a daemon whose entry is gone for another one, even if nothing followed %s that entered it',
    async (way) => {
      const rows = await jobs.table(seedTable);
      const database = await Database.open(parseDatabaseUrl(rows.url), SILENT);
      const names = tableNames(rows.table);
      const identity = { instance: crypto.randomUUID(), name: 'one', machine: '', process: '' };
      const registry = new DaemonRegistry(database, names, identity);
      const { acceptance } = await JobTable.open(database, names, registry);
      await rows.add();
      if (way === 'a beat') await registry.beat();
      else await acceptance.waiting(['low'], 1, 1);
      await rows.execute(`DELETE FROM ${rows.table}_daemons`);
      await registry.beat();
      expect(registry.instance).not.toBe(identity.instance);
      await database.close();
    },
  );

  it('says why access was denied, without the password', async () => {
    const rows = await jobs.table(seedTable);
    const url = rows.url.replace(/:[^:@]+@/, ':wr0ng@');
    const starting = jobs.daemon({ ...rows.options(), database: url });
    await expect(starting).rejects.toMatchObject({
      code: 'JOBD_DATABASE_SETUP',
      message: expect.stringMatching(/^(?!.*wr0ng).*Access denied for user 'root'/),
    });
    const nobody = jobs.daemon({ ...rows.options(), database: 'mysql://u:s3cret@127.0.0.1:9/db' });
    await expect(nobody).rejects.toThrow(/^(?!.*s3cret).*ECONNREFUSED/);
  });

  it('does not start on a table with a column whose name the driver refuses', async () => {
    const rows = await jobs.table(seedTable);
    await rows.execute(`ALTER TABLE ${rows.table} ADD COLUMN \`__proto__\` int`);
    await expect(jobs.daemon(rows.options())).rejects.toMatchObject({
      code: 'JOBD_DATABASE_SETUP',
      message: expect.stringMatching(/^The table '.*' can't be used: .*__proto__.*[^.]\.$/),
    });
  });

  it('says what to do if it may not create its tables, and works once they exist', async () => {
    const rows = await jobs.table(seedTable);
    await rows.execute(`CREATE USER 'u${rows.table}'@'%' IDENTIFIED BY 'pw'`);
    await rows.execute(`GRANT SELECT, INSERT, UPDATE, DELETE ON jobs.* TO 'u${rows.table}'@'%'`);
    const options = {
      ...rows.options(),
      database: rows.url.replace(/\/\/.*@/, `//u${rows.table}:pw@`),
    };
    const id = await rows.add();
    await expect(jobs.daemon(options)).rejects.toThrow(
      `'${rows.table}_owners' is missing and this user may not`,
    );
    await expect(initDatabase(rows.url, rows.table, SILENT)).resolves.toBe(false);
    await jobs.daemon(options);
    await rows.reach('done', [id]);
  });

  it('creates the table of jobs where it is missing', async () => {
    await expect(initDatabase(jobs.server.url, 'created', SILENT)).resolves.toBe(true);
    await expect(initDatabase(jobs.server.url, 'created', SILENT)).resolves.toBe(false);
  });

  it('finds the rows of one owner by an index, which --init adds to an older table', async () => {
    const rows = await jobs.table(seedTable);
    const key = async () => {
      const text = `EXPLAIN SELECT job_id FROM ${rows.table}_owners WHERE owner = 'one'`;
      const [plan] = (await rows.execute(text)) as { key: string | null; Extra: string }[];
      return plan?.key ?? null;
    };
    await initDatabase(rows.url, rows.table, SILENT);
    expect(await key()).toBe('owner_idx');
    await rows.execute(`DROP INDEX owner_idx ON ${rows.table}_owners`);
    expect(await key()).toBeNull();
    await initDatabase(rows.url, rows.table, SILENT);
    expect(await key()).toBe('owner_idx');
  });

  it('encrypts if configured, and only for a server whose certificate it trusts', async () => {
    const { url } = jobs.server;
    const cipher = async (parameters: string) => {
      const database = await Database.open(parseDatabaseUrl(`${url}${parameters}`), SILENT);
      try {
        const ask = sql<{ Value: string }>`show session status like 'Ssl_cipher'`;
        return (await database.attempt((queries) => ask.execute(queries))).rows[0]?.Value;
      } finally {
        await database.close();
      }
    };
    await expect(cipher('')).resolves.toBe('');
    await expect(cipher(`?tls_ca=${encodeURIComponent(tls.authority.file)}`)).resolves.toMatch(/^TLS_/);
    await expect(cipher('?tls=true')).rejects.toMatchObject({
      code: 'JOBD_DATABASE_SETUP',
      message: expect.stringMatching(/unable to verify the first certificate/),
    });
    await expect(cipher('?tls_ca=/nonexistent.pem')).rejects.toThrow("`tls_ca` can't be read");
  });

  it.each(['LOW', 'low '])(
    'leaves rows alone whose target the column takes for one of its own: %j',
    async (target) => {
      const rows = await jobs.table((name) => seedTable(name).replace('char(16)', 'varchar(16)'));
      const [other = 0] = await rows.addMany(1, '', { target });
      const manual = await rows.add('', { target, status: 'manual' });
      const own = await rows.add();
      const daemon = await jobs.daemon(rows.options());
      await rows.reach('done', [own]);
      const { errors } = await daemon.runManual([manual]);
      expect(errors).toEqual(new Map([[manual, `target '${target}' not found (job id=${manual})`]]));
      expect(await rows.row(other)).toMatchObject({ status: 'waiting' });
      expect(await rows.row(manual)).toMatchObject({ status: 'ignored', time_started: 0 });
    },
  );

  it('keeps rows that are added, and notes cuts, with any settings of the server', async () => {
    const rows = await jobs.table((name) => seedTable(name).replace('`stdout` mediumtext', '`stdout` text'));
    await rows.execute("SET GLOBAL autocommit = 0, GLOBAL sql_mode = ''");
    const client = new ClientTable(rows.url, rows.table, SILENT);
    try {
      const id = await client.add('low', {});
      await client.close();
      await rows.script(id, "head -c 70000 /dev/zero | tr '\\0' x");
      await jobs.daemon(rows.options());
      const isDone = 'SELECT stdout FROM ' + rows.table + " WHERE status = 'done'";
      const [row] = (await until(async () => {
        const found = await rows.execute(isDone);
        await rows.execute('COMMIT');
        return found.length > 0 && found;
      })) as { stdout: string }[];
      expect(row?.stdout).toMatch(/^x+\n\[jobd: \d+ more bytes of output left out\]\n$/);
    } finally {
      await rows.execute('SET GLOBAL autocommit = 1, GLOBAL sql_mode = DEFAULT');
    }
  });

  it('has no new row of another target, with an id or a status of its own, or with SQL in a value', async () => {
    const rows = await jobs.table(seedTable);
    const client = new ClientTable(rows.url, rows.table, SILENT);
    try {
      for (const columns of [
        { Id: 4294967295 },
        { İd: 4294967295 },
        { Target: 'payroll' },
        { Status: 'running' },
        { sig: { target: 1 } },
        { sig: [] },
      ])
        await expect(client.add('low', columns)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      await expect(client.add('payroll ', {})).rejects.toMatchObject({ option: 'target' });
      expect(await rows.all()).toEqual([]);
      const id = await client.add('low', {});
      await expect(client.read([{ id } as unknown as number])).rejects.toMatchObject({ option: 'ids' });
    } finally {
      await client.close();
    }
  });

  it('quotes output safely in any mode of the server', async () => {
    const rows = await jobs.table(seedTable);
    await rows.execute("SET GLOBAL sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
    const evil = String.raw`\', result='ok', stderr='\'; DELETE FROM ${rows.table}; -- `;
    const id = await rows.add(`cat <<'END'\n${evil}\nEND\nexit 1`);
    await jobs.daemon(rows.options());
    await rows.reach('done', [id]);
    await rows.execute('SET GLOBAL sql_mode = DEFAULT');
    expect(await rows.row(id)).toMatchObject({ result: 'fail', stdout: `${evil}\n`, stderr: '' });
  });

  it.each([
    { skipLocked: false, together: true },
    { skipLocked: true, together: false },
    { skipLocked: false, together: false },
  ])('accepts each row once where the server is capable of %j', async (capable) => {
    const rows = await jobs.table(seedTable);
    const ids = await rows.addMany(30);
    const accepted = await withTable(rows, (one, database) =>
      withTable(rows, async (two, other) => {
        for (const { traits } of [database, other]) Object.assign(traits, capable);
        const fetch = (table: JobTable) =>
          table.database
            .insist(() => table.acceptance.waiting(['low'], 5, 0))
            .then((fetched) => fetched.accepted);
        const fetches = Array.from({ length: 8 }, (_, n) => fetch(n % 2 ? one : two));
        return (await Promise.all(fetches)).flat().map(({ id }) => id);
      }),
    );
    expect(accepted.sort((a, b) => a - b)).toEqual(ids);
  });

  it.each([true, false])(
    'accepts all or nothing, with several statements at once: %s',
    async (isTogether) => {
      const rows = await jobs.table(seedTable);
      const id = await rows.add();
      const owners = `${rows.table}_owners`;
      await withTable(rows, async (table, { traits }) => {
        expect(traits.together).toBe(true);
        Object.assign(traits, { together: isTogether });
        await rows.execute(`RENAME TABLE ${owners} TO ${owners}_away`);
        await expect(table.acceptance.waiting(['low'], 0, 0)).rejects.toThrow(owners);
        expect(await rows.statuses()).toEqual(['waiting']);
        await rows.execute(`RENAME TABLE ${owners}_away TO ${owners}`);
        const { accepted } = await table.acceptance.waiting(['low'], 0, 0);
        expect(accepted).toMatchObject([{ id }]);
      });
      expect(await rows.statuses()).toEqual(['accepted']);
    },
  );

  it('skips locked rows', async () => {
    const rows = await jobs.table(seedTable);
    const [first = 0, second = 0] = await rows.addMany(2);
    const rival = await jobs.server.connect();
    await rival.query('BEGIN');
    await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [first]);
    await withTable(rows, async (table) => {
      const { accepted } = await table.acceptance.waiting(['low'], 0, 0);
      expect(accepted.map(({ id }) => id)).toEqual([second]);
    });
    await rival.end();
  });

  it('writes nothing for rows that another daemon has taken', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add();
    await withTable(rows, async (table) => {
      const { accepted } = await table.acceptance.waiting(['low'], 0, 0);
      await rows.execute(`DELETE FROM ${rows.table}_owners`);
      expect(await table.write({ begun: accepted, ended: [] }, 1)).toEqual(new Set());
      const ended = accepted.map(({ owner }) => ({ id, owner, columns: { status: 'done' } as const }));
      expect(await table.write({ begun: [], ended }, 1)).toEqual(new Set());
      await table.release([id]);
    });
    expect(await rows.row(id)).toMatchObject({ status: 'accepted', time_started: 0 });
  });

  it('begins a manual row at once if it is a daemon and the row is not locked; otherwise it frees the slot, and reads or tries again', async () => {
    const rows = await jobs.table(seedTable);
    const [first = 0, second = 0, ...others] = await rows.addMany(22, '', { status: 'manual' });
    let places = 0;
    let givenUp = 0;
    const rules: ManualRules = {
      serves: () => true,
      begins: () => false,
      beginsIn: () => ['low', `place ${++places}`],
      giveUp: () => givenUp++,
    };
    /** Rows that were locked, and whether they began when they were free. */
    const later = new Map<number, boolean>();
    await withTable(rows, async (table) => {
      const ask = (id: number) => table.database.insist(() => table.acceptance.manual([id], rules, 7));
      expect((await ask(first)).accepted).toMatchObject([{ id: first, hasBegun: false }]);
      expect([places, givenUp]).toEqual([1, 1]);
      expect((await ask(second)).accepted).toMatchObject([{ id: second, hasBegun: true }]);
      expect([places, givenUp]).toEqual([2, 1]);
      const rival = await jobs.server.connect();
      // A row that is free again before it is read is accepted; one that is free only when it is tried again begins.
      for (const locked of others) {
        const before = givenUp;
        await rival.query('BEGIN');
        await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [locked]);
        const asked = ask(locked);
        await eventually(() => expect(givenUp).toBeGreaterThan(before));
        await rival.query('COMMIT');
        const [job] = (await asked).accepted;
        expect(job?.id).toBe(locked);
        later.set(locked, job?.hasBegun === true);
        if (job?.hasBegun) break;
      }
      expect([...later.values()]).toContain(true);
      await rival.end();
    });
    const running = { status: 'running', time_started: 7 };
    const accepted = { status: 'accepted', time_started: 0 };
    expect((await rows.all()).slice(0, 2 + later.size)).toMatchObject([
      accepted,
      running,
      ...[...later.values()].map((hasBegun) => (hasBegun ? running : accepted)),
    ]);
    expect(await rows.owners()).toEqual([first, second, ...later.keys()]);
  });

  it('takes a row for free that was deleted while it was locked, but not one that is locked', async () => {
    const rows = await jobs.table(seedTable);
    const [deleted = 0, locked = 0, free = 0] = await rows.addMany(3);
    await withTable(rows, async (table) => {
      await table.acceptance.waiting(['low'], 0, 0);
      await rows.execute(`DELETE FROM ${rows.table} WHERE id = ${deleted}`);
      const rival = await jobs.server.connect();
      await rival.query('BEGIN');
      await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [locked]);
      expect(await table.freeIds([deleted, locked, free])).toEqual(new Set([deleted, free]));
      await rival.end();
    });
  });

  it.each([true, false])(
    'takes a row that it began or ended in a try without an answer for written, and not one that was changed since: %s',
    async (isTogether) => {
      const rows = await jobs.table(seedTable);
      const [same = 0, changed = 0, deleted = 0] = await rows.addMany(3);
      await withTable(rows, async (table, { traits }) => {
        Object.assign(traits, { together: isTogether });
        const { accepted } = await table.acceptance.waiting(['low'], 0, 0);
        const begin = () => table.write({ begun: accepted, ended: [] }, 7);
        expect(await begin()).toEqual(new Set([same, changed, deleted]));
        expect(await begin()).toEqual(new Set([same, changed, deleted]));
        await rows.execute(`UPDATE ${rows.table} SET status = 'ignored' WHERE id = ${changed}`);
        await rows.execute(`DELETE FROM ${rows.table} WHERE id = ${deleted}`);
        const columns = { status: 'done', result: 'ok', time_finished: 8 } as const;
        const ended = accepted.map(({ id, owner }) => ({ id, owner, columns }));
        expect(await table.write({ begun: [], ended }, 8)).toEqual(new Set([same]));
        expect(await table.heldIds()).toEqual([]);
      });
      expect(await rows.all()).toMatchObject([{ status: 'done' }, { status: 'ignored', result: null }]);
    },
  );

  it('writes ends and beginnings of rows together, each its own', async () => {
    const rows = await jobs.table(seedTable);
    const ids = await rows.addMany(5);
    const [printed = 0, killed = 0, silent = 0, begun = 0, queued = 0] = ids;
    await rows.execute(`UPDATE ${rows.table} SET stdout = 'before' WHERE id = ${begun}`);
    await withTable(rows, async (table) => {
      const { accepted } = await table.acceptance.waiting(['low'], 0, 0);
      const done = { status: 'done', result: 'ok', time_finished: 8, return_code: 0, sig: null } as const;
      const owner = accepted[0]?.owner ?? '';
      const ended = [
        { id: printed, owner, columns: { ...done, stdout: "it's\\", stderr: '' } },
        { id: killed, owner, columns: { ...done, result: 'fail', return_code: null, sig: 'SIGTERM' } },
        { id: silent, owner, columns: { ...done, stdout: '', stderr: '' } },
      ] as const;
      const ofEnded = accepted.filter(({ id }) => ended.some((one) => one.id === id));
      await table.write({ begun: ofEnded, ended: [] }, 6);
      const written = await table.write({ begun: accepted.filter(({ id }) => id === begun), ended }, 9);
      expect([...written].sort((a, b) => a - b)).toEqual([printed, killed, silent, begun]);
      expect(await table.heldIds()).toEqual([begun, queued]);
    });
    const ok = { status: 'done', result: 'ok', return_code: 0, sig: null, time_finished: 8, time_started: 6 };
    expect(await rows.all()).toMatchObject([
      { ...ok, stdout: "it's\\", stderr: '' },
      { ...ok, result: 'fail', return_code: null, sig: 'SIGTERM', stdout: null },
      { ...ok, stdout: '', stderr: '' },
      { status: 'running', result: null, time_started: 9, time_finished: 0, stdout: 'before' },
      { status: 'accepted', time_started: 0, stdout: null },
    ]);
  });

  it.each([true, false])(
    'writes only its own rows among those with equal results, at once: %s',
    async (isTogether) => {
      const rows = await jobs.table(seedTable);
      const [first = 0, taken = 0, third = 0] = await rows.addMany(3);
      await withTable(rows, async (table, { traits }) => {
        Object.assign(traits, { together: isTogether });
        const { accepted } = await table.acceptance.waiting(['low'], 0, 0);
        const owners = `${rows.table}_owners`;
        await rows.execute(`UPDATE ${owners} SET owner = 'another' WHERE job_id = ${taken}`);
        expect(await table.write({ begun: accepted, ended: [] }, 7)).toEqual(new Set([first, third]));
        const columns = { status: 'done', result: 'ok' } as const;
        const ended = accepted.map(({ id, owner }) => ({ id, owner, columns }));
        expect(await table.write({ begun: [], ended }, 8)).toEqual(new Set([first, third]));
        expect(await rows.owners()).toEqual([taken]);
      });
      expect(await rows.all()).toMatchObject([
        { status: 'done', time_started: 7 },
        { status: 'accepted', time_started: 0 },
        { status: 'done', time_started: 7 },
      ]);
    },
  );

  it('recognizes rows that it has already ended, and keeps columns without a value', async () => {
    const rows = await jobs.table(seedTable);
    const ids = await rows.addMany(2, '', { stdout: 'before' });
    await withTable(rows, async (table) => {
      const { accepted } = await table.acceptance.waiting(['low'], 0, 0);
      await table.write({ begun: accepted, ended: [] }, 7);
      const columns = { status: 'done', result: 'ok', stdout: undefined } as const;
      const ended = accepted.map(({ id, owner }) => ({ id, owner, columns: columns as Partial<JobsTable> }));
      for (let times = 0; times < 2; times++)
        expect(await table.write({ begun: [], ended }, 8)).toEqual(new Set(ids));
    });
    expect((await rows.all()).map(({ stdout }) => stdout)).toEqual(['before', 'before']);
  });

  it('gives up a connection that owes its answer for too long, and asks on another', async () => {
    const rows = await jobs.table(seedTable);
    await withTable(
      rows,
      async (_, database) => {
        await jobs.server.kill('SIGSTOP');
        const asked = database.attempt((queries) => sql`select 1 as one`.execute(queries));
        await expect(asked).rejects.toMatchObject({ code: 'JOBD_DATABASE' });
        await jobs.server.kill('SIGCONT');
        const again = () =>
          database.attempt((queries) => sql`select 1 as one`.execute(queries)).catch(() => undefined);
        expect((await until(again)).rows).toEqual([{ one: 1 }]);
      },
      500,
    );
  });

  it('rejects all pending statements at once when it closes its connections', async () => {
    const rows = await jobs.table(seedTable);
    const database = await Database.open(parseDatabaseUrl(rows.url), SILENT, { answerTimeout: 2000 });
    const asked = () => database.attempt((queries) => sql`select 1`.execute(queries));
    await Promise.all([asked(), asked()]);
    await jobs.server.kill('SIGSTOP');
    try {
      const [first, then] = [asked(), delay(1000).then(asked)];
      await Promise.all([
        expect(first).rejects.toMatchObject({ code: 'JOBD_DATABASE' }),
        expect(then).rejects.toMatchObject({ code: 'PROTOCOL_CONNECTION_LOST' }),
      ]);
    } finally {
      await jobs.server.kill('SIGCONT');
      await database.close();
    }
  });
});

describe('MariaDB that logs statements', () => {
  const jobs = useJobTables(() => MariaDbServer.start(['--log-bin=log', '--binlog-format=STATEMENT']));

  it('is asked one thing at a time, in ways that its replicas can follow', async () => {
    const rows = await jobs.table(seedTable);
    const database = await Database.open(parseDatabaseUrl(rows.url), SILENT);
    expect(database.traits.together).toBe(false);
    await database.close();
    const ids = await rows.addMany(3, 'echo $id');
    await jobs.daemon(rows.options());
    await rows.reach('done', ids);
    expect((await rows.all()).map(({ stdout }) => stdout)).toEqual(ids.map((id) => `${id}\n`));
  });
});
