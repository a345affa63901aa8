import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { changeLimit, type LimitChange } from '../../../lib/gearmonkey/features/limits/limit-scripts.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueueLimited, LEASE_MS, NOW, readLimits, setLimit } from '../scripts/scripts.js';

describe('set-limit.lua', () => {
  const server = useRedis();
  const redis = () => server.redis;
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const take = async (of: string, outcomes: string[] = []) =>
    (await claim(redis(), of, { recover: 0, outcomes, lease: 1e6 })).claims.map(({ id }) => id);
  const success = (member: string) => [member, 'success', 'output', ''];
  const share = (of: string, name: string) => setLimit(redis(), of, 'limit', `:::fair:${name}`, '1::');

  it('wakes a worker for a limit that was raised', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a']);
    await take(fn);
    await take(fn);
    await redis().del(keysOf(fn).wake);
    await setLimit(redis(), fn, 'override', '2::');
    expect(await redis().llen(keysOf(fn).wake)).toBe(1);
    expect(await take(fn)).toEqual(['2']);
  });

  it('counts jobs that run where the limit is from now on', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a', 'a']);
    await take(fn);
    await share(fn, 'places');
    expect(await take(fn)).toEqual([]);
    expect(await take(fn, success('1:1'))).toEqual(['2']);
    await setLimit(redis(), fn, 'limit', '1:::fair:');
    expect(await redis().keys('shared-limit:places:*')).toEqual(['shared-limit:places:rules']);
    expect(await take(fn)).toEqual([]);
    expect(await take(fn, success('2:1'))).toEqual(['3']);
  });

  it('lets another function start jobs of a key for which this one has waited', async () => {
    const other = `${fn}-other`;
    for (const name of [fn, other]) {
      await share(name, 'left');
      await enqueueLimited(redis(), name, ['a', 'a']);
    }
    expect([await take(other), await take(fn)]).toEqual([['1'], []]);
    await setLimit(redis(), fn, 'limit', '1:::fair:');
    expect(await take(fn)).toEqual(['1']);
    expect(await take(other, success('1:1'))).toEqual(['2']);
    expect(await readLimits(redis(), other, NOW + LEASE_MS)).toMatchObject([{ key: 'a', running: 1 }]);
  });

  describe('with more keys set aside than one call looks at', () => {
    const KEYS = Array.from({ length: 1200 }, (_, i) => `k${i}`);
    const due = async (prefix: string) => redis().zcount(`${prefix}parked`, 0, 0);
    const rest = (of: string) => setLimit(redis(), of, 'rest', '');
    const scores = (prefix: string, score: string) =>
      redis().zadd(`${prefix}parked`, ...KEYS.flatMap((key) => [score, key]));

    it('looks at some in each call, until all are due', async () => {
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      const { limits } = keysOf(fn);
      await scores(limits, '+inf');
      expect(await setLimit(redis(), fn, 'override', '2::')).toBe('more');
      const counts = [await due(limits)];
      while ((await rest(fn)) === 'more') counts.push(await due(limits));
      counts.push(await due(limits));
      expect(counts.at(-1)).toBe(KEYS.length);
      const parts = counts.map((count, index) => count - (counts[index - 1] ?? 0));
      expect(Math.max(...parts)).toBeLessThan(700);
      expect(await redis().hget(keysOf(fn).control, 'looks')).toBeNull();
    });

    it.each(['recovery', 'a later change'])('loses none if its caller is gone, by %s', async (by) => {
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      const { limits } = keysOf(fn);
      await scores(limits, '+inf');
      expect(await setLimit(redis(), fn, 'override', '2::')).toBe('more');
      const next = () =>
        by === 'recovery' ? claim(redis(), fn, { slots: 0 }) : setLimit(redis(), fn, 'override', '2::');
      while ((await redis().hget(keysOf(fn).control, 'looks')) !== null) await next();
      expect(await due(limits)).toBe(KEYS.length);
    });

    it('moves them to a shared limit, and from that back, in parts', async () => {
      const space = `shared-limit:${fn}:`;
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      await scores(keysOf(fn).limits, '+inf');
      let done = await share(fn, fn);
      expect(done).toBe('more');
      while (done === 'more') done = await rest(fn);
      expect([await due(space), await redis().exists(`${keysOf(fn).limits}parked`)]).toEqual([
        KEYS.length,
        0,
      ]);
      await scores(space, '+inf');
      done = await setLimit(redis(), fn, 'limit', '1:::fair:');
      expect(done).toBe('more');
      // Another change before the first has ended.
      done = await setLimit(redis(), fn, 'override', '3::');
      while (done === 'more') done = await rest(fn);
      expect([await due(keysOf(fn).limits), await redis().exists(`${space}parked`)]).toEqual([
        KEYS.length,
        0,
      ]);
      expect(await redis().keys(`shared-limit:${fn}:users:*`)).toEqual([]);
    });

    it('is done by as many calls as that takes', async () => {
      const asked: string[] = [];
      const ask = async (question: (client: Redis) => Promise<LimitChange>) => {
        asked.push(await question(redis()));
        return asked.at(-1) as LimitChange;
      };
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      await scores(keysOf(fn).limits, '+inf');
      expect(await changeLimit(ask, keysOf(fn), 'override', '2::', '')).toBe(true);
      expect(asked.slice(0, -1).every((one) => one === 'more') && asked.at(-1)).toBe('done');
      expect(await due(keysOf(fn).limits)).toBe(KEYS.length);
      expect(await changeLimit(ask, keysOf(`${fn}-none`), 'override', '2::', '')).toBe(false);
    });
  });
});
