import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { useRedis, useRedisServer } from '../../support/use-redis.js';
import { NOW, presence, PRESENCE_MS, signed } from './scripts.js';

/** A call just before, and just after, the presence of NOW has ended. */
const STILL = NOW + PRESENCE_MS - 1;
const OVER = NOW + PRESENCE_MS;

const rollCall = (redis: Redis, fn: string, now: number) => presence(redis, fn, '', now, 0);

describe('presence.lua', () => {
  const server = useRedis();
  const count = (fn: string) => server.redis.get(`count:${fn}`);
  const ttl = (fn: string) => server.redis.pttl(`count:${fn}`);
  const plain = {
    start: (fn: string) => server.redis.incr(`count:${fn}`),
    stop: (fn: string) => server.redis.decr(`count:${fn}`),
  };

  it('fails for a count of the wrong type and does not change it', async () => {
    const fn = server.fn();
    await server.redis.lpush(`count:${fn}`, 'x');
    await expect(presence(server.redis, fn, 'a')).rejects.toThrow('WRONGTYPE');
    await expect(server.redis.lrange(`count:${fn}`, 0, -1)).resolves.toEqual(['x']);
  });

  it('counts each worker once for any number of heartbeats', async () => {
    const fn = server.fn();
    await expect(presence(server.redis, fn, 'a')).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'a', STILL)).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'b')).resolves.toBe(2);
    await expect(count(fn)).resolves.toBe('2');
  });

  it('counts a worker again that was silent for too long', async () => {
    const fn = server.fn();
    await presence(server.redis, fn, 'a');
    await presence(server.redis, fn, 'b');
    await expect(presence(server.redis, fn, 'a', OVER + 5)).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'b', OVER + 5)).resolves.toBe(2);
  });

  it('subtracts a worker once that signs off', async () => {
    const fn = server.fn();
    for (const worker of ['a', 'b']) await presence(server.redis, fn, worker);
    await expect(presence(server.redis, fn, 'a', NOW, 0)).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'a', NOW, 0)).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'stranger', NOW, 0)).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'b', NOW, 0)).resolves.toBe(0);
    await expect(presence(server.redis, fn, 'b', NOW, 0)).resolves.toBe(0);
    await expect(count(fn)).resolves.toBe('0');
  });

  it('subtracts a dead worker at the next heartbeat of another', async () => {
    const fn = server.fn();
    await presence(server.redis, fn, 'dead');
    await presence(server.redis, fn, 'a', NOW + 50);
    await expect(presence(server.redis, fn, 'a', STILL)).resolves.toBe(2);
    await expect(presence(server.redis, fn, 'a', OVER)).resolves.toBe(1);
  });

  it('keeps a count without expiry, so plain workers stay counted', async () => {
    const fn = server.fn();
    await presence(server.redis, fn, 'dies');
    await plain.start(fn);
    await expect(ttl(fn)).resolves.toBe(-1);
    await expect(server.redis.pttl(`workers:${fn}`)).resolves.toBe(-1);
    await expect(rollCall(server.redis, fn, OVER)).resolves.toBe(1);
    await plain.stop(fn);
    await expect(rollCall(server.redis, fn, OVER)).resolves.toBe(0);
    await plain.start(fn);
    await expect(count(fn)).resolves.toBe('1');
  });

  it('subtracts dead workers in a roll call if no worker is left', async () => {
    const fn = server.fn();
    await presence(server.redis, fn, 'dead');
    await presence(server.redis, fn, 'dead too');
    await expect(rollCall(server.redis, fn, STILL)).resolves.toBe(2);
    await expect(rollCall(server.redis, fn, OVER)).resolves.toBe(0);
    await expect(count(fn)).resolves.toBe('0');
  });

  it('writes nothing for a roll call of a function without workers', async () => {
    const fn = server.fn();
    await expect(rollCall(server.redis, fn, NOW)).resolves.toBe(0);
    await expect(server.redis.exists(`count:${fn}`, `workers:${fn}`)).resolves.toBe(0);
  });

  it.each(['abc', '', '1.5', '1e3', '-0x1', 'nan', 'inf', '9223372036854775807', ' 1'])(
    'corrects a count of %j',
    async (nonsense) => {
      const fn = server.fn();
      await presence(server.redis, fn, 'a');
      await server.redis.set(`count:${fn}`, nonsense);
      await expect(presence(server.redis, fn, 'b')).resolves.toBe(2);
      await expect(count(fn)).resolves.toBe('2');
    },
  );

  it('changes the count only by differences, since plain workers count themselves', async () => {
    const fn = server.fn();
    await plain.start(fn);
    await plain.start(fn);
    await expect(presence(server.redis, fn, 'a')).resolves.toBe(3);
    await expect(presence(server.redis, fn, 'dies')).resolves.toBe(4);
    await plain.stop(fn);
    await expect(presence(server.redis, fn, 'a', OVER + PRESENCE_MS)).resolves.toBe(2);
    await expect(presence(server.redis, fn, 'a', OVER + PRESENCE_MS, 0)).resolves.toBe(1);
    await plain.stop(fn);
    await expect(count(fn)).resolves.toBe('0');
  });

  it('restores a lost count', async () => {
    const fn = server.fn();
    for (const worker of ['a', 'b']) await presence(server.redis, fn, worker);
    await server.redis.del(`count:${fn}`);
    await expect(presence(server.redis, fn, 'a')).resolves.toBe(2);
    await server.redis.del(`workers:${fn}`);
    await presence(server.redis, fn, 'a');
    await presence(server.redis, fn, 'b');
    await presence(server.redis, fn, 'a');
    await server.redis.del(`count:${fn}`, `workers:${fn}`);
    await expect(presence(server.redis, fn, 'a')).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'b')).resolves.toBe(2);
  });

  it('restores the count after a plain worker signs off that was counted before a FLUSHALL', async () => {
    const fn = server.fn();
    await presence(server.redis, fn, 'a');
    await plain.start(fn);
    await server.redis.del(`count:${fn}`, `workers:${fn}`);
    await presence(server.redis, fn, 'a');
    await plain.stop(fn);
    await expect(presence(server.redis, fn, 'a')).resolves.toBe(1);
  });

  it('never makes the count negative', async () => {
    const fn = server.fn();
    await presence(server.redis, fn, 'a');
    await server.redis.set(`count:${fn}`, '0');
    await expect(presence(server.redis, fn, 'a', NOW, 0)).resolves.toBe(0);
    await server.redis.set(`count:${fn}`, '-5');
    await expect(presence(server.redis, fn, 'b', NOW, 0)).resolves.toBe(0);
  });

  describe('as a heartbeat', () => {
    /** Times of beats, such that each function has had its turn. */
    const round = Array.from({ length: 8 }, (_, beat) => NOW + (beat * PRESENCE_MS) / 4);
    const beat = (functions: string[], now: number) =>
      signed(server.redis, functions, 'a', now, 10 * PRESENCE_MS, 1);

    it('keeps the worker present in all its functions', async () => {
      const functions = [server.fn(), server.fn(), server.fn()];
      await signed(server.redis, functions, 'a', NOW, 10 * PRESENCE_MS);
      await beat(functions, OVER);
      for (const fn of functions) {
        await expect(server.redis.zscore(`workers:${fn}`, 'a')).resolves.toBe(`${OVER + 10 * PRESENCE_MS}`);
        await expect(count(fn)).resolves.toBe('1');
      }
    });

    it('counts a worker again that was subtracted, and returns the count', async () => {
      const [one, other] = [server.fn(), server.fn()];
      await signed(server.redis, [one, other], 'a');
      await presence(server.redis, other, 'b', OVER);
      const counts = await beat([one, other], OVER);
      expect(counts[1]).toBe(2);
      await expect(count(one)).resolves.toBe('1');
    });

    it('subtracts dead workers and restores lost counts, at one part of the functions each time', async () => {
      const functions = Array.from({ length: 10 }, () => server.fn());
      await signed(server.redis, functions, 'dead');
      await signed(server.redis, functions, 'a', NOW, 10 * PRESENCE_MS);
      const begun = NOW + 2 * PRESENCE_MS;
      const checked: number[] = [];
      for (const at of round) {
        const counts = await beat(functions, begun + 10 * (at - NOW));
        checked.push(counts.filter((counted) => counted !== -1).length);
      }
      expect(Math.max(...checked)).toBe(2);
      for (const fn of functions) await expect(count(fn)).resolves.toBe('1');
      await server.redis.del(...functions.map((fn) => `count:${fn}`));
      for (const at of round) await beat(functions, begun + 10 * (at - NOW));
      for (const fn of functions) await expect(count(fn)).resolves.toBe('1');
    });

    it('keeps the worker present in other functions if it fails at one', async () => {
      const [spoilt, sound] = [server.fn(), server.fn()];
      await server.redis.set(`workers:${spoilt}`, 'x');
      await expect(signed(server.redis, [spoilt, sound], 'a')).rejects.toThrow('WRONGTYPE');
      await expect(count(sound)).resolves.toBe('1');
    });
  });
});

describe('presence.lua, called by a user whose rights were withdrawn', () => {
  const server = useRedisServer();
  const set = (...rights: string[]) => server.redis.acl('SETUSER', 'worker', ...rights);
  let user: Redis;
  beforeAll(async () => {
    await set('on', '>secret', '~*', '+@all');
    user = new Redis(server.url.replace('redis://', 'redis://worker:secret@'));
  });
  afterEach(() => set('+@all'));
  afterAll(() => user.disconnect());

  describe.each(['get', 'zcard', 'incrby'])('%s', (right) => {
    it('leaves a worker that signs off on the list, to be subtracted later', async () => {
      const fn = server.fn();
      for (const worker of ['a', 'b']) await presence(user, fn, worker);
      await set(`-${right}`);
      await expect(presence(user, fn, 'a', NOW, 0)).rejects.toThrow('NOPERM');
      await set('+@all');
      await expect(presence(user, fn, 'a', NOW, 0)).resolves.toBe(1);
    });

    it('leaves dead workers on the list, and keeps the one that calls', async () => {
      const fn = server.fn();
      await presence(user, fn, 'dead');
      await presence(user, fn, 'a', STILL);
      await set(`-${right}`);
      await expect(presence(user, fn, 'a', OVER)).rejects.toThrow('NOPERM');
      await set('+@all');
      await expect(server.redis.zscore(`workers:${fn}`, 'a')).resolves.toBe(`${OVER + PRESENCE_MS}`);
      await expect(presence(user, fn, 'a', OVER + 1)).resolves.toBe(1);
    });

    it('leaves dead workers on the list in a roll call', async () => {
      const fn = server.fn();
      await presence(user, fn, 'dead');
      await set(`-${right}`);
      await rollCall(user, fn, OVER).catch(() => undefined);
      await set('+@all');
      await expect(rollCall(user, fn, OVER)).resolves.toBe(0);
    });

    it('enters no worker that is not counted', async () => {
      const fn = server.fn();
      await set(`-${right}`);
      await expect(presence(user, fn, 'a')).rejects.toThrow('NOPERM');
      await expect(server.redis.exists(`workers:${fn}`)).resolves.toBe(0);
    });
  });
});
