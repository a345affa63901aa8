import { describe, expect, it } from '@jest/globals';
import type { JobSource } from '../../lib/job/job-source.js';
import { checkKeep, type KeepOptions } from '../../lib/job/keep.js';
import { eventually } from '../support/until.js';
import { claimOne, failure, released, success } from './claiming.js';
import { pass, spanOf, type ClientRig } from './rig.js';

/** The part of the contract that is about how long ended jobs can be read. */
export function keepContract(rigOf: () => ClientRig): void {
  async function sourceOf(fn: string, keep: KeepOptions): Promise<JobSource> {
    const source = rigOf().source();
    source.keep?.set(fn, checkKeep(keep));
    await source.open([fn]);
    return source;
  }

  describe('keep', () => {
    it.each(['succeeded', 'failed', 'cancelled'] as const)(
      'has only the newest jobs that ended as %s, as many as its count',
      async (state) => {
        const fn = rigOf().fn();
        const client = rigOf().client();
        const source = await sourceOf(fn, { success: { count: 3 }, error: { count: 3 } });
        // A worker leads its function once it has claimed.
        await client.run(fn, 'another');
        await source.settle([released(await claimOne(source, fn))]);
        await client.cancel(fn, 1);
        const ids: string[] = [];
        for (let job = 0; job < 8; job++) {
          const handle = await client.run(fn, job);
          ids.push(handle.id);
          if (state === 'cancelled') {
            await handle.cancel();
            continue;
          }
          const claim = await claimOne(source, fn);
          await source.settle([state === 'succeeded' ? success(claim) : failure(claim, 'broken')]);
        }
        await pass(rigOf(), spanOf(rigOf()));
        await eventually(async () => {
          const { jobs, total } = await client.list(fn, { state, order: 'oldest' });
          expect([jobs.map(({ id }) => id), total]).toEqual([ids.slice(-3), 3]);
        });
        for (const id of ids.slice(0, -3)) await expect(client.get(fn, id)).resolves.toBeNull();
        await expect(client.get(fn, ids[5] ?? '')).resolves.not.toBeNull();
        const [{ [state]: counted } = { [state]: undefined }] = (await client.overview()).filter(
          (one) => one.fn === fn,
        );
        expect(counted).toBe(3);
      },
    );

    it('counts jobs that succeeded and failed by themselves, and leaves those that wait', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const source = await sourceOf(fn, { success: { count: 1 } });
      for (let job = 0; job < 3; job++) {
        await client.run(fn, job);
        await source.settle([failure(await claimOne(source, fn), 'broken')]);
      }
      for (let job = 0; job < 3; job++) {
        await client.run(fn, job);
        await source.settle([success(await claimOne(source, fn))]);
      }
      const waiting = await client.run(fn, 'waits');
      await pass(rigOf(), spanOf(rigOf()));
      await eventually(async () =>
        expect((await client.list(fn, { state: 'succeeded' })).jobs.map(({ id }) => id)).toEqual(['6']),
      );
      await expect(client.list(fn, { state: 'failed' })).resolves.toMatchObject({ total: 3 });
      await expect(waiting.get()).resolves.toMatchObject({ state: 'waiting' });
    });

    it('leaves a failed job that was retried, though newer ones have failed', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const source = await sourceOf(fn, { error: { count: 1 } });
      const { id } = await client.run(fn, 'first');
      await source.settle([failure(await claimOne(source, fn), 'broken')]);
      await client.retry(fn, id).done;
      const again = await claimOne(source, fn);
      for (let job = 0; job < 2; job++) {
        await client.run(fn, job);
        await source.settle([failure(await claimOne(source, fn), 'broken')]);
      }
      await pass(rigOf(), spanOf(rigOf()));
      await eventually(async () =>
        expect((await client.list(fn, { state: 'failed' })).jobs.map(({ id: one }) => one)).toEqual(['3']),
      );
      await expect(client.get(fn, id)).resolves.toMatchObject({ state: 'running' });
      await expect(source.settle([success(again)])).resolves.toEqual([]);
    });
  });
}
