import { describe, expect, it } from '@jest/globals';
import { success } from './claiming.js';
import { HOUR_MS, idsOf, type LimitedFunctions } from './limited.js';

/** The part of the limits' contract that is about the numbers that servers keep, and what `limits` tells. */
export function limitNumbersContract(functions: LimitedFunctions): void {
  describe('numbers', () => {
    it('are those of the worker that started last; a client gives them only if there are none', async () => {
      const first = await functions.open({ concurrency: 1 });
      await first.add('a', 6, {}, { rules: { order: 'fair', concurrency: 4 } });
      await expect(first.claimNow()).resolves.toHaveLength(1);
      const second = await functions.open({ concurrency: 3 }, { fn: first.fn });
      await expect(second.claimNow()).resolves.toHaveLength(2);
    });

    it('are changed at run time for all workers, until they are reset', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.add('a', 9);
      await limited.claimNow();
      await limited.store.limits.set(limited.fn, { concurrency: 3 });
      const more = await limited.claimNow();
      expect(more).toHaveLength(2);
      const other = await functions.open({ concurrency: 1 }, { fn: limited.fn });
      for (const claim of more) await limited.settle(success(claim));
      await expect(other.claimNow()).resolves.toHaveLength(2);
      await limited.store.limits.set(limited.fn, undefined);
      await expect(limited.claimNow()).resolves.toEqual([]);
    });

    it('that were changed stay when all workers have closed and others declare the limit again', async () => {
      const first = await functions.open({ concurrency: 1 });
      await first.add('a', 9);
      await first.store.limits.set(first.fn, { concurrency: 2 });
      await first.source.close();
      const second = await functions.open({ concurrency: 5 }, { fn: first.fn });
      await expect(second.claimNow()).resolves.toHaveLength(2);
      await second.store.limits.set(second.fn, undefined);
      await expect(second.claimNow()).resolves.toHaveLength(3);
    });

    it('that were changed stay while the function takes part in a shared limit', async () => {
      const own = await functions.open({ concurrency: 1 });
      await own.add('a', 9);
      await own.store.limits.set(own.fn, { concurrency: 3 });
      const shared = { concurrency: 1, shared: `{${own.fn}}:shared` };
      const other = await functions.open(shared, { fn: own.fn });
      await expect(other.claimNow()).resolves.toHaveLength(1);
      const again = await functions.open({ concurrency: 1 }, { fn: own.fn });
      await expect(again.claimNow()).resolves.toHaveLength(2);
      await again.store.limits.set(own.fn, undefined);
      await functions.open({ concurrency: 5 }, { fn: own.fn });
      await expect(again.claimNow()).resolves.toHaveLength(2);
    });

    it('that are lowered let running jobs go on, and start none until there is a place', async () => {
      const limited = await functions.open({ concurrency: 3 });
      const ids = idsOf(await limited.add('a', 5));
      const claims = await limited.claimNow();
      await limited.store.limits.set(limited.fn, { concurrency: 1 });
      for (const claim of claims) {
        await expect(limited.idsNow()).resolves.toEqual([]);
        await expect(limited.settle(success(claim))).resolves.toEqual([]);
      }
      await expect(limited.idsNow()).resolves.toEqual([ids[3]]);
    });

    it('wake a worker that waits when they are raised', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const ids = idsOf(await limited.add('a', 2));
      await limited.claimOne();
      const waits = limited.claimOne();
      await limited.store.limits.set(limited.fn, { concurrency: 2 });
      await expect(waits).resolves.toMatchObject({ id: ids[1] });
    });

    it('replace all of those before: a rate takes the place of a concurrency', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.add('a', 5);
      await limited.store.limits.set(limited.fn, { rate: { max: 2, per: HOUR_MS } });
      await expect(limited.claimNow()).resolves.toHaveLength(2);
    });

    it('can not be changed of a function that has no limit', async () => {
      const { store, fn } = await functions.open({ concurrency: 1 });
      const unknown = { code: 'LIMIT_UNKNOWN' };
      await expect(store.limits.set(`${fn}-none`, { concurrency: 1 })).rejects.toMatchObject(unknown);
      await expect(store.limits.set(`${fn}-none`, undefined)).rejects.toMatchObject(unknown);
      await expect(store.limits.set(fn, undefined)).resolves.toBeUndefined();
    });
  });

  describe('limits', () => {
    it('tells keys that have jobs or are full: full ones first, then those with most waiting', async () => {
      const limited = await functions.open({ concurrency: 2 });
      await limited.addAll(['few', 'many', 'full', 'full', 'full', 'many', 'many', 'done']);
      const claims = await limited.claimUpTo(4);
      expect(claims).toHaveLength(4);
      await limited.claimOne();
      const done = claims.find((claim) => Buffer.from(claim.input).toString().startsWith('done'));
      if (done) await limited.settle(success(done));
      const states = await limited.store.limits.read(limited.fn, { size: 10 });
      expect(states.map(({ key, waiting, running, full }) => [key, waiting, running, full])).toEqual([
        ['many', 1, 2, true],
        ['full', 2, 1, false],
        ['few', 0, 1, false],
      ]);
    });

    it('tells no more than asked for, or only one key', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.addAll(['a', 'b', 'c', 'a']);
      await limited.claimOne();
      const states = await limited.store.limits.read(limited.fn, { size: 1 });
      expect(states).toEqual([{ key: 'a', waiting: 1, running: 1, full: true }]);
      await expect(limited.store.limits.read(limited.fn, { key: 'b', size: 5 })).resolves.toEqual([
        { key: 'b', waiting: 1, running: 0, full: false },
      ]);
      await expect(limited.store.limits.read(limited.fn, { key: 'unknown', size: 5 })).resolves.toEqual([]);
    });

    it('counts no scheduled jobs', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.addOne('a', { queue: 'scheduled', delay: HOUR_MS });
      await limited.addOne('a');
      await expect(limited.state('a')).resolves.toMatchObject({ waiting: 1 });
    });

    it('tells of the key that is empty, and of none where there is no limit', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.addOne('');
      await expect(limited.store.limits.read(limited.fn, { size: 5 })).resolves.toMatchObject([{ key: '' }]);
      await expect(limited.store.limits.read(`${limited.fn}-none`, { size: 5 })).resolves.toEqual([]);
    });
  });
}
