import { describe, expect, it } from '@jest/globals';
import type { LimitRules } from '../../lib/job/limit.js';
import { released, retry, success } from './claiming.js';
import { held, HOUR_MS, idsOf, type LimitedFunctions } from './limited.js';
import type { ClientRig } from './rig.js';

/** The part of the limits' contract that is about those that several functions share. */
export function sharedLimitContract(rigOf: () => ClientRig, functions: LimitedFunctions): void {
  describe('a limit that functions share', () => {
    async function openTwo(numbers: Partial<LimitRules>) {
      // On a cluster they have to be in one slot.
      const tag = `{${rigOf().fn()}}`;
      const rules = { ...numbers, shared: `${tag}:shared` };
      return [
        await functions.open(rules, { fn: `${tag}:one` }),
        await functions.open(rules, { fn: `${tag}:two` }),
      ] as const;
    }

    it('counts the jobs of all of them', async () => {
      const [one, two] = await openTwo({ concurrency: 2 });
      await one.add('a', 3);
      const other = await two.addOne('a');
      const claims = await one.claimNow();
      expect(claims).toHaveLength(2);
      await expect(two.idsNow()).resolves.toEqual([]);
      if (claims[0]) await one.settle(success(claims[0]));
      await expect(two.idsNow()).resolves.toEqual([other.id]);
      await expect(one.idsNow()).resolves.toEqual([]);
    });

    it.each([
      ['has ended', success],
      ['waits for its retry', retry],
    ])(
      'lets a job of one function start when that of another %s, though its worker sleeps',
      async (_, end) => {
        const [one, two] = await openTwo({ concurrency: 1 });
        await one.addOne('a');
        const claim = await one.claimOne();
        const job = await two.addOne('a');
        const waits = two.claimOne();
        await one.settle(end === success ? success(claim) : retry(claim, HOUR_MS));
        await expect(waits).resolves.toMatchObject({ id: job.id });
      },
    );

    it('counts starts of all of them', async () => {
      const [one, two] = await openTwo({ rate: { max: 2, per: HOUR_MS } });
      await one.addOne('a');
      await two.addOne('a');
      await one.settle(released(await one.claimOne()));
      await two.settle(success(await two.claimOne()));
      await expect(one.idsNow()).resolves.toEqual([]);
      await expect(one.state('a')).resolves.toMatchObject({ full: true, fullUntil: expect.any(Date) });
    });

    it('counts each key by itself', async () => {
      const [one, two] = await openTwo({ concurrency: 1 });
      const [a] = idsOf(await one.add('a', 2));
      const [, b] = idsOf(await two.addAll(['a', 'b']));
      await expect(one.idsNow()).resolves.toEqual([a]);
      await expect(two.idsNow()).resolves.toEqual([b]);
    });

    it('is held for all of them', async () => {
      const [one, two] = await openTwo({ concurrency: 5 });
      await one.addOne('a');
      await two.addOne('a');
      await one.settle(held(await one.claimOne(), HOUR_MS));
      await expect(two.idsNow()).resolves.toEqual([]);
    });

    it('has one set of numbers: a change by one function is one for all', async () => {
      const [one, two] = await openTwo({ concurrency: 1 });
      await one.addOne('a');
      await one.claimOne();
      const job = await two.addOne('a');
      const waits = two.claimOne();
      await one.store.limits.set(one.fn, { concurrency: 2 });
      await expect(waits).resolves.toMatchObject({ id: job.id });
      await two.store.limits.set(two.fn, undefined);
      await two.addOne('a');
      await expect(two.idsNow()).resolves.toEqual([]);
    });

    it('may be taken up and given up again while jobs run: their places are free when they end', async () => {
      const [one] = await openTwo({ concurrency: 1 });
      const ids = idsOf(await one.add('a', 2));
      const claim = await one.claimOne();
      const own = await functions.open({ concurrency: 1 }, { fn: one.fn });
      await expect(own.idsNow()).resolves.toEqual([]);
      await own.settle(success(claim));
      await expect(own.claimOne()).resolves.toMatchObject({ id: ids[1] });
      await functions.open(one.rules, { fn: one.fn });
      await expect(one.store.limits.read(one.fn, { size: 5 })).resolves.toMatchObject([
        { key: 'a', running: 1 },
      ]);
    });

    it("refuses by all functions' jobs", async () => {
      const [one, two] = await openTwo({ concurrency: 1 });
      await one.addOne('a');
      await one.claimOne();
      await expect(two.addOne('a', {}, { onFull: 'refuse' })).rejects.toMatchObject({
        code: 'LIMIT_FULL',
        fn: two.fn,
        key: 'a',
      });
    });
  });
}
