import { describe, expect, it } from '@jest/globals';
import { cancelWork, type MayCancel } from '../../lib/dashboard/bulk-work.js';
import type { ViewedFunction } from '../../lib/dashboard/viewed-instance.js';
import type { JobHandle } from 'nestjs-gearmonkey';
import { SlotTable } from '../../lib/worker/function-slots.js';
import type { Claim } from '../../lib/job/job-source.js';
import { claimOne, success } from '../contract/claiming.js';
import { useGearMonkey } from '../gearmonkey/use-gearmonkey.js';

describe('Cancelling all jobs of a state', () => {
  const rig = useGearMonkey();

  function cancelAll(fn: string, state: 'waiting' | 'running', mayCancel: MayCancel): Promise<number> {
    const work = cancelWork({ client: rig.client, fn } as ViewedFunction, state, mayCancel);
    return work(
      () => undefined,
      () => false,
    );
  }

  it('that wait leaves one alone that has begun since it was listed', async () => {
    const [fn, source] = [rig.fn(), rig.source()];
    const [first, second] = await rig.client.runMany(fn, ['a', 'b']);
    let claiming: Promise<Claim> | undefined;
    const beginsMeanwhile = async () => {
      await (claiming ??= claimOne(source, fn));
      return true;
    };
    await expect(cancelAll(fn, 'waiting', beginsMeanwhile)).resolves.toBe(1);
    await expect(source.settle([success(await claiming!)])).resolves.toEqual([]);
    await expect(first?.get()).resolves.toMatchObject({ state: 'succeeded' });
    await expect(second?.get()).resolves.toMatchObject({ state: 'cancelled' });
  });

  it('counts a job for the one who has cancelled it', async () => {
    const fn = rig.fn();
    await rig.client.runMany(fn, [1, 2, 3]);
    const [ada, bob] = await Promise.all([
      cancelAll(fn, 'waiting', async () => true),
      cancelAll(fn, 'waiting', async () => true),
    ]);
    expect(ada + bob).toBe(3);
  });

  it('that run cancels them', async () => {
    const [fn, source] = [rig.fn(), rig.source()];
    const job = await rig.client.run(fn, 'a');
    await claimOne(source, fn);
    await expect(cancelAll(fn, 'running', async () => true)).resolves.toBe(1);
    await expect(job.get()).resolves.toMatchObject({ state: 'cancelled' });
  });

  it('that run cancels more of them than a page has, and none that begins afterwards', async () => {
    const [fn, source] = [rig.fn(), rig.source()];
    await rig.client.runMany(fn, Array.from({ length: 150 }));
    const claim = () => source.claim(new SlotTable([[fn, 150]]), new AbortController().signal);
    const running = new Set((await claim()).map(({ id }) => id));
    while (running.size < 150) for (const { id } of await claim()) running.add(id);
    const later = await rig.client.run(fn, 'later');
    let claiming: Promise<readonly Claim[]> | undefined;
    const beginsMeanwhile = async () => {
      await (claiming ??= claim());
      return true;
    };
    await expect(cancelAll(fn, 'running', beginsMeanwhile)).resolves.toBe(150);
    await expect(later.get()).resolves.toMatchObject({ state: 'running' });
  });

  it('that wait leaves those that were created since, whatever their host takes for the time', async () => {
    const fn = rig.fn();
    await rig.client.run(fn, 'a');
    const created: JobHandle[] = [];
    const createsMeanwhile = async () => {
      const job = await rig.client.run(fn, 'later');
      await rig.redis.hset(`job:${fn}:${job.id}`, { created: 1 });
      created.push(job);
      return true;
    };
    await expect(cancelAll(fn, 'waiting', createsMeanwhile)).resolves.toBe(1);
    await expect(Promise.all(created.map((job) => job.get()))).resolves.toMatchObject([{ state: 'waiting' }]);
  });
});
