import { afterEach, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { GearMonkeyProcess, runGearMonkey, valuesOf } from '../cli/gearmonkey-process.js';
import { killProcesses } from '../support/test-process.js';
import { useDyingLine, type LastCall } from './dying-line.js';
import { useImport } from './import-rig.js';

const HOUR = 3_600_000;

describe('gearmonkey import', () => {
  const rig = useImport();
  const dying = useDyingLine(() => rig.used.port);
  let queue: Queue | undefined;
  afterEach(() => queue?.close());
  afterEach(killProcesses);

  const ask = (...args: string[]) => {
    const { source, target } = rig.urls();
    return runGearMonkey(['import', 'bullmq', '--queue', 'mail', '--from', source, ...args], {
      environment: { REDIS_URL: target },
    });
  };

  async function fill(): Promise<void> {
    queue = new Queue('mail', { connection: rig.connection });
    for (const [n, options] of [{}, {}, { delay: HOUR }, { priority: 2 }, { jobId: 'own' }].entries())
      await queue.add(n === 0 ? 'welcome' : 'send', { n }, options);
    await queue.upsertJobScheduler(
      'daily',
      { pattern: '0 9 * * *', tz: 'UTC' },
      { name: 'send', data: { n: -1 } },
    );
  }

  it('shows what it would do, and does it', async () => {
    await fill();
    const dry = await ask('--dry-run', '--map', 'welcome=mail:welcome', '--function', 'mail');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toMatch(/^bullmq mail: 6 would be moved\n(.*\n)* +1 {2}to mail:welcome\n/);
    const done = await ask('--map', 'welcome=mail:welcome', '--json');
    expect(done).toMatchObject({ code: 2, stderr: '' });
    expect(valuesOf(done)).toEqual([
      expect.objectContaining({ moved: { waiting: 1 }, functions: { 'mail:welcome': 1 } }),
    ]);
    expect((await ask()).stdout).toMatch(/^bullmq mail: 5 moved\n/);
    expect((await rig.created()).map(({ input }) => input)).toEqual([{ n: 1 }, { n: 4 }, { n: 3 }, { n: 2 }]);
  });

  it.each([
    [['--queue', 'other'], 'There is no queue "other" of bullmq'],
    [['--from', 'nowhere'], '`--from` must be a URL'],
    [['--map', 'a'], '`--map` must be NAME=VALUE'],
    [['--map', 'a=x', '--map', 'a=y'], '`--map` has "a" twice'],
    [['--function', 'a b'], "can't be a function name"],
    [['--batch', '0'], '--batch'],
    [['--high', '10', '--normal', '3'], '--normal'],
  ])('refuses %j', async (args, message) => {
    await fill();
    const { code, stderr } = await ask(...args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    await expect(rig.target.dbsize()).resolves.toBe(0);
  });

  it.each(['unsent', 'unanswered'] as const)(
    'loses and doubles nothing if it is killed at a call that stays %s',
    async (last: LastCall) => {
      // Each call is one of import-kill.spec.ts; here are programs, which take long to start.
      for (let calls = 4, killed = true; killed; calls += 7) {
        await rig.used.redis.flushall();
        await fill();
        await queue?.close();
        Object.assign(dying.line, { left: calls, last });
        const args = ['import', 'bullmq', '--queue', 'mail', '--from', dying.line.url(), '--batch', '2'];
        const program = new GearMonkeyProcess(args, { REDIS_URL: dying.line.url(1) });
        dying.line.onEnd = () => program.signal('SIGKILL');
        killed = (await program.ended()).code === null;
        dying.line.left = Infinity;
        await expect(rig.import()).resolves.toMatchObject({ left: [] });
        const inputs = (await rig.created()).map(({ input }) => (input as { n: number }).n);
        expect(inputs.sort()).toEqual([0, 1, 2, 3, 4]);
        await expect(rig.target.zrange('ticks:mail', '0', '-1')).resolves.toEqual(['mail:daily']);
      }
    },
  );
});
