import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { defineJob } from '../../lib/job/job-definition.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { killProcesses } from '../support/test-process.js';
import { eventually, until } from '../support/until.js';
import { GearMonkeyProcess, runGearMonkey, valuesOf } from './gearmonkey-process.js';
import { useTerminal } from './terminal.js';
import { inFullTier } from '../support/tier.js';

const ESCAPE = '\u001b';
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

describe('gearmonkey', () => {
  const rig = useGearMonkey();
  const terminals = useTerminal();
  afterEach(killProcesses);

  const ask = (...args: string[]) => runGearMonkey(args, { environment: { REDIS_URL: rig.url } });
  const subscribed = (fn: string) =>
    eventually(async () => {
      await expect(rig.redis.pubsub('NUMSUB', `channel:${fn}`)).resolves.toEqual([`channel:${fn}`, 1]);
    });

  it('enqueues a job with options, and shows it', async () => {
    const fn = rig.fn();
    const options = ['--delay', '1h', '--attempts', '3', '--header', 'tenant=a=b', '--unique', 'key'];
    await expect(ask('run', fn, '{"path":"a.jpg"}', ...options)).resolves.toEqual({
      code: 0,
      stdout: '1\n',
      stderr: '',
    });
    const again = await ask('run', fn, 'null', '--unique', 'key', '--json');
    expect(valuesOf(again)).toEqual([{ fn, id: '1', created: false }]);
    const shown = await ask('get', fn, '1');
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toContain('input      {"path":"a.jpg"}\n');
    expect(shown.stdout).toContain('headers    {"tenant":"a=b"}\n');
    expect(valuesOf(await ask('get', fn, '1', '--json'))).toEqual([
      expect.objectContaining({ id: '1', state: 'scheduled', input: { path: 'a.jpg' } }),
    ]);
  });

  inFullTier(() => {
    it('says why a job that it waits for does not begin', async () => {
      const fn = rig.fn();
      const late = await ask('run', fn, '1', '--wait', '--timeout', '1s');
      expect(late.code).toBe(1);
      expect(late.stderr).toContain(`it waits, and no worker of "${fn}" is registered`);
    });

    it('waits for a job, and exits with 0 for its output and with 2 for its error', async () => {
      const fn = rig.fn();
      await runWorker(rig.source(), fn, (input) => {
        if (input === 'bad') throw new Error(`no ${ESCAPE}[31mgood`);
        return `done ${input}${ESCAPE}[2J\u009b\u202e`;
      });
      const good = await ask('run', fn, '"x"', '--wait', '--timeout', '10m');
      expect(good).toEqual({ code: 0, stdout: 'done x\\u001b[2J\\u009b\\u202e\n', stderr: '' });
      const bad = await ask('run', fn, '"bad"', '--wait');
      expect(bad).toEqual({ code: 2, stdout: '', stderr: 'Error: no \\u001b[31mgood\n' });
      const both = await ask('run', fn, '"bad"', '--wait', '--json');
      expect(both).toMatchObject({ code: 2, stderr: '' });
      expect(valuesOf(both)).toEqual([expect.objectContaining({ state: 'failed' })]);
    });

    it('calls a function with the input of stdin, as JSON or as it is', async () => {
      const fn = rig.fn();
      await runWorker(rig.source(), fn, (input) => {
        if (input === 'bad') throw new Error('no good');
        return { was: input };
      });
      const environment = { REDIS_URL: rig.url };
      const json = await runGearMonkey(['call', fn, '-'], { input: '{"a":1}\n', environment });
      expect(json).toEqual({ code: 0, stdout: '{"was":{"a":1}}\n', stderr: '' });
      const text = ['call', fn, '-', '--codec', 'text', '--json'];
      const plain = await runGearMonkey(text, { input: 'two words', environment });
      expect(valuesOf(plain)).toEqual(['{"was":"two words"}']);
      const bad = await ask('call', fn, '"bad"', '--json');
      expect(bad).toMatchObject({ code: 2, stdout: '' });
      expect(JSON.parse(bad.stderr)).toEqual({
        error: { code: 'JOB_FAILED', message: expect.stringContaining('no good') },
      });
    });

    it('prints a job at each change', async () => {
      const fn = rig.fn();
      const { id } = await rig.client.run(fn, 1);
      const watch = new GearMonkeyProcess(['watch', fn, id, '--json', '--redis', rig.url]);
      await watch.shows(() => watch.stdout.includes('"waiting"'), 'the waiting job');
      await rig.client.cancel(fn, id);
      const ended = await watch.ended();
      expect(ended.code).toBe(2);
      expect(valuesOf(ended).at(-1)).toMatchObject({ state: 'cancelled', error: { code: 'JOB_CANCELLED' } });
    });

    it('prints events until the count, ctrl-c or a closed pipe', async () => {
      const fn = rig.fn();
      const counted = new GearMonkeyProcess(['events', fn, '--count', '1', '--json', '--redis', rig.url]);
      await subscribed(fn);
      await rig.client.run(fn, 1);
      expect(valuesOf(await counted.ended())).toEqual([{ type: 'create', fn, id: '1' }]);

      const other = rig.fn();
      const endless = new GearMonkeyProcess(['events', other, '--progress', '--redis', rig.url]);
      await subscribed(other);
      endless.signal('SIGINT');
      await expect(endless.ended()).resolves.toEqual({ code: 0, stdout: '', stderr: '' });

      const third = rig.fn();
      const left = new GearMonkeyProcess(['events', third, '--redis', rig.url]);
      await subscribed(third);
      left.leave();
      const events = async () => {
        await rig.client.run(third, 1);
        return left.hasEnded;
      };
      await until(events, { interval: 50, message: 'The program did not end with its pipe' });
      await expect(left.ended()).resolves.toMatchObject({ code: 0, stderr: '' });
    });

    it('leaves a call at ctrl-c, with the code of the signal', async () => {
      const fn = rig.fn();
      const call = new GearMonkeyProcess(['call', fn, '1', '--redis', rig.url]);
      await until(() => rig.redis.exists(`job:${fn}:1`));
      call.signal('SIGINT');
      await expect(call.ended()).resolves.toEqual({ code: 130, stdout: '', stderr: '' });
      await expect(rig.client.get(fn, '1')).resolves.toMatchObject({ state: 'waiting' });
    });

    it('serves the dashboard until ctrl-c, though a browser has opened a connection and not used it', async () => {
      const program = new GearMonkeyProcess(['dashboard', '--port', '0', '--redis', rig.url]);
      const address = () => /The dashboard is at (\S+)/.exec(program.stdout)?.[1];
      const url = await program.shows(address, 'where it is');
      const opened = await fetch(url, { redirect: 'manual' });
      const headers = { cookie: opened.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
      const page = new URL('.', url);
      await expect((await fetch(page, { headers })).text()).resolves.toContain('<div id="app">');
      expect((await fetch(page)).status).toBe(401);
      const body = JSON.stringify({ action: 'pause', fn: rig.fn() });
      const json = { ...headers, 'content-type': 'application/json' };
      await fetch(new URL('api/act', page), { method: 'POST', headers: json, body });
      const audit = () => /audit (\{.*\})/.exec(program.stdout)?.[1];
      expect(JSON.parse(await program.shows(audit, 'who did what'))).toMatchObject({ action: 'pause' });
      const unused = connect(Number(new URL(url).port), '127.0.0.1');
      await once(unused, 'connect');
      program.signal('SIGINT');
      await expect(program.ended()).resolves.toMatchObject({ code: 0, stderr: '' });
      unused.destroy();
    });

    it('says that names and passwords can be read on the way when it serves others', async () => {
      const flags = ['--port', '0', '--host', '0.0.0.0', '--open-to-network', '--redis', rig.url];
      const program = new GearMonkeyProcess(['dashboard', ...flags], {
        GEARMONKEY_DASHBOARD_AUTH: 'ops:correct horse',
      });
      await program.shows(() => /The dashboard is at http/.test(program.stdout), 'where it is');
      program.signal('SIGINT');
      await expect(program.ended()).resolves.toMatchObject({
        code: 0,
        stdout: expect.not.stringContaining('token'),
        stderr: expect.stringMatching(/^Names and passwords go over plain HTTP/),
      });
    });

    it('gives jobs signals, and exits with 2 if one had it before', async () => {
      const fn = rig.fn();
      await runWorker(rig.source(), fn, (_, job) => job.waitFor('approved', { timeout: '7d' }));
      const job = await rig.client.run(fn, null);
      await until(async () => (await job.get()).waitsFor?.[0] === 'approved');
      const waiting = await ask('get', fn, job.id);
      expect(waiting.stdout).toMatch(/^waits for  approved\nuntil {6}\d{4}-/m);
      const given = await ask('signal', fn, job.id, 'approved', '{"by":"ada"}', '--json');
      expect(valuesOf(given)).toEqual([{ fn, id: job.id, name: 'approved', signalled: true }]);
      await expect(job.result()).resolves.toEqual({ by: 'ada' });
      await expect(ask('signal', fn, job.id, 'approved')).resolves.toMatchObject({
        code: 2,
        stdout: `${fn} ${job.id} had the signal approved before, or has finished\n`,
      });
      await expect(ask('signal', fn, job.id, 'a:b')).resolves.toMatchObject({ code: 1, stdout: '' });
    });

    it('cancels jobs, and exits with 2 if one had finished', async () => {
      const fn = rig.fn();
      await rig.client.runMany(fn, [1, 2]);
      await runWorker(rig.source(), fn, () => 'done');
      await rig.client.result(fn, '2');
      const later = await rig.client.run(fn, 3, { delay: '1h' });
      const cancelled = await ask('cancel', fn, later.id, '2', '--json');
      expect(cancelled.code).toBe(2);
      expect(valuesOf(cancelled)).toEqual([
        { fn, id: '3', cancelled: true },
        { fn, id: '2', cancelled: false },
      ]);
      await expect(ask('cancel', fn, '9')).resolves.toMatchObject({ code: 1, stdout: '' });
    });

    it('shows workers, and pauses and resumes a function', async () => {
      const [fn, other] = [rig.fn(), rig.fn()];
      await runWorker(rig.source(), fn, () => 'done');
      const workers = await ask('workers', fn, other, '--json');
      expect(valuesOf(workers)).toEqual([
        [
          { fn, workers: 1, ids: [expect.any(String)] },
          { fn: other, workers: 0, ids: [] },
        ],
      ]);
      // Its worker says that there is such a function when it first leads it.
      await eventually(async () => expect(await rig.client.functions()).toContain(fn));
      const every = await ask('workers', '--json');
      expect(every).toMatchObject({ code: 0, stderr: '' });
      const [all] = valuesOf(every) as [{ fn: string; workers: number }[]];
      expect(all.find((one) => one.fn === fn)).toMatchObject({ workers: 1 });
      await expect(ask('pause', fn)).resolves.toEqual({ code: 0, stdout: `${fn} is paused\n`, stderr: '' });
      await expect(rig.client.isPaused(fn)).resolves.toBe(true);
      await expect(ask('resume', fn, '--json')).resolves.toMatchObject({ code: 0 });
      await expect(rig.client.isPaused(fn)).resolves.toBe(false);
    });

    it('shows and changes limits', async () => {
      const limited = defineJob<string>(rig.fn(), { limit: { concurrency: 1, key: String } });
      await runWorker(rig.source(), limited, () => 'done');
      const fn = limited.name;
      await expect(ask('limits', fn, '--concurrency', '3', '--rate', '5/1m')).resolves.toMatchObject({
        code: 0,
      });
      await expect(rig.redis.hget(`control:${fn}`, 'override')).resolves.toBe('3:5:60000');
      await rig.client.pause(fn);
      await rig.client.run(limited, 'a');
      expect(valuesOf(await ask('limits', fn, '--json'))).toEqual([
        [{ key: 'a', waiting: 1, running: 0, full: false }],
      ]);
      await expect(ask('limits', fn, '--reset')).resolves.toMatchObject({ code: 0, stdout: 'reset\n' });
      await expect(ask('limits', fn, '--rate', 'many')).resolves.toMatchObject({ code: 1, stdout: '' });
    });

    it('makes, shows, changes and removes schedules', async () => {
      const fn = rig.fn();
      const made = await ask('recur', 'add', fn, 'daily', '{"a":1}', '--cron', '0 9 * * *', '--json');
      expect(valuesOf(made)).toEqual([expect.objectContaining({ id: 'daily', cron: '0 9 * * *' })]);
      expect((await ask('recur', 'list')).stdout).toContain(`daily | ${fn}`);
      expect(valuesOf(await ask('recur', 'pause', 'daily', '--json'))).toEqual([
        expect.objectContaining({ paused: true }),
      ]);
      expect((await ask('recur', 'get', 'daily')).stdout).toContain('next       paused\n');
      await expect(ask('recur', 'resume', 'daily')).resolves.toMatchObject({ code: 0 });
      expect((await ask('recur', 'next', 'daily', '2')).stdout).toMatch(/^(\S+T09:00:00.000Z\n){2}$/);
      await expect(ask('recur', 'run-now', 'daily')).resolves.toEqual({ code: 0, stdout: '1\n', stderr: '' });
      await expect(rig.client.get(fn, '1')).resolves.toMatchObject({ input: { a: 1 } });
      await expect(ask('recur', 'remove', 'daily')).resolves.toMatchObject({ code: 0 });
      await expect(ask('recur', 'remove', 'daily')).resolves.toMatchObject({ code: 2 });
      await expect(ask('recur', 'get', 'daily')).resolves.toMatchObject({ code: 1, stdout: '' });
    });

    it('shows statistics of a function', async () => {
      const fn = rig.fn();
      await runWorker(rig.source(), fn, () => 'done');
      await rig.client.call(fn, 1);
      const done = async () => {
        const since = new Date(Date.now() - 2 * 3_600_000);
        const hours = await rig.client.statistics(fn, { from: since, by: 'hour' });
        return hours.reduce((sum, hour) => sum + hour.done, 0) === 1;
      };
      await until(done, { interval: 50 });
      const from = new Date(Date.now() - 2 * 3_600_000).toISOString();
      const stats = await ask('stats', fn, '--from', from, '--json');
      const [hours] = valuesOf(stats) as [{ at: string; done: number }[]];
      expect(hours.reduce((sum, hour) => sum + hour.done, 0)).toBe(1);
      expect((await ask('stats', fn, '--by', 'day')).stdout).toMatch(/^\S+T00:00:00.000Z \| 1 /m);
    });

    it('finds jobs by tag, key and id', async () => {
      const fn = rig.fn();
      await ask('run', fn, '1', '--tag', 'order:7', '--tag', 'odd one');
      await ask('run', fn, '2', '--unique', 'k');
      expect((await ask('find', fn, '--tag', 'order:7')).stdout).toMatch(
        /^1 +\| waiting .*#order:7 #odd one$/m,
      );
      expect(valuesOf(await ask('find', fn, '--key', 'k', '--json'))).toMatchObject([
        { jobs: [{ id: '2' }] },
      ]);
      expect(valuesOf(await ask('find', fn, '--id', '1', '--json'))).toMatchObject([{ jobs: [{ id: '1' }] }]);
      await expect(ask('find', fn, '--tag', 'none')).resolves.toMatchObject({ code: 2 });
      await expect(ask('find', fn)).resolves.toMatchObject({ code: 1, stdout: '' });
      await ask('cancel', fn, '1');
      await expect(ask('retry', fn, '--tag', 'x')).resolves.toMatchObject({ code: 1, stdout: '' });
      const retried = await ask('retry', fn, '--state', 'cancelled', '--tag', 'order:7', '--yes');
      expect(retried).toMatchObject({ code: 0, stdout: `retried 1 job of ${fn}\n` });
    });

    it('lists jobs page by page, and shows all functions', async () => {
      const fn = rig.fn();
      await rig.client.runMany(fn, ['first', 'second', `third ${ESCAPE}[2J`]);
      const page = await ask('list', fn, '--size', '2', '--payloads', '--json');
      expect(page).toMatchObject({ code: 0, stderr: '' });
      const [first] = valuesOf(page) as [{ jobs: { id: string }[]; total: number; next: string }];
      expect(first).toMatchObject({ total: 3, jobs: [{ id: '3' }, { id: '2' }] });
      const rest = await ask('list', fn, '--size', '2', '--page', first.next, '--payloads');
      expect(rest.stdout).toContain('"first"');
      expect(rest.stderr).toBe('1 of 3\n');
      const all = valuesOf(await ask('overview', '--json')) as [unknown[]];
      expect(all[0]).toContainEqual(expect.objectContaining({ fn, waiting: { high: 0, normal: 3, low: 0 } }));
      expect((await ask('overview')).stdout).toMatch(new RegExp(`^${fn} +\\| 3 `, 'm'));
      await expect(ask('list', fn, '--state', 'lost')).resolves.toMatchObject({ code: 1, stdout: '' });
      await expect(ask('top')).resolves.toMatchObject({ code: 1, stdout: '' });
    });

    it('uses hash tags on request', async () => {
      const fn = rig.fn();
      await expect(ask('run', fn, '1', '--hash-tag')).resolves.toMatchObject({ code: 0 });
      await expect(rig.redis.llen(`queue:{${fn}}:normal`)).resolves.toBe(1);
    });

    it.each([
      [['get', 'x'], "missing required argument 'id'"],
      [['bogus'], "unknown command 'bogus'"],
      [['run', 'x', '{no json'], 'INPUT is not JSON'],
      [['run', 'a b', '1'], 'a b'],
      [['run', 'x', '1', '--at', 'soon'], '`--at` must be a time'],
      [['run', 'x', '1', '--attempts', 'many'], '`--attempts` must be a whole number'],
      [['run', 'x', '1', '--header', 'nothing'], '`--header` must be NAME=VALUE'],
      [['get', 'x', '99'], 'There is no job 99'],
    ])('exits with 1 for the wrong call %j', async (args, message) => {
      const ended = await ask(...args);
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).toContain(message);
    });
  });

  it('exits with 1 without a server, and never prints the password', async () => {
    const asking = ['redis://user:secret@127.0.0.1:1', 'http://user:secret@example.com'].map((url) =>
      runGearMonkey(['get', 'x', '1', '--redis', url]),
    );
    for (const ended of await Promise.all(asking)) {
      expect(ended).toMatchObject({ code: 1, stdout: '' });
      expect(ended.stderr).not.toBe('');
      expect(ended.stderr).not.toContain('secret');
    }
  });

  it('prints its version and its commands', async () => {
    await expect(runGearMonkey(['--version'])).resolves.toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  inFullTier(() => {
    describe('in a terminal', () => {
      it('shows a bar while it waits for a job, and clears it at the end', async () => {
        const fn = rig.fn();
        const finish = gate();
        await runWorker(rig.source(), fn, async (_, job) => {
          await job.update(3, 10);
          await finish.passed;
          return 'done';
        });
        const terminal = await terminals.open();
        await terminal.start(['run', fn, '1', '--wait', '--redis', rig.url]);
        await terminal.shows(/█+░+ 3\/10 running/);
        finish.open();
        const screen = await terminal.shows(/exit 0/);
        expect(screen.trim()).toBe('done\nexit 0');
        await expect(terminal.state()).resolves.toEqual({ cursor: true, fullScreen: false });
      });

      it('shows all functions as they change, until q, and leaves the terminal as it was', async () => {
        const fn = rig.fn('seen');
        await rig.client.runMany(fn, [1, 2]);
        const terminal = await terminals.open();
        await terminal.start(['top', '--redis', rig.url]);
        await terminal.shows(new RegExp(`${fn} +\\| 2 `));
        await rig.client.pause(fn);
        await terminal.shows(new RegExp(`${fn} .*paused`));
        await expect(terminal.state()).resolves.toEqual({ cursor: false, fullScreen: true });
        await rig.client.resume(fn);
        await runWorker(rig.source(), fn, () => 'done');
        await terminal.shows(new RegExp(`${fn} +\\| 0 .*\\| 2 +\\| 0 `));
        await terminal.keys('q');
        const screen = await terminal.shows(/exit 0/);
        expect(screen.trim()).toBe('exit 0');
        await expect(terminal.state()).resolves.toEqual({ cursor: true, fullScreen: false });
      });

      it('leaves the screen of all functions at ctrl-c', async () => {
        const terminal = await terminals.open();
        await terminal.start(['top', '--redis', rig.url]);
        await terminal.shows(/gearmonkey top/);
        await terminal.keys('C-c');
        await terminal.shows(/^exit 0/);
        await expect(terminal.state()).resolves.toEqual({ cursor: true, fullScreen: false });
      });

      it('restores the terminal at ctrl-c', async () => {
        const fn = rig.fn();
        const terminal = await terminals.open();
        await terminal.start(['run', fn, '1', '--wait', '--redis', rig.url]);
        await terminal.shows(/waiting/);
        await terminal.keys('C-c');
        await terminal.shows(/exit 130/);
        await expect(terminal.state()).resolves.toEqual({ cursor: true, fullScreen: false });
      });
    });
  });
});
