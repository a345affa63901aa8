import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DrainedKind } from '../../../lib/gearmonkey/features/edits/edit-store.js';
import { drainLimited } from '../../../lib/gearmonkey/features/edits/edit-scripts.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueueLimited, expire, NOW } from '../scripts/scripts.js';

describe('drain-limited.lua', () => {
  const server = useRedis();
  const redis = () => server.redis;
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const step = (kind: DrainedKind, { last = 1e6, cursor = '0', priority = 'normal' } = {}) => {
    const { jobs, locks, channel, control, wake } = keysOf(fn);
    const keys = [jobs, locks, channel, control, wake];
    return drainLimited.run(redis(), keys, NOW, last, cursor, kind, kind === '' ? priority : '');
  };
  /** All steps; the ids in the order of numbers. */
  async function drain(kind: DrainedKind, last?: number): Promise<string[]> {
    const ended: string[] = [];
    let cursor = '0';
    do {
      const { ids, cursor: next } = await step(kind, { cursor, ...(last === undefined ? {} : { last }) });
      ended.push(...ids);
      cursor = next;
    } while (cursor !== '0');
    return ended.toSorted((a, b) => Number(a) - Number(b));
  }
  const take = async (outcomes: string[] = []) =>
    (await claim(redis(), fn, { recover: 0, outcomes })).claims.map(({ id }) => id);
  const limitKey = (name: string) => keysOf(fn).limits + name;

  it('ends jobs of full and of free keys, up to the last, and leaves their ids nowhere', async () => {
    await enqueueLimited(redis(), fn, ['full', 'full', 'full']);
    await take();
    await enqueueLimited(redis(), fn, ['free', 'free', 'free']);
    expect(await drain('', 5)).toEqual(['2', '3', '4', '5']);
    expect(await redis().exists(limitKey('wait:normal:full'))).toBe(0);
    expect(await redis().lrange(limitKey('wait:normal:free'), 0, -1)).toEqual(['6']);
    expect(await redis().hget(`job:${fn}:2`, 'error')).toContain('JOB_DRAINED');
    expect(await take()).toEqual(['6']);
  });

  it('ends a bounded number of jobs in a call', async () => {
    for (let key = 0; key < 10; key++) await enqueueLimited(redis(), fn, Array<string>(100).fill(`${key}`));
    const { ids, cursor } = await step('');
    expect([ids.length < 500, cursor]).toEqual([true, 'again']);
    expect(await drain('')).toHaveLength(1000 - ids.length);
  });

  it('ends jobs of many keys', async () => {
    const keys = Array.from({ length: 300 }, (_, key) => String(key));
    await enqueueLimited(redis(), fn, [...keys, ...keys]);
    await claim(redis(), fn, { slots: 150 });
    expect(await drain('')).toHaveLength(450);
  });

  it('ends jobs of a strict key that is held for this function alone', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a'], { rules: `:::strict:${fn}`, shared: '5::' });
    await take();
    expect(await take(['1:1', 'retry', '1000', '{}'])).toEqual([]);
    expect(await drain('')).toEqual(['2']);
  });

  it('lets a strict key go that an expired job holds, which it drops', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a'], { rules: ':::strict:' });
    await redis().hset(`job:${fn}:1`, 'options', `{"expires":${NOW + 1}}`);
    await take();
    await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'released', '', ''] });
    await expire(redis(), fn, '1', NOW + 1);
    expect(await drain('', 1)).toEqual([]);
    expect(await redis().exists(limitKey('holders'))).toBe(0);
  });

  it('ends jobs that wait for a time, and lets their key go', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a'], { rules: ':::strict:' });
    await enqueueLimited(redis(), fn, ['b'], { score: NOW });
    await take();
    await take(['1:1', 'retry', '1000', '{}']);
    expect(await drain('scheduled')).toEqual(['3']);
    expect(await redis().zcard(limitKey('due'))).toBe(1);
    expect(await drain('retrying')).toEqual(['1']);
    expect(await redis().exists(limitKey('due'), limitKey('later:a'), limitKey('later:b'))).toBe(0);
    expect(await redis().llen(keysOf(fn).wake)).toBe(1);
    expect(await take()).toEqual(['2']);
  });
});
