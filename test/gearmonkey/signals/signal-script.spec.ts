import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { signal } from '../../../lib/gearmonkey/features/signals/signals.js';
import { useRedisServer } from '../../support/use-redis.js';
import { claim, enqueue, enqueueLimited, look, NOW } from '../scripts/scripts.js';

describe('signal.lua', () => {
  const server = useRedisServer();
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const give = (
    name: string,
    {
      data = '1',
      mark = '' as number | '',
      now = NOW,
      by = server.redis,
      token = randomUUID() as string,
    } = {},
  ) => {
    const { jobs, scheduled, wake } = keysOf(fn);
    return signal.run(by, [jobs, scheduled, wake], now, '1', mark, name, data, token);
  };
  /** Job 1 waits an hour for these signals. */
  const waits = async (signals = 'paid') => {
    await claim(server.redis, fn, { slots: 1 });
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'snoozed', '3600000', signals] });
    await server.redis.del(keysOf(fn).wake);
  };
  const ids = async (now: number) => (await claim(server.redis, fn, { now })).claims.map(({ id }) => id);

  it('finds no job that there is not, and writes nothing', async () => {
    await expect(give('paid')).resolves.toBe('missing');
    await expect(server.redis.exists(`job:${fn}:1`)).resolves.toBe(0);
  });

  it('makes the job that waits for it due now, and wakes a worker', async () => {
    await enqueue(server.redis, fn, ['a']);
    await waits();
    await expect(give('paid', { now: NOW + 5 })).resolves.toBe('signalled');
    await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
    await expect(ids(NOW + 4)).resolves.toEqual([]);
    await expect(ids(NOW + 5)).resolves.toEqual(['1']);
    await expect(server.redis.hget(`job:${fn}:1`, 'signal:paid')).resolves.toBe(`${NOW + 5}:1`);
  });

  it('returns the same if a call is sent again, also when the job has ended', async () => {
    await enqueue(server.redis, fn, ['a']);
    for (const _ of ['once', 'again']) await expect(give('paid', { token: 't' })).resolves.toBe('signalled');
    await expect(give('paid', { token: 'of another' })).resolves.toBe('known');
    await claim(server.redis, fn);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'success', 'out', ''] });
    await expect(give('paid', { token: 't' })).resolves.toBe('signalled');
    await expect(give('paid', { token: 'of another' })).resolves.toBe('finished');
  });

  it('is given by a program that names no call', async () => {
    const { jobs, scheduled, wake } = keysOf(fn);
    await enqueue(server.redis, fn, ['a']);
    const older = [jobs, scheduled, wake, NOW, '1', '', 'paid', '1'];
    const answers = [];
    for (const _ of ['first', 'second']) answers.push(await server.redis.eval(signal.text, 3, ...older));
    expect(answers).toEqual(['signalled', 'known']);
    await expect(server.redis.hkeys(`job:${fn}:1`)).resolves.not.toContain('signalled:paid');
  });

  it('makes a job with a key due now', async () => {
    await enqueueLimited(server.redis, fn, ['a']);
    await waits();
    await give('paid');
    await expect(ids(NOW)).resolves.toEqual(['1']);
  });

  it.each(['paid', 'sent', 'lost'])('makes a job that waits for several due now, here "%s"', async (name) => {
    await enqueue(server.redis, fn, ['a']);
    await waits('paid:sent:lost');
    await give(name);
    await expect(ids(NOW)).resolves.toEqual(['1']);
  });

  it.each(['pai', 'aid', 'sen', 'd:s', '.*'])(
    'is kept for a job that waits for several others: "%s"',
    async (name) => {
      await enqueue(server.redis, fn, ['a']);
      await waits('paid:sent');
      await give(name);
      await expect(ids(NOW)).resolves.toEqual([]);
    },
  );

  it.each(['paid', 'sent'])(
    'that the job has before it waits for several makes it due at once: "%s"',
    async (name) => {
      await enqueue(server.redis, fn, ['a']);
      await give(name);
      await waits('paid:sent');
      await expect(ids(NOW)).resolves.toEqual(['1']);
    },
  );

  it('is kept for a job that waits for another one', async () => {
    await enqueue(server.redis, fn, ['a']);
    await waits();
    await expect(give('sent')).resolves.toBe('signalled');
    await expect(ids(NOW)).resolves.toEqual([]);
  });

  it('is kept for a job in a list, which is not queued twice', async () => {
    await enqueue(server.redis, fn, ['a']);
    await server.redis.hset(`job:${fn}:1`, 'waits', 'paid');
    await expect(give('paid')).resolves.toBe('signalled');
    await expect(server.redis.exists(keysOf(fn).scheduled)).resolves.toBe(0);
  });

  it('counts once: later data changes nothing', async () => {
    await enqueue(server.redis, fn, ['a']);
    await expect(give('paid', { data: 'first' })).resolves.toBe('signalled');
    await expect(give('paid', { data: 'second' })).resolves.toBe('known');
    await expect(server.redis.hget(`job:${fn}:1`, 'signal:paid')).resolves.toBe(`${NOW}:first`);
  });

  it.each([
    [7_000_000, 'signalled'],
    [8_000_000, 'lost'],
  ])('of a client that knows the mark %d of the job 7000000: %s', async (mark, expected) => {
    await enqueue(server.redis, fn, ['a'], { mark: 7_000_000 });
    await expect(give('paid', { mark })).resolves.toBe(expected);
    await expect(server.redis.hexists(`job:${fn}:1`, 'signal:paid')).resolves.toBe(
      expected === 'lost' ? 0 : 1,
    );
  });

  it('says that a job has ended, and writes nothing', async () => {
    await enqueue(server.redis, fn, ['a']);
    await claim(server.redis, fn);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'success', 'x', ''] });
    await expect(give('paid')).resolves.toBe('finished');
    await expect(server.redis.hexists(`job:${fn}:1`, 'signal:paid')).resolves.toBe(0);
  });

  it('of a plain client is taken by the next look', async () => {
    await enqueue(server.redis, fn, ['a']);
    await waits();
    await server.redis.lpush(`queue:${fn}:signals`, '1:paid:yes');
    await look(server.redis, [fn]);
    await expect(ids(NOW)).resolves.toEqual(['1']);
    await expect(server.redis.hget(`job:${fn}:1`, 'signal:paid')).resolves.toBe(`${NOW}:yes`);
  });

  describe.each([
    ...['hmget', 'hset', 'zadd'].map((right) => [right, 'no key', enqueue] as const),
    ...['hmget', 'hset', 'zadd', 'zrem', 'srem', 'sadd'].map(
      (right) => [right, 'a key', enqueueLimited] as const,
    ),
  ])('for a user who lost the right to %s, of a job with %s', (right, _, add) => {
    let lacking: Redis;
    beforeEach(async () => {
      await server.redis.acl('SETUSER', 'lacking', 'reset', 'on', 'nopass', '~*', '&*', '+@all', `-${right}`);
      lacking = server.redis.duplicate({ username: 'lacking', password: 'any' });
      await add(server.redis, fn, ['a']);
      await waits();
    });
    afterEach(() => lacking.disconnect());

    it('is refused, and can be given later', async () => {
      await expect(give('paid', { by: lacking })).rejects.toThrow(/user/);
      await expect(server.redis.hexists(`job:${fn}:1`, 'signal:paid')).resolves.toBe(0);
      await expect(give('paid')).resolves.toBe('signalled');
      await expect(ids(NOW)).resolves.toEqual(['1']);
    });

    it('of a plain client waits until a worker may give it', async () => {
      await server.redis.hset(keysOf(fn).control, 'limit', '1:::fair:');
      await server.redis.lpush(`queue:${fn}:signals`, '1:paid:yes');
      await look(lacking, [fn]).catch(() => undefined);
      await expect(server.redis.llen(`queue:${fn}:signals`)).resolves.toBe(1);
      await look(server.redis, [fn]);
      await expect(ids(NOW)).resolves.toEqual(['1']);
    });
  });
});
