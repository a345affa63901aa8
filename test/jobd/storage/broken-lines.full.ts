import { describe, expect, it } from '@jest/globals';
import type { ManualRules } from '../../../lib/jobd/storage/acceptance.js';
import type { AcceptedJob } from '../../../lib/jobd/storage/accepted-job.js';
import { parseDatabaseUrl } from '../../../lib/jobd/storage/database-location.js';
import { DaemonRegistry } from '../../../lib/jobd/storage/daemon-registry.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { JobTable } from '../../../lib/jobd/storage/job-table.js';
import { tableNames } from '../../../lib/jobd/storage/schema.js';
import { CutLine } from '../../support/cut-line.js';
import { seedTable, SILENT, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { eventually } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

const RULES: ManualRules = {
  serves: () => true,
  begins: () => true,
  beginsIn: () => ['low'],
  giveUp: () => undefined,
};

/** The server shows its transactions as they were up to 100 ms ago. */
const ANEW = { interval: 150 };

/** The server executes statements that it has read even if the client is gone. */
describe('a line that breaks between two statements of a transaction', () => {
  const jobs = useJobTables(() => MariaDbServer.start());

  /** Asks what waits for `locked`, breaks the line then, and looks when the server is done with it. */
  async function broken(
    rows: JobRows,
    ask: (table: JobTable, accepted: readonly AcceptedJob[]) => Promise<unknown>,
    locked: string,
  ): Promise<unknown> {
    const line = await CutLine.to(jobs.server.port);
    const url = rows.url.replace(/:\d+\//, `:${line.port}/`);
    const database = await Database.open(parseDatabaseUrl(url), SILENT);
    const names = tableNames(rows.table);
    const identity = { instance: crypto.randomUUID(), name: 'one', machine: '', process: '' };
    const registry = new DaemonRegistry(database, names, identity);
    const table = await JobTable.open(database, names, registry);
    await registry.beat();
    const { accepted } = await table.acceptance.begin(new Map([['low', 9]]), 1);
    const rival = await jobs.server.connect();
    await rival.query('BEGIN');
    await rival.query(`SELECT * FROM ${rows.table}_${locked} FOR UPDATE`);
    const asked = expect(ask(table, accepted)).rejects.toThrow(/Connection lost|ECONNRESET/);
    await eventually(async () => expect(await waiting(rows)).toBe(1), ANEW);
    line.reset();
    await asked;
    await rival.end();
    await eventually(async () => expect(await underWay(rows)).toBe(0), ANEW);
    await database.close();
    line.close();
    const owners = await rows.execute(`SELECT owner FROM ${rows.table}_owners`);
    const isOwned = (owners as { owner: string }[]).some(({ owner }) => owner === identity.instance);
    return (await rows.all()).map(({ status }) => [status, isOwned ? 'owned' : 'not owned']);
  }

  async function count(rows: JobRows, where: string): Promise<number> {
    const found = await rows.execute(
      `SELECT COUNT(*) AS n FROM information_schema.innodb_trx WHERE ${where}`,
    );
    return Number((found as { n: number }[])[0]?.n);
  }
  const waiting = (rows: JobRows) => count(rows, "trx_state = 'LOCK WAIT'");
  const underWay = (rows: JobRows) => count(rows, 'true');

  it('leaves a row that ends done, or running and owned', async () => {
    const rows = await jobs.table(seedTable);
    await rows.add();
    const end = (table: JobTable, accepted: readonly AcceptedJob[]) => {
      const ended = accepted.map(({ id, owner }) => ({ id, owner, columns: { status: 'done' } as const }));
      return table.write({ begun: [], ended }, 2);
    };
    expect([[['done', 'not owned']], [['running', 'owned']]]).toContainEqual(
      await broken(rows, end, 'owners'),
    );
  });

  it('leaves a row that is run manually either running and owned, or unchanged', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add('', { status: 'manual' });
    const begin = (table: JobTable) => table.acceptance.manual([id], RULES, 2);
    expect([[['manual', 'not owned']], [['running', 'owned']]]).toContainEqual(
      await broken(rows, begin, 'daemons'),
    );
  });
});
