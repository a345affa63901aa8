import { describe, expect, it } from '@jest/globals';
import { NoWorkersError } from '../../lib/job/errors.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';
import { useGearMonkey } from './use-gearmonkey.js';
import { useRedisServer } from '../support/use-redis.js';
import { furtherInFullTier, inFullTier } from '../support/tier.js';

const PRESENCE_MS = 1000;
/** A beat is a quarter of the presence; the rest is for a busy machine. */
const SLACK_MS = 40_000;
/** Of one whose beats must not be late, however busy the machine. */
const LONG_PRESENCE_MS = 6000;

describe('count:{FN}', () => {
  const rig = useGearMonkey(useRedisServer());

  stopProgramsAfterEach();

  const count = async (fn: string) => Number(await rig.redis.get(`count:${fn}`));
  const here = (fn: string, keeper = true) =>
    runWorker(rig.source({ presence: PRESENCE_MS }, { keeper }), fn, () => 1);
  const elsewhere = (fn: string, presence = PRESENCE_MS) =>
    Program.start('test/gearmonkey/worker-program.ts', { url: rig.url, fn, presence });
  const becomes = async (fn: string, expected: number) => {
    const begun = performance.now();
    await eventually(async () => expect(await count(fn)).toBe(expected));
    return performance.now() - begun;
  };

  it.each(furtherInFullTier<[string, boolean]>([['the keeper', true]], [['the main thread', false]]))(
    'subtracts one of two workers that was killed, with heartbeats by %s',
    async (_, keeper) => {
      const fn = rig.fn();
      await here(fn, keeper);
      const killed = await elsewhere(fn);
      await expect(count(fn)).resolves.toBe(2);
      await killed.kill();
      expect(await becomes(fn, 1)).toBeLessThan(PRESENCE_MS + SLACK_MS);
      await expect(rig.client.rollCall(fn)).resolves.toBe(1);
    },
  );

  inFullTier(() => {
    it('subtracts the only worker if it was killed: a roll call finds none', async () => {
      const fn = rig.fn();
      const killed = await elsewhere(fn);
      await expect(rig.client.rollCall(fn)).resolves.toBe(1);
      await killed.kill();
      const none = () =>
        rig.client.rollCall(fn).then(
          () => false,
          (error: unknown) => error instanceof NoWorkersError,
        );
      const begun = performance.now();
      await until(none, { message: 'a roll call finds none' });
      expect(performance.now() - begun).toBeLessThan(PRESENCE_MS + SLACK_MS);
      await expect(count(fn)).resolves.toBe(0);
      await here(fn);
      await expect(rig.client.rollCall(fn)).resolves.toBe(1);
    });
  });

  inFullTier(() => {
    it('includes a plain worker that started before or after the only other worker was killed', async () => {
      const fn = rig.fn();
      const killed = await elsewhere(fn);
      await rig.redis.incr(`count:${fn}`);
      await killed.kill();
      await rig.redis.incr(`count:${fn}`);
      await eventually(async () => expect(await rig.client.rollCall(fn)).toBe(2), {
        message: 'both plain workers are counted',
      });
      await expect(rig.redis.pttl(`count:${fn}`)).resolves.toBe(-1);
      await rig.redis.decrby(`count:${fn}`, 2);
      await expect(count(fn)).resolves.toBe(0);
    });
  });

  inFullTier(() => {
    it('includes a worker whose event loop is blocked', async () => {
      const fn = rig.fn();
      const busy = await elsewhere(fn, LONG_PRESENCE_MS);
      await rig.client.run(fn, { block: 1.5 * LONG_PRESENCE_MS });
      await busy.says('start');
      const counts = new Set<number>();
      await until(async () => {
        counts.add(await count(fn));
        return busy.all('end').length === 1;
      });
      expect([...counts]).toEqual([1]);
    });
  });

  inFullTier(() => {
    it('includes a worker again that was stopped for longer than its presence', async () => {
      const fn = rig.fn();
      const stopped = await elsewhere(fn);
      await here(fn);
      stopped.signal('SIGSTOP');
      await becomes(fn, 1);
      stopped.signal('SIGCONT');
      await expect(becomes(fn, 2)).resolves.toBeLessThan(PRESENCE_MS + SLACK_MS);
    });
  });

  inFullTier(() => {
    it('does not affect the counting of plain workers', async () => {
      const fn = rig.fn();
      await rig.redis.incr(`count:${fn}`);
      const { worker } = await here(fn);
      const killed = await elsewhere(fn);
      await rig.redis.incr(`count:${fn}`);
      await expect(count(fn)).resolves.toBe(4);
      await killed.kill();
      await becomes(fn, 3);
      await rig.redis.decr(`count:${fn}`);
      await expect(count(fn)).resolves.toBe(2);
      await worker.stop(0);
      await expect(count(fn)).resolves.toBe(1);
      await rig.redis.decr(`count:${fn}`);
      await expect(count(fn)).resolves.toBe(0);
    });
  });

  it('is restored after FLUSHALL', async () => {
    const fn = rig.fn();
    await Promise.all([here(fn), here(fn)]);
    await rig.redis.flushall();
    expect(await becomes(fn, 2)).toBeLessThan(PRESENCE_MS + SLACK_MS);
  });

  inFullTier(() => {
    it('is restored after the server was restarted empty', async () => {
      const fn = rig.fn();
      await Promise.all([here(fn), here(fn)]);
      await rig.on.server.kill();
      await rig.on.server.restart();
      await until(() => rig.redis.ping().catch(() => false));
      expect(await becomes(fn, 2)).toBeLessThan(2 * PRESENCE_MS + SLACK_MS);
      await expect(rig.client.call(fn, 'x', { timeout: '10s' })).resolves.toBe(1);
    });
  });
});
