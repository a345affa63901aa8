import { describe, expect, it } from '@jest/globals';
import { performance } from 'node:perf_hooks';
import type { JobSource } from '../../lib/job/job-source.js';
import type { SourceCapabilities } from '../../lib/job/source-capabilities.js';
import { SlotTable } from '../../lib/worker/slot-table.js';
import { eventually, until } from '../support/until.js';
import { claimOne, inputOf, released, retry, success } from './claiming.js';
import { MAX_STALLS, type SourceRig } from './rig.js';

const SHORT_MS = 200;
/** For what a busy machine may delay by more than that, where it matters. */
const MODERATE_MS = 1000;
/** Renewed all the time, on a machine that may be busy for a second or two. */
const RENEWED_MS = 3000;
/** For whom nothing is to be lost: who has just connected takes over nothing for a quarter of it. */
const HELD_MS = 6000;

/** The part of the contract that holds for sources whose claims expire. */
export function leaseContract(
  rigOf: () => SourceRig,
  open: (fn: string, lease?: number) => Promise<JobSource>,
  capabilities: SourceCapabilities,
): void {
  const when = (capability: keyof SourceCapabilities) => (capabilities[capability] ? it : it.skip);

  /** A claim that another source holds by now. */
  async function lose(fn: string) {
    const loser = await open(fn, SHORT_MS);
    const id = await rigOf().submit(fn, 'a');
    const lost = await claimOne(loser, fn);
    const holder = await open(fn, HELD_MS);
    const held = await claimOne(holder, fn);
    return { id, loser, lost, holder, held };
  }

  describe('leases', () => {
    it('that expire give the job to another source, before waiting jobs', async () => {
      const fn = rigOf().fn();
      const loser = await open(fn, SHORT_MS);
      for (const input of ['a', 'b']) await rigOf().submit(fn, input);
      const lost = await claimOne(loser, fn);
      const other = await open(fn, HELD_MS);
      await until(() => loser.renew([lost]).then((gone) => gone.length === 0));
      const abort = new AbortController();
      const order: string[] = [];
      while (!order.includes('a')) {
        const claims = await other.claim(new SlotTable([[fn, 1]]), abort.signal);
        order.push(...claims.map(inputOf));
        // Until the lease is over, "b" is all there is: it goes back each time.
        if (!order.includes('a')) await other.settle(claims.map(released));
      }
      await expect(rigOf().stored(fn, lost.id)).resolves.toMatchObject({ status: 'busy' });
    });

    it('have a token that increases', async () => {
      const { id, lost, held } = await lose(rigOf().fn());
      expect(held.id).toBe(id);
      expect(held.token).toBeGreaterThan(lost.token);
      expect(held.attempts).toBe(lost.attempts + 1);
      expect([lost.stalls, held.stalls]).toEqual([0, 1]);
    });

    it('last while they are renewed', async () => {
      const fn = rigOf().fn();
      const source = await open(fn, RENEWED_MS);
      const id = await rigOf().submit(fn, 'a');
      const claim = await claimOne(source, fn);
      const abort = new AbortController();
      const stolen = (await open(fn)).claim(new SlotTable([[fn, 1]]), abort.signal);
      const start = performance.now();
      await until(async () => {
        await expect(source.renew([claim])).resolves.toEqual([]);
        return performance.now() - start > 1.5 * RENEWED_MS;
      });
      abort.abort();
      await expect(stolen).resolves.toEqual([]);
      await expect(source.settle([success(claim)])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toMatchObject({ status: 'success' });
    });

    it('are reported by renew if they are lost', async () => {
      const { loser, lost, holder, held } = await lose(rigOf().fn());
      await expect(loser.renew([lost])).resolves.toEqual([lost]);
      await expect(holder.renew([held])).resolves.toEqual([]);
    });

    it('that are lost settle nothing', async () => {
      const fn = rigOf().fn();
      const { id, loser, lost, holder, held } = await lose(fn);
      await expect(loser.settle([success(lost, 'old')])).resolves.toEqual([lost]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'busy' });
      await expect(holder.settle([success(held, 'new')])).resolves.toEqual([]);
      await expect(loser.settle([success(lost, 'old'), released(lost)])).resolves.toEqual([lost, lost]);
      await expect(loser.settle([retry(lost, 1)])).resolves.toEqual([lost]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'success', output: 'new' });
    });

    it('that are lost settle nothing even after the holder released the job', async () => {
      const fn = rigOf().fn();
      const { id, loser, lost, holder, held } = await lose(fn);
      await holder.settle([released(held)]);
      await expect(loser.settle([success(lost, 'old')])).resolves.toEqual([lost]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'idle' });
    });

    when('progress')('that are lost take no progress', async () => {
      const { loser, lost, holder, held } = await lose(rigOf().fn());
      await expect(loser.progress(lost, 1, 2)).resolves.toBe(false);
      await expect(holder.progress(held, 1, 2)).resolves.toBe(true);
      await holder.settle([success(held)]);
      await expect(holder.progress(held, 2, 2)).resolves.toBe(false);
    });

    it('that are lost more than maxStalls times end the job as JOB_STALLED', async () => {
      const fn = rigOf().fn();
      const id = await rigOf().submit(fn, 'a');
      const source = await open(fn, MODERATE_MS);
      for (let loss = 0; loss <= MAX_STALLS; loss++) {
        await expect(claimOne(source, fn)).resolves.toMatchObject({ id, attempts: loss + 1 });
      }
      const abort = new AbortController();
      const none = source.claim(new SlotTable([[fn, 1]]), abort.signal);
      await eventually(async () => expect((await rigOf().stored(fn, id)).status).toBe('error'));
      abort.abort();
      await expect(none).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toMatchObject({ status: 'error', code: 'JOB_STALLED' });
    });
  });
}
