import { describe, expect, it } from '@jest/globals';
import type { Claim, JobSource } from '../../lib/job/job-source.js';
import type { SourceCapabilities } from '../../lib/job/source-capabilities.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { eventually } from '../support/until.js';
import { claimOne, failure, inputOf, released, retry, snoozed, success } from './claiming.js';
import { pass, spanOf, type SourceRig } from './rig.js';

/** The part of the contract that is about handing outcomes over, and leaving. */
export function settleContract(
  rigOf: () => SourceRig,
  open: (fn: string | string[]) => Promise<JobSource>,
  capabilities: SourceCapabilities,
): void {
  const when = (capability: keyof SourceCapabilities) => (capabilities[capability] ? it : it.skip);

  describe('settle', () => {
    it('ends a job with its output', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'a');
      await expect(source.settle([success(await claimOne(source, fn), '"out"')])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'success', output: '"out"' });
    });

    it("ends a job with its error's message", async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'a');
      await expect(source.settle([failure(await claimOne(source, fn), 'no disk')])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toMatchObject({ status: 'error', output: 'no disk' });
    });

    it('puts a released job at the front, and the attempt does not count', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      for (const input of ['a', 'b']) await rigOf().submit(fn, input);
      const claim = await claimOne(source, fn);
      await expect(source.settle([released(claim)])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, claim.id)).resolves.toMatchObject({ status: 'idle' });
      const again = await claimOne(source, fn);
      expect(again).toMatchObject({ id: claim.id, attempts: 1 });
      expect(again.token).toBeGreaterThan(claim.token);
    });

    it('refuses an outcome of a worker that released the job', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'a');
      const first = await claimOne(source, fn);
      await source.settle([released(first)]);
      const second = await claimOne(source, fn);
      await source.settle([released(first)]);
      await expect(rigOf().stored(fn, id)).resolves.toMatchObject({ status: 'busy' });
      await expect(source.settle([success(second, 'mine')])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'success', output: 'mine' });
    });

    when('snooze')('runs a snoozed job again after its delay, and counts no attempt', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'a');
      const first = await claimOne(source, fn);
      const [before, span] = [Date.now(), spanOf(rigOf())];
      await expect(source.settle([snoozed(first, span)])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'idle' });
      const again = claimOne(source, fn).then((claim) => [claim, Date.now()] as const);
      await pass(rigOf(), span);
      const [second, at] = await again;
      expect(at - before).toBeGreaterThanOrEqual(span);
      expect(second).toMatchObject({ id, attempts: 1, stalls: 0, snoozes: 1 });
      await source.settle([snoozed(second, 0)]);
      await expect(claimOne(source, fn)).resolves.toMatchObject({ id, attempts: 1, snoozes: 2 });
    });

    when('snooze')('accepts a snooze that is sent again, and refuses that of an earlier claim', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      await rigOf().submit(fn, 'a');
      const first = await claimOne(source, fn);
      await source.settle([snoozed(first, 0)]);
      await expect(source.settle([snoozed(first, 0)])).resolves.toEqual([]);
      const second = await claimOne(source, fn);
      expect(second).toMatchObject({ attempts: 1, snoozes: 1 });
      await source.settle([snoozed(first, 0)]);
      await expect(source.settle([success(second, 'mine')])).resolves.toEqual([]);
    });

    it('accepts many outcomes of several functions in one call', async () => {
      const functions = [rigOf().fn(), rigOf().fn()];
      const source = await open(functions);
      const claims: Claim[] = [];
      for (const fn of functions) {
        for (let i = 0; i < 3; i++) await rigOf().submit(fn, `${i}`);
        for (let i = 0; i < 3; i++) claims.push(await claimOne(source, fn));
      }
      await expect(source.settle(claims.map((claim) => success(claim, claim.id)))).resolves.toEqual([]);
      const states = await Promise.all(claims.map(({ fn, id }) => rigOf().stored(fn, id)));
      expect(states).toEqual(claims.map(({ id }) => ({ status: 'success', output: id })));
    });

    it('accepts an outcome that is sent again', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'a');
      const outcome = success(await claimOne(source, fn), 'once');
      await expect(source.settle([outcome])).resolves.toEqual([]);
      await expect(source.settle([outcome])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'success', output: 'once' });
    });

    when('scheduled')('holds a job that is to be tried again back for its delay', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'again');
      const claim = await claimOne(source, fn);
      const [settled, span] = [Date.now(), spanOf(rigOf())];
      await expect(source.settle([retry(claim, span)])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'idle' });
      await rigOf().submit(fn, 'meanwhile');
      const claims = new Map<string, [claim: Claim, at: number]>();
      for (const time of [0, span]) {
        await pass(rigOf(), time);
        const next = await claimOne(source, fn);
        claims.set(inputOf(next), [next, Date.now()]);
      }
      // If its time passes for real, a busy machine may take so long that both can be claimed.
      if (rigOf().pass) expect([...claims.keys()]).toEqual(['meanwhile', 'again']);
      const [second = claim, at = 0] = claims.get('again') ?? [];
      expect(at - settled).toBeGreaterThanOrEqual(span);
      expect(second).toMatchObject({ id, attempts: 2, stalls: 0 });
      expect(second.token).toBeGreaterThan(claim.token);
    });

    when('scheduled')('accepts a retry that is sent again, and retries once', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'again');
      const outcome = retry(await claimOne(source, fn), 1);
      await expect(source.settle([outcome])).resolves.toEqual([]);
      await expect(source.settle([outcome])).resolves.toEqual([]);
      const second = await claimOne(source, fn);
      await source.settle([outcome]);
      await expect(rigOf().stored(fn, id)).resolves.toMatchObject({ status: 'busy' });
      await expect(source.settle([success(second, 'out')])).resolves.toEqual([]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'success', output: 'out' });
      await rigOf().submit(fn, 'next');
      await expect(claimOne(source, fn).then(inputOf)).resolves.toBe('next');
    });

    it('accepts one outcome per claim: a second, different one changes nothing', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const id = await rigOf().submit(fn, 'a');
      const claim = await claimOne(source, fn);
      await source.settle([success(claim, 'out')]);
      await source.settle([failure(claim, 'no'), retry(claim, 1), released(claim)]);
      await expect(rigOf().stored(fn, id)).resolves.toEqual({ status: 'success', output: 'out' });
      await rigOf().submit(fn, 'next');
      await expect(claimOne(source, fn).then(inputOf)).resolves.toBe('next');
    });
  });

  describe('close', () => {
    it('releases jobs that were claimed and not returned', async () => {
      const fn = rigOf().fn();
      const leaving = await open(fn);
      const id = await rigOf().submit(fn, 'a');
      const abort = new AbortController();
      const claiming = leaving.claim(new SlotTable([[fn, 1]]), abort.signal);
      await new Promise(setImmediate);
      abort.abort();
      await leaving.settle((await claiming).map(released));
      await leaving.close();
      await eventually(async () => expect((await rigOf().stored(fn, id)).status).toBe('idle'));
      await expect(claimOne(await open(fn), fn)).resolves.toMatchObject({ id, attempts: 1 });
    });

    it('ends a claim that waits', async () => {
      const fn = rigOf().fn();
      const source = await open(fn);
      const abort = new AbortController();
      const claiming = source.claim(new SlotTable([[fn, 1]]), abort.signal);
      abort.abort();
      await source.close();
      await expect(claiming).resolves.toEqual([]);
    });

    it('can be called again', async () => {
      const source = await open(rigOf().fn());
      await source.close();
      await expect(source.close()).resolves.toBeUndefined();
    });
  });
}
