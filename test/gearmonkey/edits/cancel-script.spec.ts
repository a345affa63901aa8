import { describe, expect, it } from '@jest/globals';
import { ChannelLog } from '../../conformance/wire.js';
import { useRedisServer } from '../../support/use-redis.js';
import { cancel, CANCELLED, enqueue, LEASE_MS, NOW, renew, claim } from '../scripts/scripts.js';

describe('cancel.lua', () => {
  const server = useRedisServer();

  it('reports a missing job and writes nothing', async () => {
    const fn = server.fn();
    await expect(cancel(server.redis, fn, '7')).resolves.toBe('missing');
    await expect(server.redis.keys(`*:${fn}*`)).resolves.toEqual([]);
  });

  it('does not change a job whose queue has the wrong type', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await server.redis.set(`queue:${fn}:high`, 'text');
    await expect(cancel(server.redis, fn, '1')).rejects.toThrow('WRONGTYPE');
    await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('idle');
  });

  it.each(['hset', 'expire'])('changes nothing without the right to %s', async (command) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    await claim(server.redis, fn);
    const keys = async () => (await server.redis.keys(`*:${fn}*`)).sort();
    const dumps = async () => Promise.all((await keys()).map((key) => server.redis.dumpBuffer(key)));
    const before = await dumps();
    await server.redis.acl('SETUSER', 'lacking', 'reset', 'on', '>x', '+@all', '~*', '&*', `-${command}`);
    const lacking = server.redis.duplicate({ username: 'lacking', password: 'x' });
    for (const id of ['1', '2']) await expect(cancel(lacking, fn, id)).rejects.toThrow('NOPERM');
    lacking.disconnect();
    await expect(dumps()).resolves.toEqual(before);
  });

  it('ends a waiting job as the protocol ends an error', async () => {
    const fn = server.fn();
    const log = await ChannelLog.open(server.redis, fn);
    await enqueue(server.redis, fn, ['a', 'b']);
    await expect(cancel(server.redis, fn, '1', NOW + 5)).resolves.toBe('cancelled');
    await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toMatchObject({
      status: 'error',
      output: 'cancelled',
      error: CANCELLED,
      finished: `${NOW + 5}`,
    });
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['2']);
    await expect(server.redis.ttl(`job:${fn}:1`)).resolves.toBe(90_000);
    await expect(server.redis.lrange(`lock:${fn}:1`, 0, -1)).resolves.toEqual(['OK']);
    await expect(log.close()).resolves.toEqual(['create:1', 'create:2', 'finish:1']);
  });

  it('changes nothing when repeated, and says so', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await expect(cancel(server.redis, fn, '1', NOW)).resolves.toBe('cancelled');
    await expect(cancel(server.redis, fn, '1', NOW + 5)).resolves.toBe('cancelled-before');
    await expect(server.redis.hget(`job:${fn}:1`, 'finished')).resolves.toBe(`${NOW}`);
    await expect(server.redis.llen(`lock:${fn}:1`)).resolves.toBe(1);
  });

  it.each(['success', 'error'])('does not change a job that ended with %s', async (status) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await claim(server.redis, fn);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', status, 'out', '{}'] });
    const before = await server.redis.hgetall(`job:${fn}:1`);
    await expect(cancel(server.redis, fn, '1')).resolves.toBe('finished');
    await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toEqual(before);
  });

  it('removes the lease of a running job and publishes it', async () => {
    const fn = server.fn();
    const log = await ChannelLog.open(server.redis, fn);
    const subscriber = server.redis.duplicate();
    const told: string[] = [];
    subscriber.on('message', (_, member: string) => told.push(member));
    await subscriber.subscribe(`cancel:${fn}`);
    await enqueue(server.redis, fn, ['a']);
    await claim(server.redis, fn);
    await expect(cancel(server.redis, fn, '1')).resolves.toBe('cancelled');
    await subscriber.ping();
    subscriber.disconnect();
    expect(told).toEqual(['1:1']);
    await expect(renew(server.redis, fn, NOW, ['1:1'])).resolves.toEqual(['1:1']);
    await expect(
      claim(server.redis, fn, { now: NOW + LEASE_MS, outcomes: ['1:1', 'success', 'late', ''] }),
    ).resolves.toMatchObject({ refused: ['1:1'], claims: [] });
    await expect(server.redis.hget(`job:${fn}:1`, 'output')).resolves.toBe('cancelled');
    await expect(log.close()).resolves.toEqual(['create:1', 'start:1', 'finish:1']);
  });

  it('lists a job that waits for its retry among the cancelled ones, and no longer among those', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await claim(server.redis, fn);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'retry', '50', '{}'] });
    await expect(server.redis.zrange(`retrying:${fn}`, '0', '-1')).resolves.toEqual(['1']);
    await cancel(server.redis, fn, '1');
    await expect(server.redis.zrange(`ended:${fn}:cancelled`, '0', '-1')).resolves.toEqual(['1']);
    await expect(server.redis.exists(`retrying:${fn}`, `ended:${fn}:failed`)).resolves.toBe(0);
  });

  it.each([
    ['another mark', 3_000_000, 'lost'],
    ['that mark', 7_000_000, 'cancelled'],
    ['no mark', '', 'cancelled'],
  ] as const)('of a job with %s', async (_, mark, came) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a'], { mark: 7_000_000 });
    await expect(cancel(server.redis, fn, '1', NOW, mark)).resolves.toBe(came);
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(came === 'lost' ? 1 : 0);
  });

  it('accepts no mark for a job of a plain client, which has none', async () => {
    const fn = server.fn();
    await server.redis.hset(`job:${fn}:1`, 'status', 'idle', 'input', '1');
    await server.redis.lpush(`queue:${fn}:normal`, '1');
    await expect(cancel(server.redis, fn, '1', NOW, 7_000_000)).resolves.toBe('lost');
    await expect(cancel(server.redis, fn, '1', NOW, 0)).resolves.toBe('cancelled');
  });

  it('leaves a job alone that runs, if the caller says so, and ends one that waits', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    await claim(server.redis, fn, { slots: 1 });
    const before = await server.redis.hgetall(`job:${fn}:1`);
    await expect(cancel(server.redis, fn, '1', NOW, '', [1])).resolves.toBe('running');
    await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toEqual(before);
    await expect(renew(server.redis, fn, NOW, ['1:1'])).resolves.toEqual([]);
    await expect(cancel(server.redis, fn, '2', NOW, '', [1])).resolves.toBe('cancelled');
    await expect(cancel(server.redis, fn, '1')).resolves.toBe('cancelled');
  });

  it('cannot stop a plain worker, nor one that has just popped the id', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await server.redis.rpop(`queue:${fn}:normal`);
    await expect(cancel(server.redis, fn, '1')).resolves.toBe('running');
    await server.redis.hset(`job:${fn}:1`, 'status', 'busy');
    await expect(cancel(server.redis, fn, '1')).resolves.toBe('running');
    await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toMatchObject({ status: 'busy', input: 'a' });
    await expect(server.redis.exists(`lock:${fn}:1`)).resolves.toBe(0);
  });

  it('cannot stop a plain worker that runs a job which another worker lost', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await claim(server.redis, fn);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'released', '', ''] });
    await server.redis.rpop(`queue:${fn}:normal`);
    await server.redis.hset(`job:${fn}:1`, 'status', 'busy');
    await expect(cancel(server.redis, fn, '1')).resolves.toBe('running');
  });
});
