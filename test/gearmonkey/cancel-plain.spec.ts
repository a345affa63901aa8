import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client/client.js';
import { JobNotFoundError, NotCancellableError } from '../../lib/job/errors.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors, submit } from './redis-rig.js';

describe('GearMonkeyClient.cancel, with plain workers and clients', () => {
  const server = useRedis();
  let actors: RedisActors;
  let client: GearMonkeyClient;

  beforeAll(() => {
    actors = new RedisActors(server.url);
    client = actors.client();
  });
  afterAll(() => actors.close());

  it('refuses where a plain worker runs the job, which goes on', async () => {
    const fn = server.fn();
    const job = await client.run(fn, 'x');
    await server.redis.brpop(`queue:${fn}:normal`, 1);
    await server.redis.publish(`channel:${fn}`, `start:${job.id}`);
    await server.redis.hmset(`job:${fn}:${job.id}`, 'status', 'busy');
    const cancelling = job.cancel();
    await expect(cancelling).rejects.toThrow(NotCancellableError);
    await expect(cancelling).rejects.toThrow(`Job 1 of "${fn}" runs on a plain GearMonkey worker`);
    await server.redis.hmset(`job:${fn}:${job.id}`, 'status', 'success', 'output', '"out"');
    await expect(job.cancel()).resolves.toBe(false);
    await expect(job.result()).resolves.toBe('out');
  });

  it("ends a plain client's job, whose client is told on the lock list", async () => {
    const fn = server.fn();
    const id = await submit(server.redis, fn, 'x');
    const waiting = server.redis.duplicate();
    const locked = waiting.brpop(`lock:${fn}:${id}`, 10);
    await expect(client.cancel(fn, id)).resolves.toBe(true);
    await expect(locked).resolves.toEqual([`lock:${fn}:${id}`, 'OK']);
    waiting.disconnect();
    await expect(server.redis.hmget(`job:${fn}:${id}`, 'status', 'output')).resolves.toEqual([
      'error',
      'cancelled',
    ]);
  });

  it.each(['', ' ', '*', '1:1', '-1', '\u0000'])('knows nothing of job %j', async (id) => {
    const fn = server.fn();
    await client.run(fn, 'x');
    await expect(client.cancel(fn, id)).rejects.toThrow(JobNotFoundError);
    await expect(client.get(fn, 1)).resolves.toMatchObject({ status: 'idle' });
  });

  it('is of a key that is no hash a refusal, and writes nothing', async () => {
    const fn = server.fn();
    await server.redis.set(`job:${fn}:1`, 'text');
    await expect(client.cancel(fn, 1)).rejects.toThrow('WRONGTYPE');
    await expect(server.redis.get(`job:${fn}:1`)).resolves.toBe('text');
  });
});
