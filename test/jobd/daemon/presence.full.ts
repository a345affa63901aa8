import { afterEach, describe, expect, it } from '@jest/globals';
import type { DaemonOptions } from '../../../lib/jobd/daemon/daemon-options.js';
import type { JobdLog } from '../../../lib/jobd/vocabulary/log.js';
import { CutLine } from '../../support/cut-line.js';
import { seedTable, SILENT, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { eventually } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';

const HOLD = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';
/** Says so where another run of the job is under way. */
const ALONE = `for pid in $(cat "$dir/pids" 2>/dev/null); do kill -0 $pid 2>/dev/null && echo $id >> "$dir/overlaps"; done
  echo $$ >> "$dir/pids"`;

interface Logged extends JobdLog {
  readonly lines: string[];
}

function logged(): Logged {
  const lines: string[] = [];
  const add = (line: string) => void lines.push(line);
  return { ...SILENT, lines, warn: add, error: add };
}

describe('daemons that share a table', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  const lines: CutLine[] = [];
  afterEach(() => lines.splice(0).forEach((line) => line.close()));

  const beatOf = async (rows: JobRows, name: string) => {
    const found = await rows.execute(`SELECT beat FROM ${rows.table}_daemons WHERE name = '${name}'`);
    return Number((found as { beat: number }[])[0]?.beat ?? -1);
  };
  /** Resolves after so many leases, counted by the beats of a daemon that is not held up. */
  const leasesPass = async (rows: JobRows, name: string, leases: number) => {
    const beat = await beatOf(rows, name);
    await eventually(async () => expect(await beatOf(rows, name)).toBeGreaterThanOrEqual(beat + leases * 4), {
      timeout: 40_000,
      interval: 50,
    });
  };

  it('live through a lock on the table of jobs for longer than their lease', async () => {
    const rows = await jobs.table(seedTable);
    const [one, two] = [logged(), logged()];
    const [id = 0] = await rows.addMany(1, HOLD);
    const first = await jobs.daemon({ ...rows.options(), name: 'one', log: one });
    await jobs.daemon({ ...rows.options({ other: 1 }), name: 'two', log: two });
    await rows.reach('running', [id]);
    const rival = await jobs.server.connect();
    await rival.query(`LOCK TABLES ${rows.table} WRITE`);
    first.poll();
    await rows.put('go');
    await leasesPass(rows, 'two', 3);
    await rival.query('UNLOCK TABLES');
    await rival.end();
    await rows.reach('done', [id]);
    expect(await rows.row(id)).toMatchObject({ result: 'ok', stdout: 'end\n' });
    expect([...one.lines, ...two.lines].filter((line) => /dead|another daemon/.test(line))).toEqual([]);
  });

  describe.each(['here', 'elsewhere'] as const)(
    'one that is cut off for longer than its lease, %s',
    (place) => {
      /** Its row is taken from it while its process goes on, and waits for it again. */
      async function cutOff(orphans: 'fail' | 'requeue') {
        const rows = await jobs.table(seedTable);
        const line = await CutLine.to(jobs.server.port);
        lines.push(line);
        const log = logged();
        const database = rows.url.replace(`:${jobs.server.port}/`, `:${line.port}/`);
        const options: DaemonOptions = { ...rows.options({ low: 1 }), orphans, lease: 4000 };
        const [id = 0] = await rows.addMany(1, `${ALONE}; ${HOLD}`);
        const daemon = await jobs.daemon({ ...options, database, name: 'cut off', log });
        await eventually(async () => expect(await rows.history()).toHaveLength(1));
        if (place === 'elsewhere')
          await rows.execute(`UPDATE ${rows.table}_daemons SET machine = 'elsewhere' WHERE name = 'cut off'`);
        const others = { ...options, targets: new Map([['other', { concurrency: 1 }]]) };
        await jobs.daemon({ ...others, name: 'other' });
        line.cut();
        const taken = orphans === 'requeue' ? 'waiting' : 'done';
        await rows.reach(taken, [id], 30_000);
        line.mend();
        return { rows, daemon, id, log };
      }

      it('runs its row again as another run, when the first has ended: requeue', async () => {
        const { rows, daemon, id, log } = await cutOff('requeue');
        await eventually(async () => expect(await rows.history()).toHaveLength(2), { timeout: 30_000 });
        await rows.put('go');
        await rows.reach('done', [id]);
        expect(await rows.row(id)).toMatchObject({ result: 'ok', sig: null, stdout: 'end\n' });
        expect(await rows.content('overlaps')).toBe('');
        expect(await rows.history()).toEqual([id, id]);
        expect(daemon.status().targets['low']?.length).toBe(0);
        expect(log.lines).toContainEqual(expect.stringContaining('took this one for dead'));
        expect(log.lines.join('\n')).not.toContain('Duplicate');
        expect(await rows.owners()).toEqual([]);
      });

      it('leaves a row as the daemon that took it over wrote it: fail', async () => {
        const { rows, daemon, id } = await cutOff('fail');
        await eventually(() => expect(daemon.status().targets['low']?.length).toBe(0), { timeout: 30_000 });
        await rows.put('go');
        const row = {
          result: 'fail',
          sig: null,
          stdout: null,
          stderr: expect.stringContaining('died before'),
        };
        expect(await rows.row(id)).toMatchObject(row);
        expect(await rows.history()).toEqual([id]);
        const [next = 0] = await rows.addMany(1, 'echo next');
        daemon.poll();
        await rows.reach('done', [next]);
      });
    },
  );

  it('look for rows that a stopping daemon has released, or meant to begin later', async () => {
    const rows = await jobs.table();
    const log = logged();
    const leaving = await jobs.daemon({ ...rows.options({ low: 1 }), name: 'leaving' });
    const staying = await jobs.daemon({ ...rows.options({ low: 4 }), name: 'staying', log });
    await leasesPass(rows, 'staying', 1);
    const ids = await rows.addMany(4, HOLD);
    const soon = await rows.add('echo soon', { time_scheduled: Math.floor(Date.now() / 1000) + 4 });
    leaving.poll();
    await rows.reach('accepted', ids.slice(1));
    await rows.put('go');
    await leaving.stop();
    await rows.reach('done', [...ids, soon], 30_000);
    expect(staying.status().targets['low']?.length).toBe(0);
    expect(log.lines).toEqual([]);
  });

  it('find rows that a dead daemon was to begin later, even if it held none', async () => {
    const rows = await jobs.table(seedTable);
    await jobs.daemon({ ...rows.options(), name: 'alive' });
    await rows.execute(
      `INSERT INTO ${rows.table}_daemons (instance, name, machine, process, beat) VALUES ('x', 'dead', '', '', 7)`,
    );
    await leasesPass(rows, 'alive', 0.5);
    await rows.reach('done', [await rows.add()], 30_000);
  });

  it('release rows later that could not be released at once', async () => {
    const rows = await jobs.table(seedTable);
    const log = logged();
    const daemon = await jobs.daemon({ ...rows.options(), log });
    // No daemon takes it before the table is locked.
    const [id = 0] = await rows.addMany(1, 'exit 0', { status: 'manual' });
    const rival = await jobs.server.connect();
    await rival.query(`CREATE TRIGGER refusing BEFORE UPDATE ON ${rows.table} FOR EACH ROW
      IF OLD.status = 'accepted' AND NEW.status = 'waiting' THEN
        SIGNAL SQLSTATE '45000' SET message_text = 'not now'; END IF`);
    const held = () =>
      rows.execute("SELECT info FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'");
    for (let isFetch = false; !isFetch;) {
      await rival.query(`LOCK TABLES ${rows.table} WRITE`);
      await rival.query(`UPDATE ${rows.table} SET status = 'waiting'`);
      daemon.poll();
      await eventually(async () => expect((await held()).length).toBeGreaterThan(0));
      isFetch = JSON.stringify(await held()).includes('skip locked');
      // An earlier poll may look for what is left: this one begins when that has ended.
      if (!isFetch) {
        await rival.query(`UPDATE ${rows.table} SET status = 'manual'`);
        await rival.query('UNLOCK TABLES');
        await eventually(async () => expect(await held()).toEqual([]));
      }
    }
    daemon.removeTarget('low');
    await rival.query('UNLOCK TABLES');
    await eventually(
      () => expect(log.lines).toContainEqual(expect.stringContaining('could not be given back')),
      {
        timeout: 30_000,
      },
    );
    await rival.query('DROP TRIGGER refusing');
    await rival.end();
    await rows.reach('waiting', [id]);
    expect(await rows.owners()).toEqual([]);
  });

  it('go on when their entry was removed, and take care of the rows they held', async () => {
    const rows = await jobs.table(seedTable);
    const [id = 0] = await rows.addMany(1, `${ALONE}; ${HOLD}`);
    await jobs.daemon({ ...rows.options({ low: 1 }), orphans: 'requeue' });
    await eventually(async () => expect(await rows.history()).toHaveLength(1));
    await leasesPass(rows, await nameOf(rows), 0.5);
    await rows.execute(`DELETE FROM ${rows.table}_daemons`);
    // It is given back and begun again, perhaps between two looks.
    await eventually(async () => expect(await rows.history()).toHaveLength(2), { timeout: 30_000 });
    await rows.put('go');
    await rows.reach('done', [id]);
    expect(await rows.row(id)).toMatchObject({ result: 'ok' });
    expect(await rows.content('overlaps')).toBe('');
  });

  it('begin no more rows than their concurrency, even if a row comes back while its former run ends', async () => {
    const rows = await jobs.table(seedTable);
    const ends = 'until [ -e "$dir/ended" ]; do sleep 0.05; done';
    const [id = 0] = await rows.addMany(
      1,
      `[ -e "$dir/ended" ] || { trap '' TERM; ${ends}; exit; }; ${HOLD}`,
    );
    const options = { ...rows.options({ low: 2 }), orphans: 'requeue', killGrace: 60_000 } as const;
    const daemon = await jobs.daemon(options);
    await rows.reach('running', [id]);
    await rows.execute(`DELETE FROM ${rows.table}_daemons`);
    await rows.reach('accepted', [id], 30_000);
    await rows.put('ended');
    await eventually(async () => expect(await rows.history()).toHaveLength(1), { timeout: 30_000 });
    const others = await rows.addMany(2, HOLD);
    daemon.poll();
    const statuses = async () => (await rows.all()).map(({ status }) => status).sort();
    await eventually(async () => expect(await statuses()).not.toContain('waiting'), { timeout: 30_000 });
    await eventually(async () =>
      expect((await statuses()).filter((status) => status === 'running').length).toBeGreaterThanOrEqual(2),
    );
    expect(await statuses()).toEqual(['accepted', 'running', 'running']);
    await rows.put('go');
    await rows.reach('done', [id, ...others], 30_000);
  });

  it('look for rows that they accepted without getting the answer, once these are released', async () => {
    const rows = await jobs.table(seedTable);
    await jobs.daemon(rows.options());
    await rows.reach('done', [await strayOf(rows, 'accepted'), await strayOf(rows, 'running')], 30_000);
    expect(await rows.owners()).toEqual([]);
  });

  it('leave no row behind that they accepted without hearing of it', async () => {
    const rows = await jobs.table(seedTable);
    const daemon = await jobs.daemon({ ...rows.options(), lease: 600_000 });
    const ids = [await strayOf(rows, 'accepted'), await strayOf(rows, 'running')];
    await daemon.stop();
    expect((await rows.all()).map(({ id, status }) => [id, status])).toEqual(
      ids.map((id) => [id, 'waiting']),
    );
    expect(await rows.execute(`SELECT * FROM ${rows.table}_owners`)).toEqual([]);
  });

  it.each([
    ['fail', ['ok', 'fail']],
    ['requeue', ['ok', 'ok']],
  ] as const)('find rows of one that is entered nowhere when they start: %s', async (orphans, results) => {
    const rows = await jobs.table(seedTable);
    const first = await jobs.daemon(rows.options());
    await first.stop();
    const [accepted, running] = [
      await rows.add('', { status: 'accepted' }),
      await rows.add('', { status: 'running' }),
    ];
    const ended = await rows.add('', { status: 'done', result: 'ok' });
    await rows.execute(
      `INSERT INTO ${rows.table}_owners VALUES (${accepted}, 'x', 'waiting'), (${running}, 'x', 'waiting'), (${ended}, '-y', 'waiting')`,
    );
    await jobs.daemon({ ...rows.options(), orphans });
    await rows.reach('done', [accepted, running]);
    expect((await rows.all()).map(({ result }) => result)).toEqual([...results, 'ok']);
    await eventually(async () =>
      expect(await rows.execute(`SELECT * FROM ${rows.table}_owners`)).toHaveLength(0),
    );
  });

  it('clear an earlier attempt’s result in a row that fails with its daemon', async () => {
    const rows = await jobs.table(seedTable);
    const before = { return_code: 3, sig: 'SIGHUP', stdout: 'first run', stderr: 'first error' };
    const id = await rows.add('', { status: 'running', ...before });
    await jobs.daemon(rows.options());
    await rows.execute(`INSERT INTO ${rows.table}_owners VALUES (${id}, 'x', 'waiting')`);
    await rows.execute(`INSERT INTO ${rows.table}_daemons VALUES ('x', 'dead', '', '', 7)`);
    await rows.reach('done', [id], 30_000);
    const nothing = { return_code: null, sig: null, stdout: null };
    expect(await rows.row(id)).toMatchObject({ ...nothing, stderr: expect.stringContaining('died before') });
  });

  /** A row as the database has it when the reply to its acceptance was lost. */
  async function strayOf(rows: JobRows, status: 'accepted' | 'running'): Promise<number> {
    const id = await rows.add('', { status });
    await rows.execute(
      `INSERT INTO ${rows.table}_owners SELECT ${id}, instance, 'waiting' FROM ${rows.table}_daemons`,
    );
    return id;
  }

  async function nameOf(rows: JobRows): Promise<string> {
    const found = await rows.execute(`SELECT name FROM ${rows.table}_daemons`);
    return (found as { name: string }[])[0]?.name ?? '';
  }
});
