import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedisServer } from '../../support/use-redis.js';
import { cancel, claim, enqueueLimited, LEASE_MS, look, NOW, readLimits, renew } from '../scripts/scripts.js';

describe('a limit that functions share', () => {
  const server = useRedisServer();
  const redis = () => server.redis;
  let [one, two, rules] = ['', '', { rules: '', shared: '1::' }];
  beforeEach(() => {
    [one, two] = [server.fn(), server.fn()];
    rules = { rules: `:::fair:${one}`, shared: '1::' };
  });

  const LONG = 3_600_000;
  const ids = async (taken: ReturnType<typeof claim>) => (await taken).claims.map(({ id }) => id);
  const success = (member: string) => [member, 'success', 'output', ''];
  const take = (fn: string, outcomes: string[] = [], now = NOW) =>
    ids(claim(redis(), fn, { slots: 1, lease: LONG, outcomes, now }));
  const add = (fn: string, count: number, more = {}) =>
    enqueueLimited(
      redis(),
      fn,
      Array.from({ length: count }, () => 'a'),
      { ...rules, ...more },
    );

  it('gives a freed place to the function that waits, though the other asks in the same call', async () => {
    await add(one, 3);
    await add(two, 2);
    expect(await take(one)).toEqual(['1']);
    expect(await take(two)).toEqual([]);
    expect(await take(one, success('1:1'))).toEqual([]);
    expect(await redis().llen(keysOf(two).wake)).toBe(1);
    expect(await take(two)).toEqual(['1']);
    expect(await take(two, success('1:1'))).toEqual([]);
    expect(await take(one)).toEqual(['2']);
  });

  it('frees the place of a cancelled job for the other function', async () => {
    await add(one, 1);
    await add(two, 1);
    expect([await take(one), await take(two)]).toEqual([['1'], []]);
    expect(await cancel(redis(), one, '1')).toBe('cancelled');
    expect(await take(two)).toEqual(['1']);
  });

  it('sets none aside for a function whose job was cancelled', async () => {
    await add(one, 2);
    await add(two, 1);
    await take(one);
    expect(await take(two)).toEqual([]);
    expect(await redis().pttl(`shared-limit:${one}:line:a`)).toBeGreaterThan(0);
    expect(await cancel(redis(), two, '1')).toBe('cancelled');
    expect(await take(one, success('1:1'))).toEqual(['2']);
  });

  it('wakes a function again for a place that the one whose turn it was has left', async () => {
    const twoPlaces = { shared: '2::' };
    await add(one, 4, twoPlaces);
    await add(two, 1, twoPlaces);
    expect([await take(one), await take(one), await take(two)]).toEqual([['1'], ['2'], []]);
    await claim(redis(), one, { slots: 0, outcomes: [...success('1:1'), ...success('2:1')] });
    expect(await take(one)).toEqual([]);
    await redis().del(keysOf(one).wake);
    expect(await take(two)).toEqual(['1']);
    expect(await redis().llen(keysOf(one).wake)).toBe(1);
    expect(await take(one)).toEqual(['3']);
  });

  it('leaves the places of jobs of its own to a recovery', async () => {
    for (const _ of ['runs', 'waits']) {
      await add(one, 1);
      await claim(redis(), one);
    }
    const later = await claim(redis(), one, { recover: 0, now: NOW + LEASE_MS });
    expect(later.claims).toEqual([]);
    expect(await renew(redis(), one, NOW + LEASE_MS, ['1:1'])).toEqual([]);
  });

  it('sets a place aside for no longer than a second', async () => {
    await add(one, 4);
    await add(two, 1);
    await take(one);
    await take(two);
    expect(await take(one, success('1:1'))).toEqual([]);
    expect(await take(one, [], NOW + 999)).toEqual([]);
    expect(await take(one, [], NOW + 1000)).toEqual(['2']);
    expect(await take(one, success('2:1'), NOW + 1001)).toEqual(['3']);
    expect(await take(two, [], NOW + 1001)).toEqual([]);
    expect(await take(one, success('3:1'), NOW + 1002)).toEqual([]);
    expect(await take(two, [], NOW + 1002)).toEqual(['1']);
  });

  it('sets none aside for a function that no worker has asked for', async () => {
    await add(two, 5);
    await add(one, 2);
    expect(await take(one)).toEqual(['1']);
    expect(await take(one, success('1:1'))).toEqual(['2']);
  });

  it('goes on while a job of a strict function holds its key', async () => {
    const strict = { rules: `:::strict:${one}` };
    await add(two, 2, strict);
    await take(two);
    await claim(redis(), two, { slots: 1, outcomes: ['1:1', 'retry', String(LONG), '{}'] });
    await add(one, 1);
    expect(await take(one)).toEqual(['1']);
    expect(await take(one, success('1:1'))).toEqual([]);
    expect(await take(two, [], NOW + LONG)).toEqual(['1']);
  });

  it('frees the places of a function whose workers have died', async () => {
    await add(two, 1);
    await add(one, 1);
    await claim(redis(), two);
    const waiting = await claim(redis(), one);
    expect(waiting).toMatchObject({ claims: [], wait: LEASE_MS });
    expect(await look(redis(), [one], NOW + 1)).toMatchObject([{ wait: LEASE_MS - 1 }]);
    expect(await take(one, [], NOW + LEASE_MS)).toEqual(['1']);
    expect(await renew(redis(), two, NOW + LEASE_MS, ['1:1'])).toEqual(['1:1']);
    expect(await take(two, [], NOW + LEASE_MS)).toEqual([]);
    expect(await readLimits(redis(), two, NOW + LEASE_MS, 'a')).toMatchObject([{ running: 1, waiting: 1 }]);
    await claim(redis(), one, { slots: 0, outcomes: success('1:1'), now: NOW + LEASE_MS });
    const again = await claim(redis(), two, { now: NOW + LEASE_MS });
    expect(again.claims).toMatchObject([{ id: '1', stalls: 1 }]);
  });

  describe('after an outage', () => {
    const [lease, grace, back] = [8000, 3000, NOW + 80_000];

    beforeEach(async () => {
      await add(two, 1);
      await add(one, 1);
      await claim(redis(), two, { lease });
      await claim(redis(), one);
      for (const at of [back, back + 1000, back + 2000]) expect(await take(one, [], at)).toEqual([]);
    });

    it('gives the workers of another function time to renew', async () => {
      expect(await renew(redis(), two, back + 2000 + lease, ['1:1'])).toEqual([]);
      expect(await take(one, [], back + grace)).toEqual([]);
      expect(await renew(redis(), two, back + grace + lease, ['1:1'])).toEqual([]);
    });

    it('frees the places of one whose workers have died meanwhile', async () => {
      expect(await take(one, [], back + grace)).toEqual(['1']);
    });

    it('leaves them to their function if this user may not read when it was looked at', async () => {
      const keys = ['~[^r]*', '~retrying:*', `~recovery:${one}`];
      await redis().acl('SETUSER', 'lacking', 'reset', 'on', '>x', '+@all', '&*', ...keys);
      const lacking = redis().duplicate({ username: 'lacking', password: 'x' });
      const claimed = await claim(lacking, one, { slots: 1, lease: LONG, now: back + grace });
      lacking.disconnect();
      await redis().acl('DELUSER', 'lacking');
      expect(claimed.claims).toEqual([]);
      expect(await redis().zscore(keysOf(two).leases, '1:1')).not.toBeNull();
    });
  });
});
