import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FailureGroup } from '../../lib/job/failed-jobs.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';
import { runWorker } from '../support/run-worker.js';
import { SlowLine } from '../support/slow-line.js';
import { killProcesses } from '../support/test-process.js';
import { until } from '../support/until.js';
import { GearMonkeyProcess, runGearMonkey, valuesOf } from './gearmonkey-process.js';
import { useTerminal } from './terminal.js';

/** Ten steps. */
const MANY = 1000;

describe('gearmonkey failures, retry and discard', () => {
  const rig = useGearMonkey();
  const terminals = useTerminal();
  let line: SlowLine;
  beforeAll(async () => {
    line = await SlowLine.start(rig.port);
  });
  afterEach(() => line.heal());
  afterEach(killProcesses);
  afterAll(() => line.stop());

  const ask = (...args: string[]) => runGearMonkey(args, { environment: { REDIS_URL: rig.url } });

  /** Jobs that fail: their inputs are the messages of their errors. */
  async function failed(...messages: string[]): Promise<string> {
    const fn = rig.fn();
    const { worker } = await runWorker(rig.source(), fn, (input) => {
      throw new Error(String(input));
    });
    for (const message of messages)
      await rig.client.call(fn, message).catch((error: unknown) => expect(error).toBeInstanceOf(Error));
    await until(async () => (await total(fn, 'failed')) === messages.length);
    await worker.stop(0);
    return fn;
  }

  async function cancelled(count: number): Promise<string> {
    const fn = rig.fn();
    await rig.client.runMany(fn, Array(count).fill(1));
    await expect(rig.client.drain(fn)).resolves.toBe(count);
    return fn;
  }

  const total = async (fn: string, state: 'failed' | 'cancelled' | 'waiting') =>
    (await rig.client.list(fn, { state, size: 1 })).total;

  it('groups failed jobs, whatever their errors contain', async () => {
    const fn = await failed('no file 1', 'other\n\u001b[2J\u009b', 'no file 2');
    const json = await ask('failures', fn, '--json');
    expect(json).toMatchObject({ code: 0, stderr: '' });
    const [groups] = valuesOf(json) as [FailureGroup[]];
    expect(groups).toMatchObject([
      { name: 'Error', message: 'no file <n>', count: 2, sample: '3' },
      { message: 'other\n\u001b[<n>J\u009b', count: 1, sample: '2' },
    ]);
    const { stdout, stderr } = await ask('failures', fn);
    expect(stdout).toMatch(new RegExp(`^${groups[0]?.group} \\| 2 .*\\| 3 +\\| Error: no file <n>$`, 'm'));
    expect(stdout).toContain('other\\n\\u001b[<n>J\\u009b\n');
    expect(stderr).toContain(`gearmonkey retry ${fn} --state failed --group ${groups[0]?.group}\n`);
  });

  it('retries and discards a job by its id', async () => {
    const fn = await failed('one', 'two');
    await expect(ask('retry', fn, '1')).resolves.toEqual({
      code: 0,
      stdout: `${fn} 1 retried\n`,
      stderr: '',
    });
    await expect(rig.client.get(fn, '1')).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
    expect(await ask('retry', fn, '1')).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('neither'),
    });
    const discarded = await ask('discard', fn, '2', '--json');
    expect(discarded.code).toBe(0);
    expect(valuesOf(discarded)).toEqual([{ fn, id: '2', discarded: true }]);
    await expect(rig.client.get(fn, '2')).resolves.toBeNull();
    expect(await ask('discard', fn, '2')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no job 2'),
    });
  });

  it('retries a group, and discards what ended before a time', async () => {
    const fn = await failed('no file 1', 'other', 'no file 2');
    const [worst] = await rig.client.failures(fn);
    const group = ['--state', 'failed', '--group', worst?.group ?? '', '--yes'];
    const retried = await ask('retry', fn, ...group);
    expect(retried).toEqual({ code: 0, stdout: `retried 2 jobs of ${fn}\n`, stderr: '' });
    expect(await total(fn, 'failed')).toBe(1);
    const choose = (before: string) => [
      'discard',
      fn,
      '--state',
      'failed',
      '--before',
      before,
      '--yes',
      '--json',
    ];
    expect(valuesOf(await ask(...choose('1h')))).toEqual([{ fn, discarded: 0 }]);
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    expect(valuesOf(await ask(...choose(soon)))).toEqual([{ fn, discarded: 1 }]);
  });

  it.each([
    [[], 'Pass the ID of a job'],
    [['1', '--state', 'failed', '--yes'], 'not both'],
    [['--state', 'failed'], '`--yes`'],
    [['--group', '0123456789ab'], '--state failed'],
    [['--state', 'failed', '--group', 'x', '--yes'], '`group`'],
    [['--state', 'failed', '--before', 'soon', '--yes'], '`--before` must be a time'],
    [['--state', 'failed', '--before', '5 parsecs', '--yes'], '--before'],
    [['--state', 'succeeded', '--yes'], 'Allowed choices are failed, cancelled'],
  ])('exits with 1 for the wrong call %j, and does nothing', async (args, message) => {
    const fn = await cancelled(2);
    const ended = await ask('discard', fn, ...args);
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toContain(message);
    expect(await total(fn, 'cancelled')).toBe(2);
  });

  it('stops at ctrl-c after the step that runs, and says how many were done', async () => {
    const fn = await cancelled(MANY);
    line.freezeAt('\r\nretry\r\n');
    const args = ['retry', fn, '--state', 'cancelled', '--yes', '--json', '--redis', line.url];
    const retrying = new GearMonkeyProcess(args);
    await until(() => line.frozen === 1, { message: 'The first step was not sent' });
    retrying.signal('SIGINT');
    line.heal();
    const ended = await retrying.ended();
    expect(ended).toMatchObject({ code: 130, stderr: '' });
    const [value] = valuesOf(ended) as [{ retried: number }];
    expect(value).toEqual({ fn, retried: MANY - (await total(fn, 'cancelled')), interrupted: true });
    expect(value.retried).toBeGreaterThan(0);
    expect(value.retried).toBeLessThan(MANY);
  });

  describe('in a terminal', () => {
    it('asks, and shows how far it is', async () => {
      const fn = await cancelled(250);
      line.freezeAt('\r\nretry\r\n');
      const terminal = await terminals.open();
      await terminal.start(['retry', fn, '--state', 'cancelled', '--redis', line.url]);
      await terminal.shows(/Retry all 250 cancelled jobs of .*\[y\/N\]/);
      await terminal.keys('y', 'Enter');
      await terminal.shows(/^0 of at most 250 jobs retried; ctrl-c stops/m);
      line.heal();
      const screen = await terminal.shows(/exit 0/);
      expect(screen).toContain(`retried 250 jobs of ${fn}\n`);
      expect(screen).not.toContain('at most');
    });

    it.each([
      [['n', 'Enter'], 1],
      [['Enter'], 1],
      [['C-d'], 1],
      [['C-c'], 130],
    ])('does nothing after %j', async (keys, code) => {
      const fn = await cancelled(2);
      const terminal = await terminals.open();
      await terminal.start(['discard', fn, '--state', 'cancelled', '--redis', rig.url]);
      await terminal.shows(/Delete all 2 cancelled jobs/);
      await terminal.keys(...keys);
      await expect(terminal.shows(/exit \d/)).resolves.toMatch(new RegExp(`exit ${code}$`, 'm'));
      expect(await total(fn, 'cancelled')).toBe(2);
    });
  });
});
