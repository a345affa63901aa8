import { describe, expect, it } from '@jest/globals';
import type { Claim, JobSource } from '../../lib/job/job-source.js';
import type { SourceCapabilities } from '../../lib/job/source-capabilities.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { eventually, until } from '../support/until.js';
import { claimOne, inputOf, released, retry, success } from './claiming.js';
import { MAX_STALLS, pass, workersLook, type SourceRig } from './rig.js';

/** Of what is to be lost, and what passes until it is: little, if it passes for real. */
const lostOf = (rig: SourceRig) => (rig.pass ? 20_000 : 200);
/** For whom nothing is to be lost: who has just connected takes over nothing for a quarter of it. */
const HELD_MS = 60_000;
/** The same if time passes for real. */
const REAL_HELD_MS = 6000;
/** The same of a source that loses its own claims. */
const MODERATE_MS = 1000;
/** Renewed ten times in its time, on a machine that may be busy for a second or two. */
const renewedOf = (rig: SourceRig) => (rig.pass ? 20_000 : 3000);

/** The part of the contract that holds for sources whose claims expire. */
export function leaseContract(
  rigOf: () => SourceRig,
  open: (fn: string, lease?: number) => Promise<JobSource>,
  capabilities: SourceCapabilities,
): void {
  const when = (capability: keyof SourceCapabilities) => (capabilities[capability] ? it : it.skip);

  const openHolder = (fn: string) => open(fn, rigOf().pass ? HELD_MS : REAL_HELD_MS);

  /** A claim that another source holds by now. */
  async function lose(fn: string) {
    const loser = await open(fn, lostOf(rigOf()));
    const id = await rigOf().submit(fn, 'a');
    const lost = await claimOne(loser, fn);
    const holder = await openHolder(fn);
    await pass(rigOf(), lostOf(rigOf()));
    const held = await claimOne(holder, fn);
    return { id, loser, lost, holder, held };
  }

  describe('leases', () => {
    it('that expire give the job to another source, before waiting jobs', async () => {
      const fn = rigOf().fn();
      const loser = await open(fn, lostOf(rigOf()));
      for (const input of ['a', 'b']) await rigOf().submit(fn, input);
      const lost = await claimOne(loser, fn);
      const other = await openHolder(fn);
      await until(() => loser.renew([lost]).then((gone) => gone.length === 0));
      const order: string[] = [];
      for (let passed = 0; !order.includes('a'); passed += 1) {
        // Until the lease is over, "b" is all there is: it goes back each time.
        if (passed === 1) await pass(rigOf(), lostOf(rigOf()));
        const claim = await claimOne(other, fn);
        order.push(inputOf(claim));
        if (inputOf(claim) !== 'a') await other.settle([released(claim)]);
      }
      if (rigOf().pass) expect(order).toEqual(['b', 'a']);
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
      const source = await open(fn, renewedOf(rigOf()));
      const id = await rigOf().submit(fn, 'a');
      const claim = await claimOne(source, fn);
      const asking = await open(fn, renewedOf(rigOf()));
      let other: Promise<Claim> | undefined;
      for (let renewals = 0; renewals < 15; renewals++) {
        await pass(rigOf(), renewedOf(rigOf()) / 10);
        await expect(source.renew([claim])).resolves.toEqual([]);
        // Before the lease would have ended; a call that was sent much earlier is given nothing, as its reply is late.
        if (renewals === 7) other = claimOne(asking, fn);
      }
      // The other one would get a lost job first.
      await rigOf().submit(fn, 'b');
      await workersLook(rigOf());
      expect(inputOf((await other) as Claim)).toBe('b');
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
      const lease = rigOf().pass ? HELD_MS : MODERATE_MS;
      const source = await open(fn, lease);
      for (let loss = 0; loss <= MAX_STALLS; loss++) {
        await expect(claimOne(source, fn)).resolves.toMatchObject({ id, attempts: loss + 1 });
        await pass(rigOf(), lease);
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
