import { describe, expect, it } from '@jest/globals';
import { ChannelLog } from '../../conformance/wire.js';
import { useRedisServer } from '../../support/use-redis.js';
import { enqueue, NOW, claim, unique } from './scripts.js';

describe('enqueue.lua', () => {
  const server = useRedisServer();

  it.each([
    ['the queue', 'queue:FN:normal', 'WRONGTYPE'],
    ['the ids', 'uid:FN', 'integer'],
  ])('creates no job if %s has the wrong type', async (_, key, reason) => {
    const fn = server.fn();
    await server.redis.set(key.replace('FN', fn), 'text');
    await expect(enqueue(server.redis, fn, ['a'])).rejects.toThrow(reason);
    await expect(server.redis.keys(`job:${fn}:*`)).resolves.toEqual([]);
  });

  describe('refused half-way', () => {
    /** What a function has, but for the last id. */
    const leftOf = async (fn: string) =>
      (await server.redis.keys(`*:${fn}*`)).filter((key) => key !== `uid:${fn}`).sort();

    it.each([
      ['a list', {}],
      ['scheduled', { queue: 'scheduled', score: 1 } as const],
    ])('undoes what it wrote if a key of a job is in use: %s', async (_, placement) => {
      const fn = server.fn();
      await server.redis.set(`job:${fn}:3`, 'text');
      await expect(enqueue(server.redis, fn, ['a', 'b', 'c', 'd'], placement)).rejects.toThrow('WRONGTYPE');
      await expect(leftOf(fn)).resolves.toEqual([`job:${fn}:3`]);
      await expect(server.redis.get(`job:${fn}:3`)).resolves.toBe('text');
    });

    it('keeps waiting jobs and the record of the earlier call', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b'], { call: 1 });
      await server.redis.set(`job:${fn}:4`, 'text');
      await expect(enqueue(server.redis, fn, ['c', 'd', 'e'], { call: 2 })).rejects.toThrow('WRONGTYPE');
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['2', '1']);
      await expect(server.redis.get(`sender:${fn}:test`)).resolves.toBe('1:2');
    });

    it('writes nothing if the user may not publish', async () => {
      const fn = server.fn();
      await server.redis.call('ACL', 'SETUSER', 'mute', 'on', 'nopass', '~*', '+@all', 'resetchannels');
      const mute = server.redis.duplicate({ username: 'mute', password: 'any' });
      await expect(enqueue(mute, fn, ['a', 'b'])).rejects.toThrow("can't publish to the channel");
      mute.disconnect();
      await expect(leftOf(fn)).resolves.toEqual([]);
    });
  });

  it('writes the fields of the protocol and the time of creation', async () => {
    const fn = server.fn();
    const log = await ChannelLog.open(server.redis, fn);
    await expect(enqueue(server.redis, fn, ['a'])).resolves.toBe(1);
    await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toEqual({
      status: 'idle',
      input: 'a',
      created: `${NOW}`,
      mark: '0',
    });
    await expect(server.redis.ttl(`job:${fn}:1`)).resolves.toBe(-1);
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
    await expect(log.close()).resolves.toEqual(['create:1']);
  });

  it('returns the last of many consecutive ids, with the first at the front', async () => {
    const fn = server.fn();
    await server.redis.set(`uid:${fn}`, 41);
    await expect(enqueue(server.redis, fn, ['a', 'b', 'c'], { queue: 'high' })).resolves.toBe(44);
    await expect(server.redis.lrange(`queue:${fn}:high`, 0, -1)).resolves.toEqual(['44', '43', '42']);
    await expect(server.redis.hget(`job:${fn}:43`, 'input')).resolves.toBe('b');
  });

  it('accepts more than a thousand jobs', async () => {
    const fn = server.fn();
    const inputs = Array.from({ length: 2345 }, (_, i) => `${i}`);
    await expect(enqueue(server.redis, fn, inputs)).resolves.toBe(2345);
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(2345);
    await expect(server.redis.hget(`job:${fn}:2345`, 'input')).resolves.toBe('2344');
  });

  it('writes ids above a hundred million million without an exponent', async () => {
    const fn = server.fn();
    await server.redis.set(`uid:${fn}`, 10 ** 15);
    await enqueue(server.redis, fn, ['a']);
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1000000000000001']);
  });

  it('schedules with a fraction of a second', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b'], { queue: 'scheduled', score: 1234.5 });
    await expect(server.redis.zscore(`queue:${fn}:scheduled`, '1')).resolves.toBe('1234.5');
    await expect(server.redis.zscore(`queue:${fn}:scheduled`, '2')).resolves.toBe('1234.5');
    await expect(server.redis.hget(`job:${fn}:1`, 'due')).resolves.toBe('1234500');
  });

  it('sets the wake marker once', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    await enqueue(server.redis, fn, ['c']);
    await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
  });

  describe('sent twice, as after a lost reply', () => {
    it('returns the same ids and creates nothing', async () => {
      const fn = server.fn();
      const log = await ChannelLog.open(server.redis, fn);
      for (const _ of ['once', 'again', 'and again'])
        await expect(enqueue(server.redis, fn, ['a', 'b'], { call: 1 })).resolves.toBe(2);
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['2', '1']);
      await expect(server.redis.get(`uid:${fn}`)).resolves.toBe('2');
      await expect(log.close()).resolves.toEqual(['create:1', 'create:2']);
    });

    it('creates nothing even if the job has run meanwhile', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a'], { call: 1 });
      await claim(server.redis, fn);
      await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'success', 'out', ''] });
      await expect(enqueue(server.redis, fn, ['a'], { call: 1 })).resolves.toBe(1);
      await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [], dropped: [] });
    });

    it('creates nothing after a later call of its sender', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a'], { call: 1 });
      await enqueue(server.redis, fn, ['b'], { call: 2 });
      await enqueue(server.redis, fn, ['a'], { call: 1 });
      await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(2);
    });

    it('creates a job if the sender is another one', async () => {
      const fn = server.fn();
      await expect(enqueue(server.redis, fn, ['a'], { call: 1 })).resolves.toBe(1);
      await expect(enqueue(server.redis, fn, ['b'], { call: 1, sender: 'other' })).resolves.toBe(2);
    });

    it.each([
      ['READONLY', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
      [
        'NOREPLICAS',
        ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
        ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
      ],
    ] as const)(
      'is refused with %s: another server may be the master, without these jobs',
      async (code, [begin, ...how], [end, ...back]) => {
        const fn = server.fn();
        await enqueue(server.redis, fn, ['a'], { call: 1 });
        await unique(server.redis, fn, [{ key: 'a' }], { call: 1, sender: 'unique' });
        await server.redis.call(begin, ...how);
        try {
          await expect(enqueue(server.redis, fn, ['a'], { call: 1 })).rejects.toThrow(code);
          await expect(
            unique(server.redis, fn, [{ key: 'a' }], { call: 1, sender: 'unique' }),
          ).rejects.toThrow(code);
        } finally {
          await server.redis.call(end, ...back);
        }
      },
    );

    it('is remembered for the given time after it was last sent', async () => {
      const fn = server.fn();
      const ttl = () => server.redis.ttl(`sender:${fn}:short`);
      await enqueue(server.redis, fn, ['a'], { sender: 'short', call: 1, memory: 1000 });
      expect(await ttl()).toBeGreaterThan(900);
      await enqueue(server.redis, fn, ['a'], { sender: 'short', call: 1, memory: 2000 });
      expect(await ttl()).toBeGreaterThan(1900);
    });
  });

  it("keeps the jobs' own options", async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b'], { options: '{"timeout":5}' });
    const { claims } = await claim(server.redis, fn);
    expect(claims.map(({ options }) => options)).toEqual(['{"timeout":5}', '{"timeout":5}']);
  });

  it('gives no job the options of another', async () => {
    const fn = server.fn();
    await expect(enqueue(server.redis, fn, ['a', '{"timeout":5}', 'b', ''], { options: '*' })).resolves.toBe(
      2,
    );
    const { claims } = await claim(server.redis, fn);
    expect(claims.map(({ input, options }) => [`${input}`, options])).toEqual([
      ['a', '{"timeout":5}'],
      ['b', ''],
    ]);
  });
});
