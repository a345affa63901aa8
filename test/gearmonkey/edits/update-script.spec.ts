import * as edits from '../../../lib/gearmonkey/features/edits/edit-scripts.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedisServer } from '../../support/use-redis.js';
import { claim, enqueue, enqueueLimited, NOW } from '../scripts/scripts.js';

const server = useRedisServer();
const QUEUES = ['scheduled', 'high', 'normal', 'low'] as const;
type QueueName = (typeof QUEUES)[number];

interface Changed {
  to?: QueueName;
  /** Seconds. */
  score?: number;
  input?: string;
  mark?: number | '';
  /** What the job is limited by from now on. */
  key?: string;
}

function update(fn: string, id: string, { to, score, input, mark = '', key }: Changed, redis = server.redis) {
  const { jobs, wake, ...queues } = keysOf(fn);
  const keys = [jobs, ...QUEUES.map((queue) => queues[queue]), wake];
  const target = to ? QUEUES.indexOf(to) + 2 : 0;
  const inputs = input === undefined ? [] : [input];
  return edits.update.run(
    redis,
    keys,
    id,
    mark,
    target,
    score ?? '',
    key === undefined ? 0 : 1,
    key ?? '',
    inputs,
  );
}

/** Everything that is stored of a function. */
async function stored(fn: string) {
  const { jobs, wake, ...queues } = keysOf(fn);
  const { redis } = server;
  const lists = await Promise.all(QUEUES.slice(1).map((queue) => redis.lrange(queues[queue], 0, -1)));
  return {
    job: await redis.hgetall(`${jobs}1`),
    lists: lists.map((ids) => ids.toReversed()),
    scheduled: await redis.zrange(queues.scheduled, '0', '-1', 'WITHSCORES'),
    marked: await redis.llen(wake),
  };
}

describe('update.lua', () => {
  afterEach(() => server.redis.config('SET', 'maxmemory', '0'));

  it('refuses a key of another type', async () => {
    const fn = server.fn();
    await server.redis.set(`job:${fn}:1`, 'x');
    await expect(update(fn, '1', { input: 'y' })).rejects.toThrow('WRONGTYPE');
  });

  it.each([
    [5_000_000, 7_000_000, 'lost'],
    [5_000_000, 5_000_000, 'updated'],
    [0, 7_000_000, 'lost'],
    [0, '', 'updated'],
  ] as const)('of a job with the mark %d, by a client that knows %j: %s', async (has, knows, expected) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a'], { mark: has });
    await expect(update(fn, '1', { input: 'b', to: 'high', mark: knows })).resolves.toBe(expected);
    await expect(server.redis.hget(`job:${fn}:1`, 'input')).resolves.toBe(expected === 'lost' ? 'a' : 'b');
    await expect(server.redis.llen(`queue:${fn}:high`)).resolves.toBe(expected === 'lost' ? 0 : 1);
  });

  it.each(QUEUES)('moves no job to %s that a plain worker has popped', async (to) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    await server.redis.rpop(`queue:${fn}:normal`);
    const before = await stored(fn);
    const changed = { to, input: 'x', ...(to === 'scheduled' ? { score: 5 } : {}) };
    await expect(update(fn, '1', changed)).resolves.toBe('begun');
    await expect(stored(fn)).resolves.toEqual(before);
  });

  it('changes the input of a job that a plain worker has popped and will read', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await server.redis.rpop(`queue:${fn}:normal`);
    await expect(update(fn, '1', { input: 'b' })).resolves.toBe('updated');
    await expect(server.redis.hget(`job:${fn}:1`, 'input')).resolves.toBe('b');
  });

  it('refuses a job that a plain worker runs', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await server.redis.hset(`job:${fn}:1`, 'status', 'busy');
    await expect(update(fn, '1', { input: 'b' })).resolves.toBe('begun');
  });

  it.each(['retry', 'snoozed'])('refuses a job that has begun and waits: %s', async (outcome) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await claim(server.redis, fn);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', outcome, '50', ''] });
    await expect(update(fn, '1', { input: 'b' })).resolves.toBe('begun');
    await expect(server.redis.hget(`job:${fn}:1`, 'input')).resolves.toBe('a');
  });

  it('moves a job of a plain client, which has no fields of ours', async () => {
    const fn = server.fn();
    await server.redis.hset(`job:${fn}:1`, { status: 'idle', input: 'a' });
    await server.redis.lpush(`queue:${fn}:low`, '1');
    await expect(update(fn, '1', { to: 'scheduled', score: 5.25 })).resolves.toBe('updated');
    await expect(stored(fn)).resolves.toMatchObject({
      job: { status: 'idle', input: 'a', due: '5250' },
      lists: [[], [], []],
      scheduled: ['1', '5.25'],
    });
    await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [{ id: '1' }] });
  });

  it.each(QUEUES.flatMap((from) => QUEUES.map((to) => [from, to] as const)))(
    'changes nothing of a job in %s that moves to %s while the memory is full',
    async (from, to) => {
      const fn = server.fn();
      const score = from === 'scheduled' ? NOW : '';
      await enqueue(server.redis, fn, ['a'], { queue: from, score });
      const before = await stored(fn);
      await server.redis.config('SET', 'maxmemory', '1');
      const changed = { to, input: 'b', ...(to === 'scheduled' ? { score: 5 } : {}) };
      await expect(update(fn, '1', changed)).rejects.toThrow('OOM');
      await expect(update(fn, '1', { input: 'b' })).rejects.toThrow('OOM');
      await expect(stored(fn)).resolves.toEqual(before);
    },
  );

  it.each(QUEUES)('changes nothing if the key of %s, where it moves, has another type', async (to) => {
    const fn = server.fn();
    const queue = to === 'normal' ? 'low' : 'normal';
    await enqueue(server.redis, fn, ['a'], { queue });
    await server.redis.set(`queue:${fn}:${to}`, 'x');
    const changed = { to, input: 'b', ...(to === 'scheduled' ? { score: 5 } : {}) };
    await expect(update(fn, '1', changed)).rejects.toThrow('WRONGTYPE');
    await expect(server.redis.lrange(`queue:${fn}:${queue}`, 0, -1)).resolves.toEqual(['1']);
    await expect(server.redis.hget(`job:${fn}:1`, 'input')).resolves.toBe('a');
  });

  it.each(['lrem', 'zrem', 'hset', 'hdel'])('changes nothing without the right to %s', async (command) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    const before = await stored(fn);
    await server.redis.acl('SETUSER', 'lacking', 'reset', 'on', '>x', '+@all', '~*', '&*', `-${command}`);
    const lacking = server.redis.duplicate({ username: 'lacking', password: 'x' });
    for (const to of ['high', 'scheduled'] as const)
      await expect(update(fn, '1', { to, score: 5, input: 'b' }, lacking)).rejects.toThrow('NOPERM');
    lacking.disconnect();
    await expect(stored(fn)).resolves.toEqual(before);
  });

  it('sets the wake marker for a job that moves, and for no other', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await server.redis.del(`wake:${fn}`);
    await update(fn, '1', { input: 'b' });
    await expect(stored(fn)).resolves.toMatchObject({ marked: 0 });
    await update(fn, '1', { to: 'scheduled', score: NOW });
    await update(fn, '1', { to: 'high' });
    await expect(stored(fn)).resolves.toMatchObject({ marked: 1, lists: [['1'], [], []], scheduled: [] });
    await expect(server.redis.hexists(`job:${fn}:1`, 'due')).resolves.toBe(0);
  });

  describe('of a job with a key', () => {
    const limitKey = (fn: string, name: string) => keysOf(fn).limits + name;

    it('moves it to another key with its priority, and wakes a worker', async () => {
      const fn = server.fn();
      await enqueueLimited(server.redis, fn, ['a', 'a'], { priority: 'high' });
      await claim(server.redis, fn);
      await server.redis.del(keysOf(fn).wake);
      await expect(update(fn, '2', { key: 'b' })).resolves.toBe('updated');
      await expect(server.redis.lrange(limitKey(fn, 'wait:high:b'), 0, -1)).resolves.toEqual(['2']);
      await expect(server.redis.exists(limitKey(fn, 'wait:high:a'))).resolves.toBe(0);
      await expect(server.redis.llen(keysOf(fn).wake)).resolves.toBe(1);
      await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [{ id: '2' }] });
      await expect(server.redis.hget(`job:${fn}:2`, 'key')).resolves.toBe('b');
    });

    it('keeps the time for which it is scheduled', async () => {
      const fn = server.fn();
      await enqueueLimited(server.redis, fn, ['a'], { score: (NOW + 50) / 1000 });
      await update(fn, '1', { key: 'b' });
      await expect(server.redis.zrange(limitKey(fn, 'due'), '0', '-1', 'WITHSCORES')).resolves.toEqual([
        '1:b',
        String(NOW + 50),
      ]);
      await expect(server.redis.exists(limitKey(fn, 'later:a'))).resolves.toBe(0);
    });

    it('lets the strict key go that it held', async () => {
      const fn = server.fn();
      await enqueueLimited(server.redis, fn, ['a', 'a'], { rules: ':::strict:' });
      await claim(server.redis, fn);
      await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'released', '', ''] });
      await expect(update(fn, '1', { key: 'b' })).resolves.toBe('updated');
      const { claims } = await claim(server.redis, fn, { recover: 0 });
      expect(claims.map(({ id }) => id).toSorted()).toEqual(['1', '2']);
    });
  });

  it('finds a job among very many', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, Array<string>(5000).fill('a'));
    await update(fn, '2500', { to: 'high' });
    await expect(server.redis.lrange(`queue:${fn}:high`, 0, -1)).resolves.toEqual(['2500']);
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(4999);
  });
});
