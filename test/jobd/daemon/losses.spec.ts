import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { DaemonOptions } from '../../../lib/jobd/daemon/daemon-options.js';
import { seedTable, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { eventually, until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';

const HOLD = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';

/** A zombie, whom nobody has fetched yet, runs no more. */
function isRunning(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !readFileSync(stat, 'utf8').includes(') Z ');
}

/** A row for each that the original left in the lurch. */
describe('what the original loses, the daemon does not', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  stopProgramsAfterEach();
  afterEach(() => jobs.server.restartIfDown());

  const inProcess = (options: DaemonOptions) =>
    Program.start('test/support/jobd-program.mjs', { ...options, targets: [...options.targets] });

  describe.each([
    ['that hears of ends by their output', (options: DaemonOptions) => jobs.daemon(options)],
    ['that is signalled of ends', (options: DaemonOptions) => inProcess(options)],
  ])('a daemon %s', (_, start) => {
    it('short jobs that print, side by side', async () => {
      const rows = await jobs.table(seedTable);
      const ids = await rows.addMany(100, 'echo "out $id"; echo "err $id" >&2');
      await start(rows.options({ low: 4 }));
      await rows.reach('done', ids);
      for (const row of await rows.all())
        expect(row).toMatchObject({ result: 'ok', stdout: `out ${row.id}\n`, stderr: `err ${row.id}\n` });
    });

    it('short jobs that print more than a pipe holds, and what their children say in time', async () => {
      const rows = await jobs.table(seedTable);
      const ids = await rows.addMany(
        10,
        "head -c 200000 /dev/zero | tr '\\0' y; { sleep 0.2; echo late >&2; } &",
      );
      await start(rows.options({ low: 4 }));
      await rows.reach('done', ids);
      for (const row of await rows.all())
        expect(row).toMatchObject({ result: 'ok', stdout: 'y'.repeat(200_000), stderr: 'late\n' });
    });
  });

  it('20 MB of output: it is cut at the limit, and says so', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add("head -c 20000000 /dev/zero | tr '\\0' x");
    await jobs.daemon({ ...rows.options(), maxOutputBuffer: 100_000 });
    await rows.reach('done', [id]);
    const { stdout } = await rows.row(id);
    expect(stdout?.length).toBeLessThanOrEqual(100_000);
    expect(stdout).toMatch(/^x{99000,}\n\[jobd: \d{8} more bytes of output left out\]\n$/);
  });

  it('output that is larger than what the server takes at once', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add("head -c 20000000 /dev/zero | tr '\\0' \"'\"");
    await jobs.daemon({ ...rows.options(), maxOutputBuffer: 40_000_000 });
    await rows.reach('done', [id]);
    expect((await rows.row(id)).stdout?.slice(-100)).toMatch(
      /'{9}\n\[jobd: \d+ more bytes of output left out\]\n$/,
    );
  });

  it('an emoji in a table of utf8mb3', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add('echo "ü € 😀"');
    const other = await rows.add('echo other');
    await jobs.daemon(rows.options());
    await rows.reach('done', [id, other]);
    expect(await rows.row(id)).toMatchObject({ result: 'ok', stdout: 'ü € \uFFFD\n' });
    expect(await rows.row(other)).toMatchObject({ stdout: 'other\n' });
  });

  it('output in a table whose columns hold hardly any', async () => {
    const rows = await jobs.table((name) =>
      seedTable(name).replaceAll('mediumtext', 'varchar(255) CHARACTER SET latin1'),
    );
    const id = await rows.add("echo '😀 ü'; head -c 100000 /dev/zero | tr '\\0' x");
    await jobs.daemon(rows.options());
    await rows.reach('done', [id]);
    expect((await rows.row(id)).stdout).toMatch(/^\? \?\nx+\n\[jobd: \d+ more bytes of output left out\]\n$/);
  });

  describe('SIGKILL with 2 running and 3 accepted', () => {
    async function killed(orphans: 'requeue' | 'fail'): Promise<{ rows: JobRows; ids: number[] }> {
      const rows = await jobs.table(seedTable);
      const ids = await rows.addMany(5, HOLD);
      const options = { ...rows.options({ low: 2 }), orphans };
      const daemon = await inProcess(options);
      await rows.reach('running', ids.slice(0, 2));
      await rows.reach('accepted', ids.slice(2));
      await eventually(async () => expect(await rows.history()).toHaveLength(2));
      await daemon.kill();
      expect(await rows.statuses()).toEqual(['running', 'running', 'accepted', 'accepted', 'accepted']);
      await jobs.daemon(options);
      return { rows, ids };
    }

    it('the next daemon fails what ran, ends its processes, and runs the rest', async () => {
      const { rows, ids } = await killed('fail');
      await eventually(async () => expect(await rows.history()).toHaveLength(4));
      await rows.put('go');
      await rows.reach('done', ids);
      const all = await rows.all();
      expect(all.map(({ result }) => result)).toEqual(['fail', 'fail', 'ok', 'ok', 'ok']);
      expect(all[0]?.stderr).toContain('died before the job ended');
      expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
    });

    it('or runs it again, where the policy says so', async () => {
      const { rows, ids } = await killed('requeue');
      await eventually(async () => expect(await rows.history()).toHaveLength(4));
      await rows.put('go');
      await rows.reach('done', ids);
      expect((await rows.all()).every(({ result, stdout }) => result === 'ok' && stdout === 'end\n')).toBe(
        true,
      );
      const [one = 0, two = 0, ...rest] = ids;
      const expected = [one, one, two, two, ...rest];
      expect((await rows.history()).sort((a, b) => a - b)).toEqual(expected);
    });
  });

  it('a daemon of which nobody can know whether it lives: its rows are taken after the lease', async () => {
    const rows = await jobs.table(seedTable);
    const [id = 0] = await rows.addMany(1, HOLD);
    const options = { ...rows.options({ low: 1 }), orphans: 'requeue' as const, lease: 1000 };
    const lost = await inProcess({ ...options, name: 'lost' });
    await rows.reach('running', [id]);
    await rows.execute(`UPDATE ${rows.table}_daemons SET machine = 'elsewhere'`);
    await jobs.daemon(options);
    expect(await rows.statuses()).toEqual(['running']);
    lost.signal('SIGSTOP');
    await eventually(async () => expect(await rows.history()).toHaveLength(2));
    lost.signal('SIGCONT');
    await rows.put('go');
    await rows.reach('done', [id]);
    const refused = () =>
      lost.all('log').some(({ message }) => /is not written|another daemon/.test(`${message}`));
    await until(refused);
    expect(await rows.row(id)).toMatchObject({ result: 'ok', stdout: 'end\n' });
  });

  it('SIGTERM with 2 running and 3 accepted', async () => {
    const rows = await jobs.table(seedTable);
    const ids = await rows.addMany(5, `${HOLD}; trap '' TERM`);
    const daemon = await inProcess({ ...rows.options({ low: 2 }), drainTimeout: 20_000 });
    await rows.reach('running', ids.slice(0, 2));
    daemon.signal('SIGTERM');
    await rows.reach('waiting', ids.slice(2));
    expect(await rows.statuses()).toEqual(['running', 'running', 'waiting', 'waiting', 'waiting']);
    await rows.put('go');
    await expect(daemon.ended()).resolves.toMatchObject({ code: 0 });
    expect((await rows.all()).slice(0, 2).map(({ result }) => result)).toEqual(['ok', 'ok']);
    expect(await rows.owners()).toEqual([]);
  });

  it('SIGTERM with jobs that do not end: TERM, then KILL, to their children too', async () => {
    const rows = await jobs.table(seedTable);
    const yielding = await rows.add('trap "echo bye; exit 1" TERM; while :; do sleep 0.05; done');
    const stubborn = await rows.add(
      'sh -c "trap : TERM; while :; do sleep 0.05; done" & echo $!; wait; wait',
    );
    const daemon = await inProcess({ ...rows.options({ low: 2 }), drainTimeout: 100, killGrace: 300 });
    await rows.reach('running', [yielding, stubborn]);
    daemon.signal('SIGTERM');
    await expect(daemon.ended()).resolves.toMatchObject({ code: 0 });
    const because = expect.stringMatching(/\[jobd: the daemon shut down\]\n$/);
    expect(await rows.row(yielding)).toMatchObject({ status: 'done', stdout: 'bye\n', stderr: because });
    const { stdout, ...row } = await rows.row(stubborn);
    expect(row).toMatchObject({ status: 'done', result: 'fail' });
    expect(isRunning(Number(stdout))).toBe(false);
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)('the database gone by %s while jobs end', async (signal) => {
    const rows = await jobs.table(seedTable);
    const ids = await rows.addMany(5, HOLD);
    await jobs.daemon(rows.options({ low: 2 }));
    await rows.reach('running', ids.slice(0, 2));
    await eventually(async () => expect(await rows.history()).toHaveLength(2));
    await jobs.server.kill(signal);
    await rows.put('go');
    await jobs.server.restart();
    await rows.reach('done', ids);
    expect((await rows.all()).every(({ result, stdout }) => result === 'ok' && stdout === 'end\n')).toBe(
      true,
    );
    expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
  });

  it('polls during an outage', async () => {
    const rows = await jobs.table(seedTable);
    const daemon = await jobs.daemon(rows.options());
    const id = await rows.add();
    await jobs.server.kill();
    daemon.poll(['low']);
    await jobs.server.restart();
    await rows.reach('done', [id]);
  });

  it('rows that were added while nobody polled: an outage ends with a poll', async () => {
    const rows = await jobs.table(seedTable);
    const daemon = await jobs.daemon(rows.options({ low: 1, other: 1 }));
    const id = await rows.add('', { target: 'other' });
    await jobs.server.kill();
    daemon.poll(['low']);
    await jobs.server.restart();
    await rows.reach('done', [id]);
  });

  it('run-manual during an outage: an error, and the id is free again', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add('echo out', { status: 'manual' });
    const daemon = await jobs.daemon({ ...rows.options(), manualPatience: 200 });
    await jobs.server.kill();
    await expect(daemon.runManual([id])).rejects.toMatchObject({ code: 'JOBD_DATABASE' });
    expect(daemon.status().jobPromisesCount).toBe(0);
    await jobs.server.restart();
    // On a slow machine the patience ends once more, and what was accepted too late is yet to be given back.
    const run = async () => (await daemon.runManual([id]).catch(() => undefined))?.jobs.get(id);
    expect(await until(run)).toMatchObject({ result: 'ok', stdout: 'out\n' });
  });

  it('run-manual of an id that somebody waits for: refused, and the first one is served', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add(HOLD, { status: 'manual' });
    const daemon = await jobs.daemon(rows.options());
    const first = daemon.runManual([id]);
    const refusal = `another client is already waiting for job ${id}`;
    await expect(daemon.runManual([id + 1, id])).rejects.toThrow(refusal);
    expect(daemon.status().jobPromisesCount).toBe(1);
    await rows.put('go');
    expect((await first).jobs.get(id)).toMatchObject({ result: 'ok' });
  });

  it('a deadlock in the middle of a write', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add(HOLD);
    await jobs.daemon(rows.options());
    await rows.reach('running', [id]);
    const rival = await jobs.server.connect();
    await rival.query(`CREATE TABLE ${rows.table}_heavy AS SELECT seq FROM seq_1_to_5000`);
    await rival.query('BEGIN');
    // The lighter of two is the victim.
    await rival.query(`UPDATE ${rows.table}_heavy SET seq = seq + 1`);
    await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [id]);
    await rows.put('go');
    // Not from innodb_trx: it is not brought up to date while somebody keeps asking.
    const waiting =
      "SELECT 1 FROM information_schema.global_status WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS' AND variable_value > 0";
    await eventually(async () => expect((await rows.execute(waiting)).length).toBeGreaterThan(0));
    await rival.query(`SELECT job_id FROM ${rows.table}_owners WHERE job_id = ? FOR UPDATE`, [id]);
    await rival.query('COMMIT');
    await rival.end();
    await rows.reach('done', [id]);
    const deadlocks =
      "SELECT 1 FROM information_schema.global_status WHERE variable_name = 'INNODB_DEADLOCKS' AND variable_value > 0";
    expect(await rows.execute(deadlocks)).toHaveLength(1);
  });

  it('a row that somebody has locked: the others are begun and ended meanwhile', async () => {
    const rows = await jobs.table(seedTable);
    const held = await rows.add(HOLD);
    const daemon = await jobs.daemon(rows.options({ low: 1, high: 1 }));
    await rows.reach('running', [held]);
    const rival = await jobs.server.connect();
    await rival.query('BEGIN');
    await rival.query(`SELECT id FROM ${rows.table} WHERE id = ? FOR UPDATE`, [held]);
    await rows.put('go');
    const others = [...(await rows.addMany(3)), ...(await rows.addMany(3, 'exit 1', { target: 'high' }))];
    daemon.poll();
    await rows.reach('done', others);
    expect(await rows.row(held)).toMatchObject({ status: 'running' });
    await rival.query('ROLLBACK');
    await rival.end();
    await rows.reach('done', [held]);
  });

  it('connections that break at any moment, commits included', async () => {
    const rows = await jobs.table(seedTable);
    const ids = await rows.addMany(30, 'echo $id >> "$dir/history"');
    const options = { ...rows.options({ low: 3 }), fetchLimit: 5, lease: 30_000 };
    const daemons = await Promise.all([jobs.daemon(options), jobs.daemon(options)]);
    const killer = await jobs.server.connect();
    const others =
      "SELECT id FROM information_schema.processlist WHERE id != connection_id() AND user = 'root'";
    await until(
      async () => {
        const [connections] = await killer.query(others);
        for (const { id } of connections as { id: number }[])
          await killer.query(`KILL CONNECTION ${id}`).catch(() => undefined);
        return (await rows.history()).length >= ids.length;
      },
      { timeout: 25_000 },
    );
    await killer.end();
    for (const daemon of daemons) daemon.poll();
    await rows.reach('done', ids);
    expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
  });

  it('a row that falls due is begun though another of its poll was polled again meanwhile', async () => {
    const rows = await jobs.table();
    const soon = Math.floor(Date.now() / 1000) + 2;
    const daemon = await jobs.daemon(rows.options({ a: 1, b: 1 }));
    const id = await rows.add('', { target: 'b', time_scheduled: soon });
    daemon.poll();
    daemon.poll(['a']);
    await rows.reach('done', [id]);
  });

  it('pause, then a poll: nothing runs before continue', async () => {
    const rows = await jobs.table(seedTable);
    const first = await rows.add();
    const daemon = await jobs.daemon(rows.options({ low: 1, high: 1 }));
    // The poll of the start is over then.
    await rows.reach('done', [first]);
    daemon.pause(['low']);
    const [id = 0, other = 0] = [await rows.add(), await rows.add('', { target: 'high' })];
    daemon.poll();
    await rows.reach('done', [other]);
    expect(await rows.row(id)).toMatchObject({ status: 'waiting' });
    expect(daemon.status().targets).toMatchObject({ low: { paused: true }, high: { paused: false } });
    daemon.continue(['low']);
    await rows.reach('done', [id]);
  });

  it('pause with jobs accepted already: they stay so', async () => {
    const rows = await jobs.table(seedTable);
    const [first = 0, second = 0] = await rows.addMany(2, HOLD);
    const daemon = await jobs.daemon(rows.options({ low: 1 }));
    await rows.reach('running', [first]);
    daemon.pause();
    daemon.poll();
    await rows.put('go');
    await rows.reach('done', [first]);
    expect(await rows.row(second)).toMatchObject({ status: 'accepted' });
    daemon.continue();
    await rows.reach('done', [second]);
  });

  it('targets named like what every object has', async () => {
    const rows = await jobs.table(seedTable);
    const ids = [await rows.add('', { target: 'constructor' }), await rows.add('', { target: '__proto__' })];
    const daemon = await jobs.daemon(rows.options({ constructor: 1 }));
    daemon.addTarget('__proto__', 1);
    daemon.pause(['constructor']);
    daemon.continue(['constructor']);
    await rows.reach('done', ids);
    expect(Object.keys(daemon.status().targets)).toEqual(['constructor', '__proto__']);
    expect(() => daemon.addTarget('constructor', 1)).toThrow("target 'constructor' already added");
    daemon.removeTarget('constructor');
    expect(daemon.targets()).toEqual(['__proto__']);
  });
});
