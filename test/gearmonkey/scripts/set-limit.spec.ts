import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/wire/protocol.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueueLimited, LEASE_MS, NOW, readLimits, setLimit } from './scripts.js';

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
});
