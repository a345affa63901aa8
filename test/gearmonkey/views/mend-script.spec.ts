import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { mend } from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueue, enqueueLimited, expire, NOW, unique } from '../scripts/scripts.js';

describe('mend.lua', () => {
  const server = useRedis();
  const redis = () => server.redis;
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const job = (id = 1) => `job:${fn}:${id}`;
  const run = (verb: 'retry' | 'discard', { name = 'call', finished = String(NOW), now = NOW } = {}) => {
    const k = keysOf(fn);
    const keys = [k.jobs, k.locks, k.channel, k.control, k.high, k.normal, k.low, k.wake];
    keys.push(`${k.ended}failed`, `${k.ended}cancelled`, k.scheduled);
    return mend.run(redis(), keys, now, verb, name, ['1', finished]);
  };
  /** Claims job 1, which fails. */
  async function failed(): Promise<void> {
    await claim(redis(), fn, { slots: 1 });
    await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'error', 'broken', '{}'] });
    await redis().del(keysOf(fn).wake);
  }

  it('retries a failed job from its first attempt, as if it had not run', async () => {
    await enqueue(redis(), fn, ['a'], { queue: 'high' });
    await failed();
    for (const list of [':children', ':parents']) {
      await redis().rpush(job() + list, '7:0:x');
      await redis().expire(job() + list, 100);
    }
    await expect(run('retry')).resolves.toBe(1);
    await expect(redis().hmget(job(), 'status', 'attempts', 'output', 'error', 'finished')).resolves.toEqual([
      ...['idle', '0'],
      ...[null, null, null],
    ]);
    const keys = [job(), `${job()}:children`, `${job()}:parents`];
    expect(await Promise.all(keys.map((key) => redis().ttl(key)))).toEqual([-1, -1, -1]);
    await expect(redis().exists(`lock:${fn}:1`, `ended:${fn}:failed`)).resolves.toBe(0);
    await expect(redis().llen(keysOf(fn).wake)).resolves.toBe(1);
    await expect(redis().lrange(keysOf(fn).high, 0, -1)).resolves.toEqual(['1']);
    await expect(claim(redis(), fn)).resolves.toMatchObject({ claims: [{ id: '1', token: 2, attempts: 1 }] });
  });

  it('queues a job once that had expired when a unique call looked at it', async () => {
    const late = { key: 'a', options: `{"expires":${NOW + 50}}` };
    await unique(redis(), fn, [late]);
    await unique(redis(), fn, [{ key: 'a' }], { now: NOW + 100 });
    await expect(redis().hget(job(), 'status')).resolves.toBe('error');
    await expect(run('retry', { finished: String(NOW + 100) })).resolves.toBe(1);
    await expect(redis().lrange(keysOf(fn).normal, 0, -1)).resolves.toEqual(['1', '2']);
  });

  it('lets a strict key go that an expired job held since it was released, so that others come first', async () => {
    const rules = ':::strict:';
    await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
    await redis().hset(job(), 'options', `{"expires":${NOW + 50}}`);
    await claim(redis(), fn, { slots: 1 });
    await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'released', '', ''] });
    await expect(expire(redis(), fn, '1', NOW + 100)).resolves.toBe(0);
    await expect(run('retry', { finished: String(NOW + 100), now: NOW + 100 })).resolves.toBe(1);
    await expect(redis().lrange(`limit:${fn}:wait:normal:a`, 0, -1)).resolves.toEqual(['1', '2']);
    const next = await claim(redis(), fn, { now: NOW + 100, recover: 0 });
    expect(next.claims.map(({ id }) => id)).toEqual(['2']);
  });

  it('counts a call twice that is sent again, and does nothing', async () => {
    await enqueue(redis(), fn, ['a']);
    await failed();
    for (const _ of ['once', 'again']) await expect(run('retry')).resolves.toBe(1);
    await expect(run('retry', { name: 'other' })).resolves.toBe(0);
    await expect(redis().lrange(keysOf(fn).normal, 0, -1)).resolves.toEqual(['1']);
  });

  it.each(['retry', 'discard'] as const)(
    'leaves a job that has failed again since it was read: %s',
    async (verb) => {
      await enqueue(redis(), fn, ['a']);
      await failed();
      await expect(run(verb, { finished: String(NOW - 1) })).resolves.toBe(0);
      await expect(redis().hget(job(), 'status')).resolves.toBe('error');
    },
  );

  it('retries an expired job once, which does not expire again', async () => {
    await enqueue(redis(), fn, ['a', 'b'], { options: `{"expires":${NOW + 50},"timeout":5}` });
    await expire(redis(), fn, '1', NOW + 50);
    await expect(run('retry', { finished: String(NOW + 50) })).resolves.toBe(1);
    await expect(redis().lrange(keysOf(fn).normal, 0, -1)).resolves.toEqual(['1', '2']);
    const { claims } = await claim(redis(), fn, { now: NOW + 99 });
    expect(claims).toMatchObject([{ id: '1', options: '{"timeout":5}' }]);
  });

  it('retries a job with a key behind those of its key', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a']);
    await failed();
    await run('retry');
    await expect(claim(redis(), fn)).resolves.toMatchObject({ claims: [{ id: '2' }] });
    const next = await claim(redis(), fn, { outcomes: ['2:1', 'success', '', ''] });
    expect(next.claims.map(({ id }) => id)).toEqual(['1']);
  });

  it('has a job wait anew for its signal', async () => {
    await enqueue(redis(), fn, ['a']);
    await failed();
    await redis().hset(job(), { waits: 'paid', 'wait:paid': '1', 'wait:sent': '2' });
    await run('retry');
    await expect(redis().hmget(job(), 'waits', 'wait:paid', 'wait:sent')).resolves.toEqual([null, null, '2']);
  });

  it('counts a job of a flow as unfinished again', async () => {
    await enqueue(redis(), fn, ['a']);
    await failed();
    const flow = `${keysOf(fn).jobs}flow:my-flow`;
    await redis().hset(job(), 'flow', `my-flow:${fn}`);
    await redis().hset(flow, { total: 1, done: 0, failed: 1 });
    await redis().expire(flow, 100);
    await run('retry');
    await expect(redis().hget(flow, 'failed')).resolves.toBe('0');
    await expect(redis().ttl(flow)).resolves.toBe(-1);
    await expect(redis().zscore(keysOf(fn).members, '1')).resolves.toBe('1');
  });

  it('discards a failed job with what it has streamed', async () => {
    await enqueue(redis(), fn, ['a']);
    await failed();
    for (const list of [':output', ':log', ':children', ':parents']) await redis().rpush(job() + list, 'x');
    await expect(run('discard')).resolves.toBe(1);
    await expect(redis().keys(`${job()}*`)).resolves.toEqual([]);
    await expect(redis().exists(`ended:${fn}:failed`)).resolves.toBe(0);
    await expect(run('discard')).resolves.toBe(1);
    await expect(run('discard', { name: '' })).resolves.toBe(0);
  });

  it('discards no job that others will read, or that they do not know of yet', async () => {
    await enqueue(redis(), fn, ['a']);
    await failed();
    await redis().hset(job(), 'held', 1);
    await expect(run('discard')).resolves.toBe(0);
    await redis().hset(job(), 'held', 0);
    await redis().zadd(keysOf(fn).members, 2, '1');
    await expect(run('discard')).resolves.toBe(0);
    await redis().del(keysOf(fn).members);
    await expect(run('discard')).resolves.toBe(1);
  });
});
