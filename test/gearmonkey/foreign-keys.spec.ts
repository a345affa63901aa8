import { describe, expect, it } from '@jest/globals';
import { keysOf, type FunctionKeys } from '../../lib/gearmonkey/core/wire/protocol.js';
import { runWorker } from '../support/run-worker.js';
import { IS_FAST_TIER } from '../support/tier.js';
import { eventually } from '../support/until.js';
import { submit } from './redis-rig.js';
import { useGearMonkey } from './use-gearmonkey.js';

/** Lines that a worker may say about one fault, however long it lasts and however often it is met. */
const MAX_LINES = 10;
const LEASE_MS = 1000;
/** Types that a key may be spoiled with: whatever is expected there, one at least is none. */
const SPOILS = ['text', 'list', 'sorted set'] as const;
type Spoil = (typeof SPOILS)[number];

/** Keys of a function that a worker touches; while a key of the second kind is spoiled, its jobs wait. */
const HARMLESS = ['wake', 'leader', 'plain', 'locks', 'channel', 'progress', 'cancel'] as const;
const VITAL = ['leases', 'scheduled', 'high', 'normal', 'low'] as const;

describe('A worker whose keys another program has overwritten', () => {
  const rig = useGearMonkey();

  async function spoil(key: string, how: Spoil): Promise<void> {
    const { redis } = rig;
    await redis.del(key);
    if (how === 'list') await redis.rpush(key, 'a', 'b', 'c');
    else if (how === 'sorted set') await redis.zadd(key, 1, 'x', 2, 'y:', 3, '\u00ff:1');
    else await redis.set(key, how);
  }

  async function worker(functions: readonly string[]): Promise<string[]> {
    const lines: string[] = [];
    for (const fn of functions) {
      const source = rig.source({ lease: LEASE_MS, onProblem: (line) => lines.push(line) }, { keeper: true });
      const { said } = await runWorker(source, fn, (input) => input, { concurrency: 5 });
      said.push = (...more) => lines.push(...more);
    }
    return lines;
  }

  const keyOf = (fn: string, name: keyof FunctionKeys) => {
    const key = keysOf(fn)[name];
    return key.endsWith(':') ? `${key}1` : key;
  };

  describe.each(SPOILS)('by a %s', (how) => {
    it(`in ${HARMLESS.join(', ')}: runs its jobs all the same`, async () => {
      const fn = rig.fn();
      const lines = await worker([fn]);
      await rig.client.call(fn, 'before', { timeout: '20s' });
      for (const name of HARMLESS) await spoil(keyOf(fn, name), how);
      for (let i = 0; i < 5; i++) await expect(rig.client.call(fn, i, { timeout: '20s' })).resolves.toBe(i);
      const plain = await submit(rig.redis, fn, Buffer.from('"plain"'));
      await expect(rig.client.result(fn, plain, { timeout: '20s' })).resolves.toBe('plain');
      expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
    });

    const turns = VITAL.filter((_, turn) => turn % SPOILS.length === SPOILS.indexOf(how));
    it.each(IS_FAST_TIER ? turns : VITAL)(
      'in %s: loses no waiting job, and runs them when the key is repaired',
      async (name) => {
        const fn = rig.fn();
        const other = rig.fn();
        const lines = await worker([fn, other]);
        await rig.client.call(fn, 'before', { timeout: '20s' });
        await spoil(keyOf(fn, name), how);
        const queues = ['high', 'normal', 'low'] as const;
        const jobs: string[] = [];
        for (const queue of queues) {
          const id = await submit(rig.redis, fn, Buffer.from('"x"'), { queue }).catch(() => undefined);
          if (id !== undefined) jobs.push(id);
        }
        for (let i = 0; i < 5; i++)
          await expect(rig.client.call(other, i, { timeout: '20s' })).resolves.toBe(i);
        const key = keyOf(fn, name);
        const wanted = name === 'leases' || name === 'scheduled' ? 'zset' : 'list';
        if ((await rig.redis.type(key)) !== wanted) await rig.redis.del(key);
        for (const id of jobs) await expect(rig.client.result(fn, id, { timeout: '20s' })).resolves.toBe('x');
        await eventually(async () => expect(await rig.redis.zcard(`lease:${fn}`)).toBe(0), {
          message: 'no lease is left',
        });
        expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
      },
    );
  });

  it('logs few lines about many ids without a job, and runs the real jobs', async () => {
    const fn = rig.fn();
    const lines = await worker([fn]);
    const junk = Array.from({ length: 20_000 }, (_, i) => `junk\n[Nest] ${i}`);
    await rig.redis.lpush(`queue:${fn}:normal`, ...junk);
    await expect(rig.client.call(fn, 'x', { timeout: '20s' })).resolves.toBe('x');
    await expect(rig.redis.llen(`queue:${fn}:normal`)).resolves.toBe(0);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
    for (const line of lines) expect(line).not.toContain('\n');
  });
});
