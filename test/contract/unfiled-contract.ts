import { placeLimited } from '../../lib/gearmonkey/features/limits/placed-limit.js';
import { describe, expect, it } from '@jest/globals';
import { LimitKeyError } from '../../lib/job/limit-errors.js';
import { eventually } from '../support/until.js';
import { claimOne, inputOf, success } from './claiming.js';
import { idsOf, type LimitedFunctions } from './limited.js';
import type { ClientRig } from './rig.js';

/** The part of the limits' contract that is about clients and workers that know no limit. */
export function unfiledContract(rigOf: () => ClientRig, functions: LimitedFunctions): void {
  describe('a job that was enqueued without a key', () => {
    const submit = (fn: string, input: string, queue: 'high' | 'normal' | 'low' = 'normal') =>
      rigOf().submit(fn, input, { queue });

    it('gets one from the worker, without an attempt', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const ids = [await submit(limited.fn, 'a:0'), await submit(limited.fn, 'a:1')];
      const claim = await limited.claimOne();
      expect(claim).toMatchObject({ id: ids[0], attempts: 1, stalls: 0 });
      expect(inputOf(claim)).toBe('a:0');
      await eventually(async () =>
        expect(await limited.state('a')).toMatchObject({ waiting: 1, running: 1 }),
      );
      await expect(limited.field(ids[1] ?? '', 'key')).resolves.toBe('a');
      await limited.settle(success(claim));
      await expect(limited.claimOne()).resolves.toMatchObject({ id: ids[1], attempts: 1 });
    });

    it('is counted with those that have keys, and waits behind them', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const [first, second] = await limited.add('a', 2);
      const plain = await submit(limited.fn, 'a:plain');
      const started = await limited.run(3);
      expect([...started].sort()).toEqual([first?.id, second?.id, plain].sort());
      expect(started.indexOf(first?.id ?? '')).toBeLessThan(started.indexOf(second?.id ?? ''));
    });

    it('keeps its priority', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const claim = await limited.addOne('a').then(() => limited.claimOne());
      const normal = await limited.addOne('a');
      const high = await submit(limited.fn, 'a:high', 'high');
      await eventually(async () => {
        await limited.idsNow();
        expect((await limited.state('a'))?.waiting).toBe(2);
      });
      await limited.settle(success(claim));
      await expect(limited.run(2)).resolves.toEqual([high, normal.id]);
    });

    it('runs when it is due', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const id = await rigOf().submit(limited.fn, 'a:0', { queue: 'scheduled', score: 1 });
      await expect(limited.claimOne()).resolves.toMatchObject({ id, attempts: 1 });
    });

    it('ends as an error if its key can not be made, and the next one runs', async () => {
      const limited = await functions.open(
        { concurrency: 1 },
        {
          keyOf: (input) => {
            if (input === 'bad') throw new LimitKeyError(limited.fn, 'returned an empty text');
            return input;
          },
        },
      );
      const bad = await submit(limited.fn, 'bad');
      const good = await submit(limited.fn, 'good');
      await expect(limited.claimOne()).resolves.toMatchObject({ id: good });
      await eventually(async () =>
        expect(await rigOf().stored(limited.fn, bad)).toMatchObject({ status: 'error', code: 'LIMIT_KEY' }),
      );
    });

    it('holds up no other, however many of a full key there are', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.addOne('full');
      const busy = await limited.claimOne();
      for (let i = 0; i < 250; i++) await submit(limited.fn, `full:${i}`);
      const other = await submit(limited.fn, 'other:0', 'low');
      await expect(limited.claimOne()).resolves.toMatchObject({ id: other });
      await limited.settle(success(busy));
    });
  });

  describe('a worker without the limit', () => {
    it('keeps to it for jobs that have a key', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const ids = idsOf(await limited.add('a', 2));
      const source = rigOf().source();
      await source.open([limited.fn]);
      const claim = await claimOne(source, limited.fn);
      expect(claim.id).toBe(ids[0]);
      await expect(limited.idsNow()).resolves.toEqual([]);
      await source.settle([success(claim)]);
      await expect(limited.idsNow()).resolves.toEqual([ids[1]]);
      await source.close();
    });

    it('runs jobs that have a key when only the client knows the limit', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const fn = rigOf().fn();
      const source = rigOf().source();
      await source.open([fn]);
      const limit = { rules: limited.rules, onFull: 'wait', replace: 'waiting' } as const;
      await limited.store.enqueue(fn, ['0', '1'], placeLimited({ queue: 'normal' }, limit, ['a', 'a']));
      for (const input of ['0', '1']) {
        const claim = await claimOne(source, fn);
        expect(inputOf(claim)).toBe(input);
        await expect(limited.store.limits.read(fn, { size: 5 })).resolves.toMatchObject([
          { key: 'a', running: 1 },
        ]);
        await source.settle([success(claim)]);
      }
      await source.close();
    });
  });
}
