import { describe, expect, it } from '@jest/globals';
import { jobd } from '../../../lib/jobd/nest/jobd.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { claimOne, success } from '../../contract/claiming.js';
import { seedTable, SILENT, sqliteFile, type JobRows, type SqlServer } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { furtherInFullTier, inFullTier } from '../../support/tier.js';
import { eventually } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { onThisMachine } from '../../support/machine.js';

const HOLD = 'until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';

/** Statements by which a table refuses that rows of the target `bad` get a status. */
const TRIGGERS = {
  mysql: (table: string, status: string) => [
    `CREATE TRIGGER ${table}_refusing BEFORE UPDATE ON ${table} FOR EACH ROW
      IF NEW.target = 'bad' AND NEW.status = '${status}' THEN
        SIGNAL SQLSTATE '45000' SET message_text = 'not this one'; END IF`,
  ],
  postgres: (table: string, status: string) => [
    `CREATE FUNCTION ${table}_refuse() RETURNS trigger AS 'begin raise exception ''not this one''; end' LANGUAGE plpgsql`,
    `CREATE TRIGGER refusing BEFORE UPDATE ON ${table} FOR EACH ROW
      WHEN (NEW.target = 'bad' AND NEW.status = '${status}') EXECUTE FUNCTION ${table}_refuse()`,
  ],
  sqlite: (table: string, status: string) => [
    `CREATE TRIGGER ${table}_refusing BEFORE UPDATE ON ${table} WHEN NEW.target = 'bad' AND NEW.status = '${status}'
      BEGIN SELECT RAISE(ABORT, 'not this one'); END`,
  ],
};

describe.each(
  furtherInFullTier<[keyof typeof TRIGGERS, () => Promise<SqlServer>]>(
    [['sqlite', sqliteFile]],
    [
      ['mysql', () => MariaDbServer.start()],
      ['postgres', () => PostgresServer.start()],
    ],
  ),
)('rows that a table on %s refuses', (dialect, start) => {
  const jobs = useJobTables(start);

  async function refusing(status: string): Promise<JobRows> {
    const rows = await jobs.table();
    for (const statement of TRIGGERS[dialect](rows.table, status)) await rows.execute(statement);
    return rows;
  }

  it.each(['accepted', 'running', 'done'])(
    'to be %s: those of others, and other rows, run',
    async (status) => {
      const rows = await refusing(status);
      const bad = await rows.addMany(3, '', { target: 'bad' });
      const good = await rows.addMany(3);
      const said: string[] = [];
      const error = (line: string) => void said.push(line);
      const daemon = await jobs.daemon({ ...rows.options({ bad: 2, low: 2 }), log: { ...SILENT, error } });
      await rows.reach('done', good);
      await eventually(() => expect(said).toContainEqual(expect.stringContaining('not this one')));
      expect(daemon.health().connected).toBe(true);
      const more = await rows.addMany(3);
      daemon.poll();
      await rows.reach('done', more);
      expect((await rows.all()).filter(({ id, status }) => bad.includes(id) && status === 'done')).toEqual(
        [],
      );
    },
  );

  it("to be done: a client that runs one by hand isn't told a result that the row does not have", async () => {
    const rows = await refusing('done');
    const id = await rows.add('echo out', { target: 'bad', status: 'manual' });
    const daemon = await jobs.daemon({ ...rows.options({ bad: 2 }), log: SILENT });
    const { jobs: results, errors } = await daemon.runManual([id]);
    expect(results.size).toBe(0);
    expect(errors.get(id)).toContain('could not be written');
  });

  it('are left by handlers, which are given the others', async () => {
    const rows = await refusing('running');
    await rows.addMany(2, '', { target: 'bad' });
    const id = await rows.add();
    const where = { database: rows.url, table: rows.table };
    const source = jobd({ ...where, targets: ['bad', 'low'], log: SILENT });
    await source.open(['bad', 'low']);
    const slots = new SlotTable([
      ['bad', 2],
      ['low', 1],
    ]);
    const [claim] = await source.claim(slots, AbortSignal.timeout(20_000));
    expect(claim?.id).toBe(String(id));
    if (claim) await source.settle([success(claim)]);
    await rows.reach('done', [id]);
    await source.close();
  });
});

inFullTier(() => {
  describe('a CHECK that refuses rows', () => {
    const jobs = useJobTables(() => MariaDbServer.start());

    it('stops no others', async () => {
      const rows = await jobs.table(seedTable);
      await rows.execute(`ALTER TABLE ${rows.table} ADD CHECK (target <> 'bad' OR status <> 'running')`);
      await rows.addMany(3, '', { target: 'bad' });
      const good = await rows.addMany(3);
      await jobs.daemon(rows.options({ bad: 2, low: 2 }));
      await rows.reach('done', good);
    });

    /** A transaction of another client that has locked rows. */
    async function holding(rows: JobRows, ids: readonly number[]) {
      const rival = await jobs.server.connect();
      await rival.query('BEGIN');
      // Each by itself: of several the server may read, and lock, the whole table.
      for (const id of ids) await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [id]);
      return rival;
    }

    it('a waiting row that is locked during the only poll: it runs once it is unlocked', async () => {
      const rows = await jobs.table(seedTable);
      const [held = 0, other = 0] = await rows.addMany(2);
      const rival = await holding(rows, [held]);
      await jobs.daemon(rows.options({ low: 4 }));
      await rows.reach('done', [other]);
      expect(await rows.row(held)).toMatchObject({ status: 'waiting' });
      await rival.query('ROLLBACK');
      await rival.end();
      await rows.reach('done', [held]);
    });

    it('a waiting row that is locked during the only poll of handlers: it is claimed once it is unlocked', async () => {
      const rows = await jobs.table(seedTable);
      const [held = 0, other = 0] = await rows.addMany(2);
      const rival = await holding(rows, [held]);
      const source = jobd({ database: rows.url, table: rows.table, targets: ['low'], log: SILENT });
      await source.open(['low']);
      const first = await claimOne(source, 'low');
      expect(first.id).toBe(`${other}`);
      const claiming = claimOne(source, 'low');
      await rival.query('ROLLBACK');
      await rival.end();
      const second = await claiming;
      expect(second.id).toBe(`${held}`);
      await source.settle([success(first), success(second)]);
      await source.close();
    });

    it.each([1, 9])('%d locked rows: others end and are begun meanwhile', async (count) => {
      const rows = await jobs.table(seedTable);
      const held = await rows.addMany(count, HOLD);
      const others = await rows.addMany(8, HOLD);
      const daemon = await jobs.daemon(rows.options({ low: 20 }));
      await rows.reach('running', [...held, ...others]);
      const rival = await holding(rows, held);
      await rows.put('go');
      await rows.reach('done', others, 30_000);
      const more = await rows.addMany(8);
      daemon.poll();
      await rows.reach('done', more, 30_000);
      expect((await rows.all()).filter(({ status }) => status === 'running').map(({ id }) => id)).toEqual(
        held,
      );
      await rival.query('ROLLBACK');
      await rival.end();
      await rows.reach('done', held);
      for (const id of held) expect(await rows.row(id)).toMatchObject({ result: 'ok', stdout: 'end\n' });
    });

    it('run-manual of a locked row: fetches go on, and it runs when it is free', async () => {
      const rows = await jobs.table(seedTable);
      const manual = await rows.add('echo out', { status: 'manual' });
      const daemon = await jobs.daemon({ ...rows.options({ low: 4 }), manualPatience: 60_000 });
      const rival = await holding(rows, [manual]);
      const asked = daemon.runManual([manual]);
      const times: number[] = [];
      for (let turn = 0; turn < 5; turn++) {
        const id = await rows.add();
        const begun = performance.now();
        daemon.poll();
        await rows.reach('done', [id]);
        times.push(performance.now() - begun);
      }
      // Waiting for the lock takes three seconds a time.
      expect(Math.min(...times.slice(1))).toBeLessThan(onThisMachine(2000));
      expect(times.filter((time) => time > 2500)).toEqual([]);
      await rival.query('ROLLBACK');
      await rival.end();
      expect((await asked).jobs.get(manual)).toMatchObject({ result: 'ok', stdout: 'out\n' });
    });

    it('a claimed row that is locked: other outcomes are settled meanwhile', async () => {
      const rows = await jobs.table(seedTable);
      const [held = 0, other = 0] = await rows.addMany(2);
      const source = jobd({ database: rows.url, table: rows.table, targets: ['low'], log: SILENT });
      await source.open(['low']);
      const claims = [await claimOne(source, 'low'), await claimOne(source, 'low')];
      const rival = await holding(rows, [held]);
      const settled = source.settle(claims.map((claim) => success(claim)));
      await rows.reach('done', [other], 30_000);
      await rival.query('ROLLBACK');
      await rival.end();
      await expect(settled).resolves.toEqual([]);
      await source.close();
    });
  });
});
