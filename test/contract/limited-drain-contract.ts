import { describe, expect, it } from '@jest/globals';
import { drain, type WaitingState } from '../../lib/gearmonkey/features/edits/drain.js';
import { retry, success } from './claiming.js';
import { HOUR_MS, idsOf, type Limited, type LimitedFunctions } from './limited.js';
import type { ClientRig } from './rig.js';

/** The part of the limits' contract that is about `drain`. */
export function limitedDrainContract(rigOf: () => ClientRig, functions: LimitedFunctions): void {
  const drained = (limited: Limited, ...states: WaitingState[]) =>
    drain(limited.store.edits, limited.fn, states.length > 0 ? { states } : {});
  const codeOf = async (limited: Limited, id: string) => (await rigOf().stored(limited.fn, id)).code;

  describe('drain', () => {
    it('ends the jobs that wait, of full keys and of others, and no running one', async () => {
      const limited = await functions.open({ concurrency: 1 });
      const [running, ...waiting] = idsOf(await limited.add('a', 4));
      const claim = await limited.claimOne();
      waiting.push(...idsOf(await limited.addAll(['b', 'c'], { queue: 'high' })));
      await expect(drained(limited, 'waiting')).resolves.toBe(waiting.length);
      for (const id of waiting) await expect(codeOf(limited, id)).resolves.toBe('JOB_DRAINED');
      expect(claim.id).toBe(running);
      await expect(limited.settle(success(claim))).resolves.toEqual([]);
      await expect(limited.idsNow()).resolves.toEqual([]);
    });

    it('ends more jobs of a key than one step looks at', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.add('a', 700);
      await limited.add('b', 300);
      await expect(drained(limited)).resolves.toBe(1000);
      await expect(limited.idsNow()).resolves.toEqual([]);
    });

    it('ends the jobs of a key that a worker frees between two steps', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.add('a', 3);
      const [running] = await limited.claimUpTo(2);
      const edits = Object.create(limited.store.edits) as typeof limited.store.edits;
      let steps = 0;
      edits.drain = async (fn, step) => {
        if (step.limited && step.queue === 'normal' && (steps += 1) === 2 && running)
          await limited.settle(success(running));
        return limited.store.edits.drain(fn, step);
      };
      await expect(drain(edits, limited.fn, { states: ['waiting'] })).resolves.toBe(2);
    });

    it('ends a job that becomes due after the lists were looked at', async () => {
      const limited = await functions.open({ concurrency: 1 });
      await limited.addOne('a');
      const [running] = await limited.claimUpTo(2);
      const later = await limited.addOne('a', { queue: 'scheduled', delay: HOUR_MS });
      const edits = Object.create(limited.store.edits) as typeof limited.store.edits;
      edits.drain = async (fn, step) => {
        if (step.limited && step.queue === 'scheduled')
          await limited.store.edits.update(fn, later, { place: { queue: 'normal' } });
        return limited.store.edits.drain(fn, step);
      };
      await expect(drain(edits, limited.fn, {})).resolves.toBe(1);
      await expect(codeOf(limited, later.id)).resolves.toBe('JOB_DRAINED');
      if (running) await limited.settle(success(running));
    });

    it('tells jobs that wait for their time from those that wait for their next attempt', async () => {
      const limited = await functions.open({ concurrency: 2 });
      const failing = await limited.addOne('a');
      await limited.settle(retry(await limited.claimOne(), HOUR_MS));
      const later = await limited.addOne('a', { queue: 'scheduled', delay: HOUR_MS });
      await expect(drained(limited, 'scheduled')).resolves.toBe(1);
      await expect(codeOf(limited, later.id)).resolves.toBe('JOB_DRAINED');
      await expect(drained(limited, 'retrying')).resolves.toBe(1);
      await expect(codeOf(limited, failing.id)).resolves.toBe('JOB_DRAINED');
    });

    it('lets a strict key go whose holder waited for its next attempt', async () => {
      const limited = await functions.open({ order: 'strict' });
      await limited.addOne('a');
      await limited.settle(retry(await limited.claimOne(), HOUR_MS));
      const next = await limited.addOne('a');
      await expect(drained(limited, 'retrying')).resolves.toBe(1);
      await expect(limited.idsNow()).resolves.toEqual([next.id]);
    });
  });
}
