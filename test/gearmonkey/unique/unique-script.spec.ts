import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ChannelLog } from '../../conformance/wire.js';
import { useRedisServer } from '../../support/use-redis.js';
import { cancel, claim, enqueue, NOW, unique } from '../scripts/scripts.js';

const MARK = 7_000_000;
/** A call behind those that number themselves, through all suites of a process. */
const LATER = 1_000_000_000;

describe('unique.lua', () => {
  const server = useRedisServer();
  const hash = (fn: string, id: number) => server.redis.hgetall(`job:${fn}:${id}`);
  const entries = (fn: string) => server.redis.hgetall(`unique:${fn}`);
  /** Ends a waiting job. */
  const finish = (fn: string, id: number) => cancel(server.redis, fn, `${id}`);

  describe('with malformed input', () => {
    it.each(['nonsense', 'throttle', 'throttle:', 'debounce:x', 'throttle:-1', 'unfinished:5', ':5'])(
      'refuses the rule %j and writes nothing',
      async (rule) => {
        const fn = server.fn();
        const jobs = [{ key: 'a' }, { key: 'b', rule }];
        await expect(unique(server.redis, fn, jobs)).rejects.toThrow('malformed');
        await expect(server.redis.keys(`*${fn}*`)).resolves.toEqual([]);
      },
    );

    it.each([
      ['the unique keys', 'unique:FN', 'WRONGTYPE'],
      ['the queue', 'queue:FN:normal', 'WRONGTYPE'],
      ['the ids', 'uid:FN', 'integer'],
    ])('creates no job if %s have the wrong type', async (_, key, reason) => {
      const fn = server.fn();
      await server.redis.set(key.replace('FN', fn), 'text');
      await expect(unique(server.redis, fn, [{ key: 'a' }])).rejects.toThrow(reason);
      await expect(server.redis.keys(`job:${fn}:*`)).resolves.toEqual([]);
      await expect(server.redis.exists(`sender:${fn}:test`)).resolves.toBe(0);
    });

    it.each(['', 'x', '1', '1:2', ':::', '9:7000000:1', '1:8000000:1'])(
      'replaces the foreign entry %j',
      async (entry) => {
        const fn = server.fn();
        await enqueue(server.redis, fn, ['other'], { mark: MARK });
        await server.redis.hset(`unique:${fn}`, 'a', entry);
        await expect(unique(server.redis, fn, [{ key: 'a' }])).resolves.toEqual(['2']);
        await expect(entries(fn)).resolves.toEqual({ a: `2:${MARK}:${NOW}` });
      },
    );

    it('creates a job if the key of the other is no hash', async () => {
      const fn = server.fn();
      await unique(server.redis, fn, [{ key: 'a' }]);
      await server.redis.set(`job:${fn}:1`, 'text');
      await expect(unique(server.redis, fn, [{ key: 'a' }])).resolves.toEqual(['2']);
    });

    it('undoes what it wrote if a key of a job is in use', async () => {
      const fn = server.fn();
      await unique(server.redis, fn, [{ key: 'a' }], { call: 1 });
      await server.redis.set(`job:${fn}:3`, 'text');
      const jobs = [{ key: 'a' }, { key: 'b' }, { key: 'c' }];
      await expect(unique(server.redis, fn, jobs, { call: 2 })).rejects.toThrow('WRONGTYPE');
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
      await expect(server.redis.exists(`job:${fn}:2`)).resolves.toBe(0);
      await expect(entries(fn)).resolves.toEqual({ a: `1:${MARK}:${NOW}` });
      await expect(server.redis.get(`sender:${fn}:test`)).resolves.toBe('1:1');
    });

    it.each([
      ['write unique keys', ['~uid:*', '~job:*', '~queue:*', '~wake:*', '~sender:*', '%R~unique:*']],
      ['write jobs', ['~uid:*', '~queue:*', '~wake:*', '~sender:*', '~unique:*', '%R~job:*']],
      ['queue jobs', ['~uid:*', '~job:*', '~wake:*', '~sender:*', '~unique:*', '%R~queue:*']],
    ])('leaves everything as it was if the user may not %s', async (_, rights) => {
      const fn = server.fn();
      const debounced = { key: 'a', rule: 'debounce:1000:' };
      await unique(server.redis, fn, [{ ...debounced, input: 'old' }], {
        queue: 'scheduled',
        score: '+1000',
        call: 1,
      });
      const before = [
        await hash(fn, 1),
        await entries(fn),
        await server.redis.zrange(`queue:${fn}:scheduled`, '0', '-1', 'WITHSCORES'),
      ];
      const user = await restricted(server.redis, [...rights, '~channel:*', '~lock:*']);
      const calls: [object[], number][] = [
        [[{ ...debounced, key: 'b' }], 2],
        ...(rights.includes('%R~unique:*')
          ? []
          : [[[{ ...debounced, input: 'new' }], 3] as [object[], number]]),
      ];
      for (const [jobs, call] of calls)
        await expect(
          unique(user, fn, jobs as { key: string }[], {
            queue: 'scheduled',
            score: '+1000',
            now: NOW + 5,
            call,
          }),
        ).rejects.toThrow(/NOPERM|permission/);
      user.disconnect();
      const after = [
        await hash(fn, 1),
        await entries(fn),
        await server.redis.zrange(`queue:${fn}:scheduled`, '0', '-1', 'WITHSCORES'),
      ];
      expect(after).toEqual(before);
      await expect(server.redis.get(`sender:${fn}:test`)).resolves.toBe('1:1');
      await expect(server.redis.keys(`job:${fn}:*`)).resolves.toEqual([`job:${fn}:1`]);
    });
  });

  it('writes the same as enqueue, and an entry', async () => {
    const [fn, other] = [server.fn(), server.fn()];
    const log = await ChannelLog.open(server.redis, fn);
    await expect(unique(server.redis, fn, [{ key: 'a', options: '{"timeout":5}' }])).resolves.toEqual(['1']);
    await enqueue(server.redis, other, ['input'], { mark: MARK, options: '{"timeout":5}' });
    await expect(hash(fn, 1)).resolves.toEqual(await hash(other, 1));
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
    await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
    await expect(entries(fn)).resolves.toEqual({ a: `1:${MARK}:${NOW}` });
    await expect(log.close()).resolves.toEqual(['create:1']);
  });

  it('takes jobs without a key among others, in their order', async () => {
    const fn = server.fn();
    const jobs = [{ input: 'x' }, { key: 'a' }, { input: 'y' }, { key: 'a' }, { input: 'z' }];
    await expect(unique(server.redis, fn, jobs)).resolves.toEqual([
      '1',
      '2',
      '3',
      `2:${MARK + 1_000_000}`,
      '4',
    ]);
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['4', '3', '2', '1']);
    const inputs = await Promise.all([1, 3, 4].map(async (id) => (await hash(fn, id)).input));
    expect(inputs).toEqual(['x', 'y', 'z']);
  });

  it('goes by the server’s clock unless it is told the time', async () => {
    const fn = server.fn();
    await unique(server.redis, fn, [{ key: 'a', rule: 'throttle:1000' }], { clock: '' });
    const [seconds = 0] = (await server.redis.time()).map(Number);
    const [, , time = 0, until = 0] = ((await entries(fn)).a ?? '').split(':').map(Number);
    expect(Math.abs(time / 1000 - seconds)).toBeLessThan(60);
    expect(until - time).toBe(1000);
  });

  describe('sent twice, as after a lost reply', () => {
    it('throttles only by jobs that were created with a throttle', async () => {
      const fn = server.fn();
      await unique(server.redis, fn, [{ key: 'a', rule: 'unfinished' }]);
      await expect(unique(server.redis, fn, [{ key: 'a', rule: 'throttle:1000' }])).resolves.toEqual(['2']);
      await expect(unique(server.redis, fn, [{ key: 'a', rule: 'throttle:1000' }])).resolves.toEqual([
        `2:${MARK}`,
      ]);
    });

    it('returns the same ids and says the same of each, and does nothing', async () => {
      const fn = server.fn();
      await unique(server.redis, fn, [{ key: 'b' }]);
      const log = await ChannelLog.open(server.redis, fn);
      const jobs = [{ key: 'a' }, { key: 'b' }, { input: 'plain' }, { key: 'a' }];
      const reply = ['2', `1:${MARK}`, '3', `2:${MARK}`];
      await expect(unique(server.redis, fn, jobs, { call: LATER })).resolves.toEqual(reply);
      await finish(fn, 2);
      await expect(unique(server.redis, fn, jobs, { call: LATER })).resolves.toEqual(reply);
      await expect(server.redis.get(`uid:${fn}`)).resolves.toBe('3');
      await expect(server.redis.ttl(`sender:${fn}:test`)).resolves.toBeGreaterThan(55);
      await expect(log.close()).resolves.toEqual(['create:2', 'create:3', 'finish:2']);
    });

    it('does not debounce again', async () => {
      const fn = server.fn();
      const place = { queue: 'scheduled', score: '+1000' } as const;
      const rule = 'debounce:1000:';
      await unique(server.redis, fn, [{ key: 'a', rule, input: 'first' }], {
        ...place,
        sender: 'one',
        call: 1,
      });
      await unique(server.redis, fn, [{ key: 'a', rule, input: 'second' }], {
        ...place,
        sender: 'other',
        call: 1,
      });
      const again = { ...place, sender: 'one', call: 1, now: NOW + 500 };
      await expect(unique(server.redis, fn, [{ key: 'a', rule, input: 'first' }], again)).resolves.toEqual([
        '1',
      ]);
      await expect(hash(fn, 1)).resolves.toMatchObject({ input: 'second', due: `${NOW + 1000}` });
    });

    it('does nothing if it arrives after a later call, of either script', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['x'], { sender: 's', call: 2 });
      await unique(server.redis, fn, [{ key: 'a' }], { sender: 's', call: 1 });
      await unique(server.redis, fn, [{ key: 'b' }, { key: 'c' }], { sender: 's', call: 4 });
      await enqueue(server.redis, fn, ['y'], { sender: 's', call: 3 });
      await expect(server.redis.get(`uid:${fn}`)).resolves.toBe('3');
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['3', '2', '1']);
    });
  });

  it('creates a job if another job has the id by now, as after a failover', async () => {
    const fn = server.fn();
    await unique(server.redis, fn, [{ key: 'a' }]);
    await server.redis.hset(`job:${fn}:1`, 'mark', 8_000_000);
    await expect(unique(server.redis, fn, [{ key: 'a' }])).resolves.toEqual(['2']);
  });

  it('creates a job if the hash of the other was deleted', async () => {
    const fn = server.fn();
    await unique(server.redis, fn, [{ key: 'a' }]);
    await server.redis.del(`job:${fn}:1`);
    await expect(unique(server.redis, fn, [{ key: 'a' }])).resolves.toEqual(['2']);
  });

  it('sees a job that a plain worker took from `scheduled` as begun', async () => {
    const fn = server.fn();
    const place = { queue: 'scheduled', score: '+1000' } as const;
    await unique(server.redis, fn, [{ key: 'a', rule: 'debounce:1000:' }], place);
    await server.redis.zrem(`queue:${fn}:scheduled`, '1');
    await expect(
      unique(server.redis, fn, [{ key: 'a', rule: 'debounce:1000:', input: 'new' }], place),
    ).resolves.toEqual(['2']);
    await expect(hash(fn, 1)).resolves.toMatchObject({ input: 'input' });
    await server.redis.hset(`job:${fn}:2`, 'status', 'busy');
    await expect(unique(server.redis, fn, [{ key: 'a' }])).resolves.toEqual([`2:${MARK}`]);
    await expect(unique(server.redis, fn, [{ key: 'a', rule: 'waiting' }])).resolves.toEqual(['3']);
  });

  it('creates a job beside one that has expired', async () => {
    const fn = server.fn();
    const late = { key: 'a', options: `{"expires":${NOW + 50}}` };
    await unique(server.redis, fn, [late]);
    await expect(unique(server.redis, fn, [late], { now: NOW + 49 })).resolves.toEqual([`1:${MARK}`]);
    await expect(unique(server.redis, fn, [late], { now: NOW + 50 })).resolves.toEqual(['2']);
    await expect(hash(fn, 1)).resolves.toMatchObject({ status: 'error' });
  });

  it('does not change the input of a debounced job that waits for its retry', async () => {
    const fn = server.fn();
    const debounce = (input: string) =>
      unique(server.redis, fn, [{ key: 'a', rule: 'debounce:50:', input }], {
        queue: 'scheduled',
        score: '+50',
      });
    await debounce('first');
    await claim(server.redis, fn, { now: NOW + 50 });
    await claim(server.redis, fn, { slots: 0, outcomes: [`1:${MARK + 1}`, 'retry', '1000', '{}'] });
    await expect(debounce('second')).resolves.toEqual(['2']);
    await expect(hash(fn, 1)).resolves.toMatchObject({ input: 'first' });
  });

  it('debounces jobs of one call to the last', async () => {
    const fn = server.fn();
    const jobs = ['first', 'second', 'last'].map((input) => ({ key: 'a', rule: 'debounce:50:', input }));
    const ids = await unique(server.redis, fn, jobs, { queue: 'scheduled', score: '+50' });
    expect(ids).toEqual(['1', `1:${MARK}`, `1:${MARK}`]);
    await expect(hash(fn, 1)).resolves.toMatchObject({ input: 'last' });
  });

  it('wakes a worker if a debounced job is due sooner than before', async () => {
    const fn = server.fn();
    const debounce = (ms: number) =>
      unique(server.redis, fn, [{ key: 'a', rule: `debounce:${ms}:` }], {
        queue: 'scheduled',
        score: `+${ms}`,
      });
    await debounce(1000);
    await server.redis.del(`wake:${fn}`);
    await debounce(2000);
    await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(0);
    await debounce(500);
    await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
  });

  it('starts nothing later than the longest wait, counted from the first call', async () => {
    const fn = server.fn();
    const call = (now: number) =>
      unique(server.redis, fn, [{ key: 'a', rule: 'debounce:1000:2500' }], {
        queue: 'scheduled',
        score: '+1000',
        now,
      });
    const dues = [];
    for (const after of [0, 900, 1600, 2400, 3000]) {
      await expect(call(NOW + after)).resolves.toEqual([after === 0 ? '1' : `1:${MARK}`]);
      dues.push(Number(await server.redis.zscore(`queue:${fn}:scheduled`, '1')) * 1000 - NOW);
    }
    expect(dues).toEqual([1000, 1900, 2500, 2500, 2500]);
  });

  describe('keeps few entries that are over', () => {
    it.each([1, 25])('when jobs end as others come, %i a call', async (size) => {
      const fn = server.fn();
      for (let call = 0; call < 400; call++) {
        const jobs = Array.from({ length: size }, (_, i) => ({ key: `${call}-${i}` }));
        const ids = await unique(server.redis, fn, jobs);
        await server.redis.unlink(...ids.map((id) => `job:${fn}:${id}`), `queue:${fn}:normal`);
      }
      await expect(server.redis.hlen(`unique:${fn}`)).resolves.toBeLessThan(size * 60);
    });

    it('and all of those that count', async () => {
      const fn = server.fn();
      const keys = Array.from({ length: 300 }, (_, i) => `${i}`);
      for (const key of keys)
        await unique(server.redis, fn, [{ key, rule: Number(key) % 2 ? 'throttle:1000' : 'unfinished' }]);
      await server.redis.unlink(
        ...keys.filter((key) => Number(key) % 2).map((key) => `job:${fn}:${Number(key) + 1}`),
      );
      for (const key of keys) await unique(server.redis, fn, [{ key: `more-${key}` }]);
      const again = await unique(
        server.redis,
        fn,
        keys.slice(0, 250).map((key) => ({ key, rule: Number(key) % 2 ? 'throttle:1000' : 'unfinished' })),
      );
      expect(again).toEqual(keys.slice(0, 250).map((key) => `${Number(key) + 1}:${MARK}`));
    });
  });

  it('leaves jobs to be claimed as any other', async () => {
    const fn = server.fn();
    await unique(server.redis, fn, [{ key: 'a' }, { input: 'x' }]);
    const { claims } = await claim(server.redis, fn);
    expect(claims.map(({ id, token }) => [id, token])).toEqual([
      ['1', MARK + 1],
      ['2', MARK + 1_000_001],
    ]);
  });
});

/** A user with these rights and all commands. */
async function restricted(redis: Redis, rights: readonly string[]): Promise<Redis> {
  await redis.call('ACL', 'SETUSER', 'restricted', 'reset', 'on', 'nopass', '+@all', '&*', ...rights);
  return redis.duplicate({ username: 'restricted', password: 'any' });
}
