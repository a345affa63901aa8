import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/until.js';
import { released, success } from './claiming.js';
import { held, HOUR_MS, idsOf, type LimitedFunctions } from './limited.js';
import { pass, spanOf, type ClientRig } from './rig.js';

/** The part of the limits' contract that is about time: rates, and keys that are held. */
export function rateContract(rigOf: () => ClientRig, functions: LimitedFunctions): void {
  describe('rate', () => {
    it('starts in no span more jobs of a key than it allows, and all of them in the end', async () => {
      const [max, per] = [3, spanOf(rigOf())];
      const limited = await functions.open({ rate: { max, per } });
      const jobs = await limited.add('a', 11);
      for (let left = jobs.length; left > 0;) {
        const claims = await limited.claimNow();
        await limited.settle(...claims.map((claim) => success(claim)));
        left -= claims.length;
        if (left > 0) await pass(rigOf(), per / 4);
      }
      const starts = await Promise.all(jobs.map((job) => limited.started(job)));
      for (const [index, start] of starts.slice(max).entries())
        expect(start - (starts[index] ?? 0)).toBeGreaterThan(per);
    });

    it('counts each key by itself', async () => {
      const limited = await functions.open({ rate: { max: 1, per: HOUR_MS } });
      const [a, , b] = idsOf(await limited.addAll(['a', 'a', 'b', 'b']));
      await expect(limited.idsNow()).resolves.toEqual([a, b]);
      await expect(limited.idsNow()).resolves.toEqual([]);
    });

    it('counts starts, however they ended, and says when the next may start', async () => {
      const limited = await functions.open({ rate: { max: 2, per: HOUR_MS } });
      const [first] = await limited.add('a', 3);
      await limited.settle(released(await limited.claimOne()));
      await limited.settle(success(await limited.claimOne()));
      await expect(limited.idsNow()).resolves.toEqual([]);
      const state = await limited.state('a');
      expect(state).toMatchObject({ key: 'a', waiting: 2, running: 0, full: true });
      const started = await limited.started(first ?? { id: '' });
      const until = state?.fullUntil?.getTime() ?? 0;
      expect(until).toBeGreaterThan(started - 60_000 + HOUR_MS);
      expect(until).toBeLessThanOrEqual(started + HOUR_MS + 1);
    });

    it('holds beside a concurrency', async () => {
      const limited = await functions.open({ concurrency: 1, rate: { max: 2, per: HOUR_MS } });
      const ids = idsOf(await limited.add('a', 3));
      const first = await limited.claimOne();
      await expect(limited.idsNow()).resolves.toEqual([]);
      await limited.settle(success(first));
      const second = await limited.claimOne();
      await limited.settle(success(second));
      expect([first.id, second.id]).toEqual(ids.slice(0, 2));
      await expect(limited.idsNow()).resolves.toEqual([]);
    });
  });

  describe('a held key', () => {
    it('starts no job until then, first the one that was given back, without an attempt', async () => {
      const limited = await functions.open({ concurrency: 5 });
      const [first, second, other] = await limited.addAll(['a', 'a', 'b']);
      const claim = await limited.claimOne();
      const [before, span] = [Date.now(), spanOf(rigOf())];
      await expect(limited.settle(held(claim, span))).resolves.toEqual([]);
      await expect(limited.field(first?.id ?? '', 'status')).resolves.toBe('idle');
      await expect(limited.idsNow()).resolves.toEqual([other?.id]);
      await pass(rigOf(), span);
      const again = await limited.claimOne();
      expect(Date.now() - before).toBeGreaterThanOrEqual(span - 5);
      expect(again).toMatchObject({ id: first?.id, attempts: 1 });
      await expect(limited.claimOne()).resolves.toMatchObject({ id: second?.id });
    });

    it('is held for the longest of several spans, and says until when', async () => {
      const limited = await functions.open({ concurrency: 5 });
      await limited.add('a', 2);
      const [one, two] = await limited.claimNow();
      const before = Date.now();
      if (one && two) await limited.settle(held(one, HOUR_MS), held(two, 1));
      await expect(limited.idsNow()).resolves.toEqual([]);
      const { full, fullUntil, waiting, running } = (await limited.state('a')) ?? {};
      expect([full, waiting, running]).toEqual([true, 2, 0]);
      expect(fullUntil?.getTime()).toBeGreaterThanOrEqual(before + HOUR_MS - 5);
      expect(fullUntil?.getTime()).toBeLessThan(before + HOUR_MS + 60_000);
    });

    it('lets its running jobs go on', async () => {
      const limited = await functions.open({ concurrency: 5 });
      await limited.add('a', 2);
      const [one, two] = await limited.claimNow();
      if (one) await limited.settle(held(one, HOUR_MS));
      if (two) await expect(limited.settle(success(two))).resolves.toEqual([]);
      await expect(limited.state('a')).resolves.toMatchObject({ waiting: 1, running: 0 });
    });

    it('accepts the outcome that is sent again, once', async () => {
      const limited = await functions.open({ concurrency: 5 });
      const job = await limited.addOne('a');
      const claim = await limited.claimOne();
      const span = spanOf(rigOf());
      await limited.settle(held(claim, span));
      await expect(limited.settle(held(claim, span))).resolves.toEqual([]);
      await pass(rigOf(), span);
      await eventually(async () => expect(await limited.idsNow()).toEqual([job.id]));
      await expect(limited.field(job.id, 'attempts')).resolves.toBe('1');
    });

    it('takes no longer to be full of a key without jobs: it is not listed', async () => {
      const limited = await functions.open({ concurrency: 5 });
      const job = await limited.addOne('a');
      await limited.settle(held(await limited.claimOne(), spanOf(rigOf())));
      await limited.store.edits.cancel(limited.fn, job);
      await pass(rigOf(), spanOf(rigOf()));
      await eventually(async () => expect(await limited.state('a')).toBeUndefined());
    });
  });
}
