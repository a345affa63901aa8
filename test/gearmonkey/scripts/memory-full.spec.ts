import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { append } from '../../../lib/gearmonkey/features/streams/stream-scripts.js';
import { record } from '../../../lib/gearmonkey/core/wire/scripts.js';
import { useRedis } from '../../support/use-redis.js';
import {
  cancel,
  enqueue,
  expire,
  LEASE_MS,
  look,
  NOW,
  presence,
  PRESENCE_MS,
  progress,
  renew,
  signed,
  claim,
  unique,
} from './scripts.js';

describe('A server whose memory is full', () => {
  const server = useRedis();
  let fn: string;

  beforeEach(async () => {
    fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    await claim(server.redis, fn, { slots: 1 });
    await presence(server.redis, fn, 'worker');
    await server.redis.config('SET', 'maxmemory', '1');
  });
  afterEach(() => server.redis.config('SET', 'maxmemory', '0'));

  it('refuses new jobs', async () => {
    await expect(enqueue(server.redis, fn, ['c'])).rejects.toThrow('OOM');
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(1);
  });

  it('remembers for longer a call that is sent again', async () => {
    await server.redis.config('SET', 'maxmemory', '0');
    const again = { sender: 's', call: 1 };
    await enqueue(server.redis, fn, ['c'], { ...again, memory: 1000 });
    await server.redis.config('SET', 'maxmemory', '1');
    await expect(enqueue(server.redis, fn, ['c'], { ...again, memory: 2000 })).resolves.toBe(3);
    expect(await server.redis.ttl(`sender:${fn}:s`)).toBeGreaterThan(1900);
    await expect(enqueue(server.redis, fn, ['d'], { sender: 's', call: 2 })).rejects.toThrow('OOM');
  });

  it('refuses unique jobs, and writes nothing', async () => {
    await server.redis.config('SET', 'maxmemory', '0');
    await unique(server.redis, fn, [{ key: 'there', options: `{"expires":${NOW - 1}}` }], {
      sender: 'u',
      call: 1,
    });
    await server.redis.config('SET', 'maxmemory', '1');
    const before = await server.redis.hgetall(`unique:${fn}`);
    for (const key of ['new', 'there'])
      await expect(unique(server.redis, fn, [{ key }], { sender: 'u', call: 2 })).rejects.toThrow('OOM');
    await expect(server.redis.hgetall(`unique:${fn}`)).resolves.toEqual(before);
    await expect(server.redis.hget(`job:${fn}:3`, 'status')).resolves.toBe('idle');
    await expect(server.redis.get(`sender:${fn}:u`)).resolves.toBe('1:3');
  });

  it('ends a job that has expired, and tells those who wait for it', async () => {
    await server.redis.config('SET', 'maxmemory', '0');
    await enqueue(server.redis, fn, ['late'], { options: `{"expires":${NOW + 10}}` });
    await server.redis.config('SET', 'maxmemory', '1');
    await expect(expire(server.redis, fn, '3', NOW)).resolves.toBe(10);
    await expect(expire(server.redis, fn, '3', NOW + 10)).resolves.toBe(0);
    await expect(server.redis.hmget(`job:${fn}:3`, 'status', 'finished')).resolves.toEqual([
      'error',
      `${NOW + 10}`,
    ]);
    await expect(server.redis.llen(`lock:${fn}:3`)).resolves.toBe(1);
  });

  it('renews the lease of a running job', async () => {
    await expect(renew(server.redis, fn, NOW + 50, ['1:1', '9:9'])).resolves.toEqual(['9:9']);
    await expect(server.redis.zscore(`lease:${fn}`, '1:1')).resolves.toBe(`${NOW + 50 + LEASE_MS}`);
  });

  it('stores progress of a running job', async () => {
    await expect(progress(server.redis, fn, '1:1', 3, 10)).resolves.toBe(true);
    await expect(progress(server.redis, fn, '9:9', 3, 10)).resolves.toBe(false);
    await expect(server.redis.hget(`job:${fn}:1`, 'status:dividend')).resolves.toBe('3');
    await expect(server.redis.exists(`job:${fn}:9`)).resolves.toBe(0);
  });

  it('counts its workers', async () => {
    await expect(presence(server.redis, fn, 'worker', NOW + 50)).resolves.toBe(1);
    await expect(presence(server.redis, fn, 'another', NOW + 120)).resolves.toBe(2);
  });

  it('counts a worker in the place of one that has died', async () => {
    const beat = (now: number) => signed(server.redis, [fn], 'another', now, PRESENCE_MS, 1);
    await beat(NOW + PRESENCE_MS);
    await expect(server.redis.get(`count:${fn}`)).resolves.toBe('1');
  });

  it('wakes a worker for a lease that has ended', async () => {
    await server.redis.del(`wake:${fn}`, `queue:${fn}:normal`);
    await look(server.redis, [fn], NOW + LEASE_MS);
    await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
  });

  it('settles, recovers and claims', async () => {
    const outcomes = ['1:1', 'retry', '5', '{}'];
    const { refused, claims } = await claim(server.redis, fn, { slots: 1, outcomes });
    expect([refused, claims.map(({ id }) => id)]).toEqual([[], ['2']]);
    const later = await claim(server.redis, fn, { now: NOW + LEASE_MS });
    expect(later.claims.map(({ id, stalls }) => [id, stalls])).toEqual([
      ['1', 0],
      ['2', 1],
    ]);
  });

  it('claims a job that is due, and those behind it', async () => {
    await server.redis.config('SET', 'maxmemory', '0');
    await enqueue(server.redis, fn, ['due', 'due']);
    for (const id of ['3', '4']) {
      await server.redis.lrem(`queue:${fn}:normal`, 0, id);
      await server.redis.zadd(`queue:${fn}:scheduled`, 1, id);
    }
    await server.redis.config('SET', 'maxmemory', '1');
    const { claims } = await claim(server.redis, fn, { recover: 0 });
    expect(claims.map(({ id }) => id)).toEqual(['3', '4', '2']);
    await expect(server.redis.exists(`queue:${fn}:scheduled`)).resolves.toBe(0);
  });

  it('records steps and streams of a running job', async () => {
    const job = `job:${fn}:1`;
    await expect(record.run(server.redis, [job, `lease:${fn}`], '1:1', 0, ['step:a', '1'])).resolves.toBe(
      true,
    );
    await expect(server.redis.hget(job, 'step:a')).resolves.toBe('1');
    const keys = [job, `lease:${fn}`, `${job}:output`, `progress:${fn}`];
    await expect(
      append.run(server.redis, keys, '1:1', 'output', 0, 10, 1000, 60, [Buffer.from('x')]),
    ).resolves.toBe(true);
    await expect(server.redis.llen(`${job}:output`)).resolves.toBe(1);
  });

  it('cancels', async () => {
    await expect(cancel(server.redis, fn, '1')).resolves.toBe('cancelled');
    await expect(cancel(server.redis, fn, '2')).resolves.toBe('cancelled');
  });
});
