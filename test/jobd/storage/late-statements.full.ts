import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ClientTable } from '../../../lib/jobd/nest/client-table.js';
import { AcceptedRows } from '../../../lib/jobd/rows/accepted-rows.js';
import type { AcceptedJob } from '../../../lib/jobd/storage/accepted-job.js';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { DaemonRegistry } from '../../../lib/jobd/storage/daemon-registry.js';
import { Database, type DatabaseOptions } from '../../../lib/jobd/storage/database.js';
import { JobTable } from '../../../lib/jobd/storage/job-table.js';
import { RowWriter } from '../../../lib/jobd/storage/row-writer.js';
import { tableNames } from '../../../lib/jobd/storage/schema.js';
import { gate } from '../../support/gate.js';
import { SILENT, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { SlowLine } from '../../support/slow-line.js';
import { eventually, until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

const AGAIN = { status: 'waiting', time_scheduled: 1 } as const;
const ANSWER_MS = 1000;
/** Locks are waited for 3 s. */
const LONGER_THAN_LOCKS_MS = 4000;
const TEST_MS = 120_000;

interface Daemon {
  readonly table: JobTable;
  readonly writer: RowWriter;
}

describe.each([
  ['MariaDB', () => MariaDbServer.start()],
  ['PostgreSQL', () => PostgresServer.start()],
] as const)('what %s executes after its client has given up', (kind, start) => {
  const jobs = useJobTables<MariaDbServer | PostgresServer>(start);
  const isMariaDb = kind === 'MariaDB';
  const opened: Database[] = [];
  const signal = new AbortController().signal;
  let line: SlowLine;
  let rows: JobRows;
  let others: ReadonlySet<unknown>;

  beforeEach(async () => {
    line = await SlowLine.start(jobs.server.port);
    rows = await jobs.table();
    others = await connections();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.close()));
    await line.stop();
  });

  async function open(port: number, options: DatabaseOptions): Promise<Database> {
    const location = parseDatabaseUrl(rows.url.replace(/:\d+\//, `:${port}/`));
    const database = await Database.open(location, SILENT, options);
    opened.push(database);
    return database;
  }

  /** One whose statements go by the line, or straight to the server. */
  async function daemon(way: 'line' | 'straight', answerTimeout = ANSWER_MS): Promise<Daemon> {
    const database = await open(way === 'line' ? line.port : jobs.server.port, { answerTimeout });
    const names = tableNames(rows.table);
    const identity = { instance: crypto.randomUUID(), name: 'one', machine: '', process: '' };
    const registry = new DaemonRegistry(database, names, identity);
    const table = await JobTable.open(database, names, registry);
    await registry.beat();
    return { table, writer: new RowWriter(table, SILENT, signal) };
  }

  async function accept({ acceptance }: JobTable): Promise<AcceptedJob> {
    const [job] = (await acceptance.waiting(['low'], 1, 9)).accepted;
    if (!job) throw new Error('There was no row to accept.');
    return job;
  }

  async function begin({ acceptance }: JobTable): Promise<AcceptedJob> {
    const [job] = (await acceptance.begin(new Map([['low', 1]]), 9)).accepted;
    if (!job) throw new Error('There was no row to begin.');
    return job;
  }

  async function ask(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return (await rows.execute(text)) as Readonly<Record<string, unknown>>[];
  }

  async function connections(): Promise<Set<unknown>> {
    const list = isMariaDb ? 'information_schema.processlist' : 'pg_stat_activity';
    return new Set((await ask(`SELECT ${isMariaDb ? 'id' : 'pid AS id'} FROM ${list}`)).map(({ id }) => id));
  }

  /** What is sent from now on arrives late, on the connections there are; `arrival` lets it, and waits for it. */
  async function freeze(): Promise<{ arrival(): Promise<void> }> {
    const frozen = [...(await connections())].filter((id) => !others.has(id));
    line.freezeOpenOnes();
    return {
      arrival: async () => {
        line.heal();
        await until(async () => {
          const open = await connections();
          return frozen.every((id) => !open.has(id));
        });
      },
    };
  }

  /** A commit that waits: the server takes a moment to know that commits have to. */
  async function waitingCommit(waits: () => Promise<boolean>): Promise<{ committed: Promise<unknown> }> {
    const database = await open(jobs.server.port, { answerTimeout: TEST_MS });
    for (;;) {
      let isDone = false;
      const comment = sql`comment on table ${sql.table(rows.table)} is 'probe'`;
      const committed = database.attempt((queries) => comment.execute(queries)).then(() => (isDone = true));
      await until(async () => isDone || (await waits()));
      if (!isDone) return { committed };
    }
  }

  it('sends no statement that waited for a connection until its caller gave up', async () => {
    const database = await open(jobs.server.port, { answerTimeout: ANSWER_MS, connections: 1 });
    const id = await rows.add();
    const sleep = isMariaDb ? sql`select sleep(30)` : sql`select pg_sleep(30)`;
    const write = sql`update ${sql.table(rows.table)} set status = 'ignored' where id = ${id}`;
    const late = { code: 'JOBD_DATABASE' };
    await Promise.all([
      expect(database.attempt((queries) => sleep.execute(queries))).rejects.toMatchObject(late),
      expect(database.attempt((queries) => write.execute(queries))).rejects.toMatchObject(late),
    ]);
    // It gets the connection after those who waited before it.
    await until(() => database.attempt((queries) => sql`select 1`.execute(queries)).catch(() => false));
    expect(await rows.statuses()).toEqual(['waiting']);
  });

  it('ends no job that the same daemon has begun anew', async () => {
    const { table, writer } = await daemon('line');
    await rows.add();
    const { id, owner } = await begin(table);
    const { arrival } = await freeze();
    await expect(writer.end({ id, owner, columns: AGAIN })).resolves.toBe(true);
    await begin(table);
    await arrival();
    expect(await rows.row(id)).toMatchObject({ status: 'running', attempts: 2 });
    expect(await rows.owners()).toEqual([id]);
  });

  it('is no end of a row that another daemon has taken over meanwhile', async () => {
    const { table, writer } = await daemon('line');
    await rows.add();
    const { id, owner } = await begin(table);
    const { arrival } = await freeze();
    const ended = writer.end({ id, owner, columns: { status: 'done', result: 'ok', time_finished: 7 } });
    await until(() => line.frozen > 0);
    await rows.execute(
      `UPDATE ${rows.table} SET status = 'done', result = 'fail', time_finished = 8 WHERE id = ${id}`,
    );
    await rows.execute(`DELETE FROM ${rows.table}_owners WHERE job_id = ${id}`);
    await expect(ended).resolves.toBe(false);
    await arrival();
    expect(await rows.row(id)).toMatchObject({ status: 'done', result: 'fail' });
  });

  it('subtracts no attempt from a job that the same daemon has begun again', async () => {
    const { table, writer } = await daemon('line');
    await rows.add();
    const job = await accept(table);
    const { arrival } = await freeze();
    await expect(writer.begin(job)).resolves.toBe(true);
    await writer.end({ id: job.id, owner: job.owner, columns: AGAIN });
    await expect(writer.begin(await accept(table))).resolves.toBe(true);
    await arrival();
    expect(await rows.row(job.id)).toMatchObject({ status: 'running', attempts: 2 });
  });

  it('keeps no rows of a daemon that vanished while it accepted them', async () => {
    const { table } = await daemon('line');
    const { table: other } = await daemon('straight');
    const id = await rows.add();
    line.freezeAt(isMariaDb ? 'set `status`' : 'set "status"');
    await expect(accept(table)).rejects.toMatchObject({ code: 'JOBD_DATABASE' });
    const accepted = async () => (await other.acceptance.waiting(['low'], 1, 9)).accepted;
    const [job] = await until(async () => {
      const jobs = await accepted();
      return jobs.length > 0 && jobs;
    });
    expect(job).toMatchObject({ id });
  });

  it('may be the insert of a client, whose error says that its outcome is unknown', async () => {
    const client = new ClientTable(rows.url.replace(/:\d+\//, `:${line.port}/`), rows.table, SILENT);
    await client.add('low', {});
    line.freezeAt('insert');
    const adding = expect(client.add('low', {})).rejects.toThrow('Whether the row was added is unknown');
    await until(() => line.frozen > 0);
    line.cut();
    await adding;
    await client.close();
  });

  if (!isMariaDb)
    it('may be the end of a row, which it keeps locked meanwhile', async () => {
      const { table, writer } = await daemon('straight', LONGER_THAN_LOCKS_MS);
      await rows.add();
      const { id, owner } = await begin(table);
      const standby = async (name: string) => {
        await rows.execute(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
        await rows.execute('SELECT pg_reload_conf()');
      };
      const waiting = (kind: string) =>
        ask(`SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' OR wait_event = '${kind}'`);
      const sleeping = async () => (await waiting('SyncRep')).length;
      // Commits wait for a server that is not there.
      await standby('nowhere');
      const probe = await waitingCommit(async () => (await sleeping()) > 0);
      const ended = writer.end({ id, owner, columns: { status: 'done', result: 'ok' } });
      await eventually(async () => expect(await sleeping()).toBe(2));
      await eventually(async () => expect(await sleeping()).toBe(3));
      await eventually(async () => expect(await sleeping()).toBe(2));
      await standby('');
      await expect(ended).resolves.toBe(true);
      await probe.committed;
      expect(await rows.row(id)).toMatchObject({ status: 'done' });
    });
});

describe('rows that are given back while the same are accepted', () => {
  const jobs = useJobTables(() => MariaDbServer.start());

  it('stay with the daemon that accepted them last', async () => {
    const rows = await jobs.table();
    const id = await rows.add();
    const database = await Database.open(parseDatabaseUrl(rows.url), SILENT);
    const identity = { instance: crypto.randomUUID(), name: 'one', machine: '', process: '' };
    const names = tableNames(rows.table);
    const table = await JobTable.open(database, names, new DaemonRegistry(database, names, identity));
    const held = new AcceptedRows(table, SILENT, () => undefined);
    const { signal } = new AbortController();
    const fetch = () => table.acceptance.waiting(['low'], 1, 9);
    const { accepted } = await held.accept(fetch, signal);
    // As an earlier try left it whose answer was lost.
    await table.release([id]);
    const answered = gate();
    const isAccepted = gate();
    const accepting = held.accept(async () => {
      const fetched = await fetch();
      isAccepted.open();
      await answered.passed;
      return fetched;
    }, signal);
    await isAccepted.passed;
    const releasing = held.release(accepted, signal);
    await database.attempt((queries) => sql`select sleep(0.2)`.execute(queries));
    answered.open();
    await Promise.all([accepting, releasing]);
    expect(await rows.statuses()).toEqual(['accepted']);
    expect(await rows.owners()).toEqual([id]);
    await database.close();
  });
});
