import { describe, expect, it } from '@jest/globals';
import { JobNotFoundError, NotCancellableError } from '../../../lib/job/errors.js';
import { submit } from '../redis-rig.js';
import { useGearMonkey } from '../use-gearmonkey.js';

describe('GearMonkeyClient.cancel, with plain workers and clients', () => {
  const rig = useGearMonkey();

  it('rejects if a plain worker runs the job, which continues', async () => {
    const fn = rig.fn();
    const job = await rig.client.run(fn, 'x');
    await rig.redis.brpop(`queue:${fn}:normal`, 1);
    await rig.redis.publish(`channel:${fn}`, `start:${job.id}`);
    await rig.redis.hmset(`job:${fn}:${job.id}`, 'status', 'busy');
    const cancelling = job.cancel();
    await expect(cancelling).rejects.toThrow(NotCancellableError);
    await expect(cancelling).rejects.toThrow(`Job 1 of "${fn}" runs on a plain GearMonkey worker`);
    await expect(job.cancel({ running: false })).resolves.toBe(false);
    await rig.redis.hmset(`job:${fn}:${job.id}`, 'status', 'success', 'output', '"out"');
    await expect(job.cancel()).resolves.toBe(false);
    await expect(job.result()).resolves.toBe('out');
  });

  it('ends a job of a plain client, which is notified on the lock list', async () => {
    const fn = rig.fn();
    const id = await submit(rig.redis, fn, 'x');
    const waiting = rig.redis.duplicate();
    const locked = waiting.brpop(`lock:${fn}:${id}`, 10);
    await expect(rig.client.cancel(fn, id)).resolves.toBe(true);
    await expect(locked).resolves.toEqual([`lock:${fn}:${id}`, 'OK']);
    waiting.disconnect();
    await expect(rig.redis.hmget(`job:${fn}:${id}`, 'status', 'output')).resolves.toEqual([
      'error',
      'cancelled',
    ]);
  });

  it.each(['', ' ', '*', '1:1', '-1', '\u0000'])('rejects for the missing job %j', async (id) => {
    const fn = rig.fn();
    await rig.client.run(fn, 'x');
    await expect(rig.client.cancel(fn, id)).rejects.toThrow(JobNotFoundError);
    await expect(rig.client.get(fn, 1)).resolves.toMatchObject({ state: 'waiting' });
  });

  it('rejects for a key that is no hash, and writes nothing', async () => {
    const fn = rig.fn();
    await rig.redis.set(`job:${fn}:1`, 'text');
    await expect(rig.client.cancel(fn, 1)).rejects.toThrow('WRONGTYPE');
    await expect(rig.redis.get(`job:${fn}:1`)).resolves.toBe('text');
  });
});
