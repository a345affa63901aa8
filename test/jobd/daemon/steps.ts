import { describe, expect, it } from '@jest/globals';
import type { SqlServer } from '../../support/job-rows.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { until } from '../../support/until.js';

/** The tests that all databases have in common. */
export function stepsContract(name: string, start: () => Promise<SqlServer>): void {
  describe(`the daemon on ${name}`, () => {
    const jobs = useJobTables(start);

    it('refuses a missing table, and says how to create it', async () => {
      const rows = await jobs.table();
      const starting = jobs.daemon({ ...rows.options(), table: 'nowhere' });
      await expect(starting).rejects.toMatchObject({
        code: 'JOBD_DATABASE_SETUP',
        message: expect.stringContaining("'nowhere' doesn't exist. Create it with --init"),
      });
    });

    it('refuses a table that lacks a column, and names it', async () => {
      const rows = await jobs.table((table) => `CREATE TABLE ${table} (id integer, target varchar(9))`);
      await expect(jobs.daemon(rows.options())).rejects.toThrow("has no column 'time_created'");
    });

    it('runs waiting rows until they are done, with their processes’ output', async () => {
      const rows = await jobs.table();
      const id = await rows.add('echo "out ❤ 😀 $id"; echo err >&2');
      const failing = await rows.add('echo no >&2; exit 3');
      await jobs.daemon(rows.options());
      await rows.reach('done', [id, failing]);
      const row = await rows.row(id);
      const output = { stdout: `out ❤ 😀 ${id}\n`, stderr: 'err\n' };
      expect(row).toMatchObject({ result: 'ok', return_code: 0, sig: null, ...output });
      expect(row.time_started).toBeGreaterThan(1_700_000_000);
      expect(row.time_finished).toBeGreaterThanOrEqual(row.time_started);
      const failed = { result: 'fail', return_code: 3, sig: null, stdout: '', stderr: 'no\n' };
      expect(await rows.row(failing)).toMatchObject(failed);
      expect(await rows.owners()).toEqual([]);
    });

    it('has the status accepted, then running without a result while the process runs', async () => {
      const rows = await jobs.table();
      const [running = 0, queued = 0] = await rows.addMany(2, 'until [ -e "$dir/go" ]; do sleep 0.05; done');
      const daemon = await jobs.daemon(rows.options({ low: 1 }));
      await rows.reach('running', [running]);
      const begun = { result: null, time_finished: 0, return_code: null, stdout: null };
      expect(await rows.row(running)).toMatchObject(begun);
      expect(await rows.row(queued)).toMatchObject({ status: 'accepted', time_started: 0 });
      expect(daemon.status().targets).toEqual({ low: { paused: false, concurrency: 1, length: 2 } });
      await rows.execute('select 1');
      await until(() => daemon.sendSignal(new Map([[running, 'SIGKILL']])).get(running));
      await rows.reach('done', [running]);
      await rows.reach('running', [queued]);
      expect(await rows.row(running)).toMatchObject({ result: 'fail', return_code: null, sig: 'SIGKILL' });
    });

    it('keeps binary output and NUL characters readable', async () => {
      const rows = await jobs.table();
      const id = await rows.add(String.raw`printf 'a\0b\377\n'`);
      await jobs.daemon(rows.options());
      await rows.reach('done', [id]);
      expect((await rows.row(id)).stdout).toMatch(/^a(\0|\uFFFD)b\uFFFD\n$/);
    });

    it('runs manual rows for the client that asks, and leaves others as they are', async () => {
      const rows = await jobs.table();
      const [one = 0, two = 0] = await rows.addMany(2, 'echo out $id; exit $(( id % 2 ))', {
        status: 'manual',
      });
      const done = await rows.add('', { status: 'done', target: 'elsewhere' });
      const waiting = await rows.add('', { target: 'elsewhere' });
      const unserved = await rows.add('', { target: 'elsewhere', status: 'manual' });
      const daemon = await jobs.daemon(rows.options());
      const results = await daemon.runManual([one, two, done, waiting, unserved, 777, one]);
      expect([...results.jobs.keys()]).toEqual([one, two]);
      const ended = { code: one % 2, signal: null, stdout: `out ${one}\n`, stderr: '' };
      expect(results.jobs.get(one)).toEqual({ result: one % 2 ? 'fail' : 'ok', ...ended });
      expect(Object.fromEntries(results.errors)).toEqual({
        [done]: 'status = done != manual',
        [waiting]: 'status = waiting != manual',
        [unserved]: `target 'elsewhere' not found (job id=${unserved})`,
        777: 'job 777 not found',
      });
      expect(await rows.statuses()).toEqual(['done', 'done', 'done', 'waiting', 'ignored']);
      expect(daemon.status().jobPromisesCount).toBe(0);
    });

    it.each([
      ['done', 'low', 'status = done != manual', 'done'],
      ['waiting', 'elsewhere', 'status = waiting != manual', 'waiting'],
      ['manual', 'elsewhere', "target 'elsewhere' not found (job id=1)", 'ignored'],
      ['manual', 'LOW', "target 'LOW' not found (job id=1)", 'ignored'],
    ] as const)(
      'says why a %s row of %s, asked for alone, is not run',
      async (status, target, why, after) => {
        const rows = await jobs.table();
        const id = await rows.add('', { status, target });
        const daemon = await jobs.daemon(rows.options());
        const results = await daemon.runManual([id]);
        expect(results).toEqual({ jobs: new Map(), errors: new Map([[id, why]]) });
        expect(await rows.row(id)).toMatchObject({ status: after, time_started: 0 });
        expect(await rows.owners()).toEqual([]);
      },
    );

    it('begins a manual row of any target, and counts one attempt', async () => {
      const rows = await jobs.table();
      const id = await rows.add('echo out', { status: 'manual', target: 'other' });
      const daemon = await jobs.daemon(rows.options({ low: 1, other: 1, more: 1 }));
      expect((await daemon.runManual([id])).jobs.get(id)).toMatchObject({ result: 'ok', stdout: 'out\n' });
      expect(await rows.row(id)).toMatchObject({ status: 'done', result: 'ok', attempts: 1 });
      const idle = { paused: false, concurrency: 1, length: 0 };
      expect(daemon.status().targets).toEqual({ low: idle, other: idle, more: idle });
    });

    it('begins a manual row when its target has room again', async () => {
      const rows = await jobs.table();
      const id = await rows.add('echo out', { status: 'manual' });
      const daemon = await jobs.daemon(rows.options({ low: 1, other: 1 }));
      daemon.pause(['low']);
      const asked = daemon.runManual([id]);
      await rows.reach('accepted', [id]);
      expect(daemon.status().targets['low']).toEqual({ paused: true, concurrency: 1, length: 1 });
      daemon.continue();
      expect((await asked).jobs.get(id)).toMatchObject({ result: 'ok', stdout: 'out\n' });
    });

    it('keeps the slot of a running job when a client runs it manually', async () => {
      const rows = await jobs.table();
      const ids = await rows.addMany(2, 'until [ -e "$dir/go" ]; do sleep 0.05; done');
      const [running = 0, queued = 0] = ids;
      const daemon = await jobs.daemon(rows.options({ low: 1 }));
      await rows.reach('running', [running]);
      await rows.reach('accepted', [queued]);
      const { errors } = await daemon.runManual([running]);
      expect(errors).toEqual(new Map([[running, 'status = running != manual']]));
      expect(daemon.status().targets).toEqual({ low: { paused: false, concurrency: 1, length: 2 } });
      expect(await rows.statuses()).toEqual(['running', 'accepted']);
      await rows.put('go');
      await rows.reach('done', ids);
    });

    it('shares a table among daemons: each row runs once', async () => {
      const rows = await jobs.table();
      const ids = await rows.addMany(60, 'echo $id >> $dir/history', { target: 'low' });
      const options = { ...rows.options({ low: 4 }), fetchLimit: 7 };
      const daemons = await Promise.all([1, 2, 3].map((n) => jobs.daemon({ ...options, name: `d${n}` })));
      for (const daemon of daemons) daemon.poll();
      await rows.reach('done', ids);
      expect((await rows.history()).sort((a, b) => a - b)).toEqual(ids);
    });

    it('fetches up to its limit at once, and all rows in the end; 0 is no limit', async () => {
      const rows = await jobs.table();
      const hold = 'until [ -e "$dir/go" ]; do sleep 0.05; done';
      const ids = await rows.addMany(5, hold);
      const others = await rows.addMany(5, hold, { target: 'all' });
      await jobs.daemon({ ...rows.options({ low: 1 }), fetchLimit: 2 });
      await jobs.daemon({ ...rows.options({ all: 1 }), fetchLimit: 0 });
      await rows.reach('running', ids.slice(0, 1));
      await rows.reach('running', others.slice(0, 1));
      const statuses = await rows.statuses();
      expect(statuses.slice(0, 5)).toEqual(['running', 'accepted', 'waiting', 'waiting', 'waiting']);
      expect(statuses.slice(5)).toEqual(['running', 'accepted', 'accepted', 'accepted', 'accepted']);
      await rows.put('go');
      await rows.reach('done', [...ids, ...others]);
    });

    it('begins a row at its time, tries a failed one again, and limits how long one runs', async () => {
      const rows = await jobs.table();
      const soon = Math.floor(Date.now() / 1000) + 2;
      const later = await rows.add('echo $(date +%s)', { time_scheduled: soon });
      const flaky = await rows.add('test -e "$dir/tried" && exit 0; touch "$dir/tried"; exit 1', {
        max_attempts: 3,
      });
      const hopeless = await rows.add('echo $id >> $dir/history; exit 9', { max_attempts: 3 });
      const slow = await rows.add('echo before; sleep 60', { timeout: 1 });
      const daemon = await jobs.daemon({
        ...rows.options(),
        targets: new Map([['low', { concurrency: 4, retry: { delay: 10, backoff: 'fixed' } }]]),
      });
      daemon.poll();
      await rows.reach('done', [later, flaky, hopeless, slow]);
      const row = await rows.row(later);
      expect(Number(row.stdout)).toBeGreaterThanOrEqual(soon);
      expect(await rows.row(flaky)).toMatchObject({ result: 'ok', attempts: 2, stdout: '' });
      expect(await rows.row(hopeless)).toMatchObject({ result: 'fail', return_code: 9, attempts: 3 });
      expect(await rows.history()).toEqual([hopeless, hopeless, hopeless]);
      expect(await rows.row(slow)).toMatchObject({
        result: 'fail',
        sig: 'SIGTERM',
        stdout: 'before\n',
        stderr: '[jobd: timed out after 1 s]\n',
        attempts: 1,
      });
    });

    it('drains: rows that have not begun wait again, running ones finish', async () => {
      const rows = await jobs.table();
      const [running = 0, queued = 0] = await rows.addMany(
        2,
        'until [ -e "$dir/go" ]; do sleep 0.05; done; echo end',
      );
      const manual = await rows.add('', { status: 'manual' });
      const daemon = await jobs.daemon(rows.options({ low: 1 }));
      await rows.reach('running', [running]);
      const asked = daemon.runManual([manual]);
      await rows.reach('accepted', [queued, manual]);
      const stopped = daemon.stop({ timeout: 20_000 });
      await rows.reach('waiting', [queued]);
      await rows.reach('manual', [manual]);
      expect([...(await asked).errors]).toEqual([[manual, 'the daemon is shutting down']]);
      await rows.put('go');
      await stopped;
      expect(await rows.row(running)).toMatchObject({ status: 'done', result: 'ok', stdout: 'end\n' });
      expect(await rows.owners()).toEqual([]);
    });
  });
}
