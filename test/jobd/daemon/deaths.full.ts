import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { DaemonOptions } from '../../../lib/jobd/daemon/daemon-options.js';
import { seedTable, type JobRows } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { eventually, until } from '../../support/until.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';

const HOLD = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';

/** A zombie no longer runs, though its parent has not collected it yet. */
function isRunning(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !readFileSync(stat, 'utf8').includes(') Z ');
}

describe('a daemon', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  stopProgramsAfterEach();

  const inProcess = (options: DaemonOptions) =>
    Program.start('test/support/jobd-program.mjs', { ...options, targets: [...options.targets] });

  describe('that is killed with 2 rows running and 3 accepted', () => {
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

    it('has its running rows failed by the next one, which ends their processes and runs the rest', async () => {
      const { rows, ids } = await killed('fail');
      await eventually(async () => expect(await rows.history()).toHaveLength(4));
      await rows.put('go');
      await rows.reach('done', ids);
      const all = await rows.all();
      expect(all.map(({ result }) => result)).toEqual(['fail', 'fail', 'ok', 'ok', 'ok']);
      expect(all[0]?.stderr).toContain('died before the job ended');
      expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
    });

    it('has the next one run them again, if the policy is to requeue', async () => {
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

  it('that does not beat, and may live or not, loses its rows after the lease', async () => {
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

  it('that gets SIGTERM releases accepted rows, and waits for running ones', async () => {
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

  it('that gets SIGTERM ends jobs that go on by TERM, then by KILL, their children too', async () => {
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
});
