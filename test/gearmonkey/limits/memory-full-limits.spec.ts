import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedis } from '../../support/use-redis.js';
import { cancel, claim, enqueueLimited, LEASE_MS, NOW, readLimits, setLimit } from '../scripts/scripts.js';

describe('A server whose memory is full, with limits', () => {
  const server = useRedis();
  const redis = () => server.redis;
  const setMemory = (bytes: '0' | '1') => redis().config('SET', 'maxmemory', bytes);
  const ids = async (taken: ReturnType<typeof claim>) => (await taken).claims.map(({ id }) => id);
  const success = (member: string) => [member, 'success', 'output', ''];
  let fn = '';

  /** All keys of the function, with their contents. */
  const everything = async () => {
    const keys = (await redis().keys(`*${fn}*`)).toSorted();
    return Promise.all(keys.map(async (key) => [key, (await redis().dumpBuffer(key))?.toString('base64')]));
  };

  beforeEach(async () => {
    fn = server.fn();
    await enqueueLimited(redis(), fn, ['a', 'a', 'b', 'a']);
    expect(await ids(claim(redis(), fn, { slots: 1 }))).toEqual(['1']);
  });
  afterEach(() => setMemory('0'));

  it.each(['wait', 'refuse', 'replace', 'replace-running'])(
    'refuses new jobs whose full keys %s, and writes nothing',
    async (onFull) => {
      const before = await everything();
      await setMemory('1');
      for (const key of ['a', 'new'])
        await expect(enqueueLimited(redis(), fn, [key], { onFull })).rejects.toThrow('OOM');
      expect(await everything()).toEqual(before);
    },
  );

  it('refuses new numbers, and writes nothing', async () => {
    const before = await everything();
    await setMemory('1');
    await expect(setLimit(redis(), fn, 'override', '5:::fair:')).rejects.toThrow('OOM');
    await expect(setLimit(redis(), fn, 'limit', '5:::strict:')).rejects.toThrow('OOM');
    expect(await everything()).toEqual(before);
  });

  it('claims jobs of keys that are free, and no others', async () => {
    await setMemory('1');
    expect(await ids(claim(redis(), fn))).toEqual(['3']);
    expect(await ids(claim(redis(), fn))).toEqual([]);
    expect(await readLimits(redis(), fn)).toMatchObject([
      { key: 'a', running: 1, waiting: 2 },
      { key: 'b', running: 1, waiting: 0 },
    ]);
  });

  it.each([
    ['success', 'output', ''],
    ['error', 'message', '{}'],
    ['retry', '0', '{}'],
    ['snoozed', '0', ''],
    ['released', '', ''],
  ])('frees the place of a job that ended as %s', async (...outcome) => {
    await setMemory('1');
    await claim(redis(), fn, { slots: 0, outcomes: ['1:1', ...outcome] });
    expect(await readLimits(redis(), fn, NOW, 'a')).toMatchObject([{ running: 0 }]);
  });

  it('gives the place of a settled job to the next', async () => {
    await setMemory('1');
    expect(await ids(claim(redis(), fn, { outcomes: success('1:1') }))).toEqual(['3', '2']);
  });

  it('recovers a job that lost its worker, with its place', async () => {
    await setMemory('1');
    expect(await ids(claim(redis(), fn, { now: NOW + LEASE_MS + 1 }))).toEqual(['3', '1']);
    expect(await readLimits(redis(), fn, NOW, 'a')).toMatchObject([{ running: 1, waiting: 2 }]);
  });

  it('cancels a running and a waiting job', async () => {
    await setMemory('1');
    expect(await cancel(redis(), fn, '1')).toBe('cancelled');
    expect(await cancel(redis(), fn, '4')).toBe('cancelled');
    expect(await ids(claim(redis(), fn))).toEqual(['3', '2']);
  });

  it('has lost nothing when there is memory again', async () => {
    await setMemory('1');
    await ids(claim(redis(), fn));
    await expect(enqueueLimited(redis(), fn, ['a'])).rejects.toThrow('OOM');
    await claim(redis(), fn, { slots: 0, outcomes: [...success('1:1'), '3:1', 'retry', '0', '{}'] });
    await setMemory('0');
    const ran: string[] = [];
    let outcomes: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const taken = (await claim(redis(), fn, { outcomes })).claims;
      ran.push(...taken.map(({ id }) => id));
      outcomes = taken.flatMap(({ id, token }) => success(`${id}:${token}`));
    }
    expect(ran.toSorted()).toEqual(['2', '3', '4']);
    expect(await redis().exists(`${keysOf(fn).limits}places`)).toBe(0);
  });
});
