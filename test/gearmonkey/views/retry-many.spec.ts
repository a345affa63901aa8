import { describe, expect, it } from '@jest/globals';
import { concatMap, from, lastValueFrom } from 'rxjs';
import { mend } from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useGearMonkey } from '../use-gearmonkey.js';

/** What a call is sent again for, and what else changes meanwhile. */
describe('A retry of failed jobs', () => {
  const rig = useGearMonkey();

  /** Failed jobs as workers of this package leave them. */
  async function failed(fn: string, count: number): Promise<void> {
    await rig.client.runMany(
      fn,
      Array.from({ length: count }, (_, index) => index),
    );
    const k = keysOf(fn);
    await rig.redis.del(k.normal);
    const now = Date.now();
    for (let id = 1; id <= count; id++) {
      await rig.redis.hset(k.jobs + id, { status: 'error', finished: now, attempts: 3, output: 'broken' });
      await rig.redis.expire(k.jobs + id, 90_000);
      await rig.redis.zadd(`${k.ended}failed`, now, id);
    }
  }

  const keys = (fn: string) => {
    const k = keysOf(fn);
    const own = [k.jobs, k.locks, k.channel, k.control, k.high, k.normal, k.low, k.wake];
    return [...own, `${k.ended}failed`, `${k.ended}cancelled`, k.scheduled];
  };

  it('does nothing twice if a call is sent again, and counts the same', async () => {
    const fn = rig.fn();
    await failed(fn, 2);
    const finished = (await rig.redis.hget(`job:${fn}:1`, 'finished')) ?? '';
    const step = ['1', finished, '2', finished];
    for (const _ of [1, 2])
      await expect(mend.run(rig.redis, keys(fn), '', 'retry', 'call', step)).resolves.toBe(2);
    await expect(rig.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['2', '1']);
    await expect(mend.run(rig.redis, keys(fn), '', 'retry', 'other', step)).resolves.toBe(0);
    await expect(rig.redis.ttl(`job:${fn}:1`)).resolves.toBe(-1);
  });

  it('leaves a job that has failed again since it was read', async () => {
    const fn = rig.fn();
    await failed(fn, 1);
    for (const verb of ['retry', 'discard'] as const)
      await expect(mend.run(rig.redis, keys(fn), '', verb, 'call', ['1', '1234'])).resolves.toBe(0);
    await expect(rig.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('error');
  });

  it('leaves entries of the list that are no jobs of the call', async () => {
    const fn = rig.fn();
    await failed(fn, 1);
    await rig.redis.zadd(`ended:${fn}:failed`, -7, '');
    await expect(rig.client.retry(fn, '1').done).resolves.toBe(1);
    await expect(rig.redis.zrange(`ended:${fn}:failed`, '0', '-1', 'WITHSCORES')).resolves.toEqual([
      '',
      '-7',
    ]);
  });

  it('ends after the step that is under way once it is cancelled', async () => {
    const fn = rig.fn();
    await failed(fn, 250);
    const run = rig.client.retry(fn, { state: 'failed' });
    run.progress$.subscribe((moved) => moved > 0 && run.cancel());
    await expect(run.done).resolves.toBe(100);
    await expect(rig.redis.zcard(`ended:${fn}:failed`)).resolves.toBe(150);
  });

  it('is refused as a whole while the memory of the server is full, but jobs can be discarded', async () => {
    const fn = rig.fn();
    await failed(fn, 3);
    await rig.redis.config('SET', 'maxmemory', '1');
    try {
      const refused = { code: 'REFUSED', message: expect.stringContaining('OOM') };
      await expect(rig.client.retry(fn, { state: 'failed' }).done).rejects.toMatchObject(refused);
      await expect(rig.client.retry(fn, '1').done).rejects.toMatchObject(refused);
      await expect(rig.redis.zcard(`ended:${fn}:failed`)).resolves.toBe(3);
      await expect(rig.client.discard(fn, '1').done).resolves.toBe(1);
    } finally {
      await rig.redis.config('SET', 'maxmemory', '0');
    }
    await expect(rig.client.retry(fn, { state: 'failed' }).done).resolves.toBe(2);
  });

  it('puts each of 1,000 jobs back once while connections are killed', async () => {
    const fn = rig.fn();
    await failed(fn, 1000);
    const run = rig.newClient().retry(fn, { state: 'failed' });
    const kill = () => rig.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await lastValueFrom(run.progress$.pipe(concatMap(() => from(kill()))));
    await expect(run.done).resolves.toBe(1000);
    const queued = await rig.redis.lrange(`queue:${fn}:normal`, 0, -1);
    expect(queued).toHaveLength(1000);
    expect(new Set(queued).size).toBe(1000);
    await expect(rig.redis.zcard(`ended:${fn}:failed`)).resolves.toBe(0);
  });
});
