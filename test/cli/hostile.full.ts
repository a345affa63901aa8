import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';
import { runWorker } from '../support/run-worker.js';
import { killProcesses } from '../support/test-process.js';
import { until } from '../support/until.js';
import { GearMonkeyProcess, runGearMonkey } from './gearmonkey-process.js';
import { useTerminal } from './terminal.js';

/** Clears a screen, in seven and in eight bits, breaks the line, turns it round, and rings. */
const HOSTILE = '\u001b[2J\u009b2J\nspoofed | row\r\u202e\u0007';
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

describe('gearmonkey with hostile data', () => {
  const rig = useGearMonkey();
  const terminals = useTerminal();
  afterEach(killProcesses);

  const ask = (...args: string[]) => runGearMonkey(args, { environment: { REDIS_URL: rig.url } });

  /** A job of each kind, with a hostile text wherever one fits. */
  async function hostileJobs(): Promise<string> {
    const fn = rig.fn();
    const { worker } = await runWorker(rig.source(), fn, (input) => {
      if (input === 'good') return HOSTILE;
      const error = new Error(HOSTILE);
      error.name = HOSTILE;
      throw Object.assign(error, { code: HOSTILE });
    });
    await rig.client.call(fn, 'good', { headers: { hostile: HOSTILE.replaceAll('\n', '') } });
    await rig.client.call(fn, HOSTILE).catch(() => undefined);
    await until(async () => (await rig.client.list(fn, { state: 'failed' })).total === 1);
    await worker.stop(0);
    await rig.client.run(fn, HOSTILE);
    const id = `4${HOSTILE}`;
    await rig.redis.hset(`job:${fn}:${id}`, 'status', 'idle', 'input', HOSTILE, 'key', HOSTILE);
    await rig.redis.lpush(`queue:${fn}:normal`, id, `lost${HOSTILE}`);
    const other = `${fn}${HOSTILE}`;
    await rig.redis.lpush(`queue:${other}:normal`, '1');
    await rig.redis.zadd('functions', Date.now(), other);
    return fn;
  }

  describe('lets no control character through to the terminal, and breaks no line', () => {
    let fn = '';
    beforeAll(async () => void (fn = await hostileJobs()));

    /** What is asked, of the function FN. */
    const calls = [
      ...['waiting', 'succeeded', 'failed'].map((state) => ['list', 'FN', '--state', state, '--payloads']),
      ...['1', '2', '3', `4${HOSTILE}`].map((id) => ['get', 'FN', id]),
      ...[['watch', 'FN', '1'], ['watch', 'FN', '2'], ['failures', 'FN'], ['overview'], ['doctor']],
      ...[
        ['retry', 'FN', HOSTILE],
        ['cancel', 'FN', `4${HOSTILE}`],
        ['list', 'FN', '--page', HOSTILE],
      ],
      ...[
        ['workers', `FN${HOSTILE}`],
        ['recur', 'get', HOSTILE],
        ['stats', 'FN', '--from', HOSTILE],
      ],
      ...[[HOSTILE], ['get', 'FN', '1', '--codec', HOSTILE], ['get', 'FN', '1', '--redis', HOSTILE]],
    ];
    it.each(calls.map((call) => [JSON.stringify(call), call] as const))('%s', async (_, call) => {
      const ofFunction = call.map((word) => word.replace('FN', fn));
      for (const args of [ofFunction, [...ofFunction, '--json']]) {
        const { stdout, stderr } = await ask(...args);
        const printed = stdout + stderr;
        expect({ args, printed }).not.toMatchObject({ printed: expect.stringMatching(CONTROLS) });
        expect({ args, printed }).not.toMatchObject({ printed: expect.stringMatching(/^ *\|? *spoofed/m) });
        expect(printed).not.toBe('');
      }
    });
  });

  it('ends quietly if the reader of a list is gone', async () => {
    const fn = rig.fn();
    await rig.client.runMany(fn, Array(100).fill('x'.repeat(4000)));
    const list = new GearMonkeyProcess(['list', fn, '--size', '100', '--payloads', '--redis', rig.url]);
    list.leave();
    await expect(list.ended()).resolves.toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('EPIPE'),
    });
  });

  it.each([40, 200])('prints a row of a list on one line of a terminal of %i columns', async (columns) => {
    const fn = rig.fn();
    await rig.client.runMany(fn, ['first', `wide ${'😀'.repeat(columns)}`]);
    const terminal = await terminals.open(columns);
    await terminal.start(['list', fn, '--payloads', '--redis', rig.url]);
    const screen = await terminal.shows(/exit 0/);
    const lines = screen.trimEnd().split('\n');
    expect(lines.map((line) => line.slice(0, 3).trim())).toEqual(['ID', '--', '2', '1', '2 o', 'exi']);
    expect(lines[0]?.includes('WHAT')).toBe(columns > 40);
  });

  it.each([40, 200])('draws `top` in %i columns', async (columns) => {
    const fn = rig.fn();
    await rig.client.runMany(fn, [1, 2]);
    const wide = '漢'.repeat(60);
    await rig.client.run(wide, 1);
    const terminal = await terminals.open(columns);
    await terminal.start(['top', '--redis', rig.url]);
    const screen = await terminal.shows(new RegExp(`^${fn} +\\| 2 `, 'm'));
    expect(screen.split('\n').filter((line) => /^[ 漢]*漢/.test(line))).toHaveLength(1);
    await terminal.keys('q');
    await terminal.shows(/exit 0/);
    await expect(terminal.state()).resolves.toEqual({ cursor: true, fullScreen: false });
  });
});
