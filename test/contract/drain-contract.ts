import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { DrainJobsOptions, WaitingState } from '../../lib/gearmonkey/features/edits/drain.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { claimInOrder, claimOne, claimUpTo, released, retry, snoozed, success } from './claiming.js';
import type { ClientRig } from './rig.js';

const DRAINED = {
  state: 'cancelled',
  error: { name: 'JobDrainedError', code: 'JOB_DRAINED', message: 'drained' },
  times: { finished: expect.any(Date) },
};

/** The part of the client's contract that is about removing jobs that wait. */
export function drainContract(rigOf: () => ClientRig): void {
  describe('drain', () => {
    const expectOnly = async (fn: string, inputs: string[]) => {
      await rigOf().submit(fn, '"end"', { queue: 'low' });
      const source = rigOf().source();
      await expect(claimInOrder(source, fn, inputs.length + 1)).resolves.toEqual([...inputs, '"end"']);
      await source.close();
    };

    /** A function with a job in each state. */
    async function oneOfEach() {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const source = rigOf().source();
      await client.runMany(fn, ['running', 'retried', 'snoozed', 'released']);
      const running = await claimOne(source, fn);
      const failed = await claimOne(source, fn);
      const postponed = await claimOne(source, fn);
      const unused = await claimOne(source, fn);
      await source.settle([retry(failed, 0), snoozed(postponed, 0), released(unused)]);
      for (const priority of ['high', 'normal', 'low'] as const) await client.run(fn, priority, { priority });
      await client.run(fn, 'scheduled', { scheduled: new Date(1000) });
      const states = async () => {
        const jobs = await Promise.all(Array.from({ length: 8 }, (_, index) => client.get(fn, index + 1)));
        return jobs.filter((job) => job?.error?.code === 'JOB_DRAINED').map((job) => job?.input);
      };
      return { fn, client, source, running, states };
    }

    it.each<[WaitingState[] | undefined, string[]]>([
      [['waiting'], ['released', 'high', 'normal', 'low']],
      [['scheduled'], ['scheduled']],
      [['retrying'], ['retried', 'snoozed']],
      [
        ['scheduled', 'retrying'],
        ['retried', 'snoozed', 'scheduled'],
      ],
      [undefined, ['retried', 'snoozed', 'released', 'high', 'normal', 'low', 'scheduled']],
    ])('removes jobs with the states %j, and says how many', async (states, expected) => {
      const { fn, client, source, running, states: drainedInputs } = await oneOfEach();
      const options = states ? { states } : {};
      await expect(client.drain(fn, options)).resolves.toBe(expected.length);
      await expect(drainedInputs()).resolves.toEqual(expected);
      await expect(client.drain(fn, options)).resolves.toBe(0);
      await expect(source.settle([success(running, '"out"')])).resolves.toEqual([]);
      await expect(client.get(fn, running.id)).resolves.toMatchObject({ state: 'succeeded', output: 'out' });
      const left = 7 - expected.length;
      await claimInOrder(source, fn, left);
      await expectOnly(fn, []);
      await source.close();
    });

    it('ends them as errors, for callers and observers, too', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 'x', { delay: '1d' });
      const rejected = expect(job.result({ timeout: '20s' })).rejects.toMatchObject({
        code: 'JOB_FAILED',
        error: { code: 'JOB_DRAINED', message: 'drained' },
      });
      const last = lastValueFrom(client.watch(fn, job.id));
      await expect(rigOf().client().drain(fn)).resolves.toBe(1);
      await rejected;
      await expect(last).resolves.toMatchObject(DRAINED);
      await expect(job.get()).resolves.toMatchObject({ ...DRAINED, input: 'x', attempts: 0 });
      await expect(job.cancel()).resolves.toBe(false);
      await expect(rigOf().stored(fn, job.id)).resolves.toEqual({
        status: 'error',
        output: 'drained',
        code: 'JOB_DRAINED',
      });
    });

    it('of no jobs removes none', async () => {
      await expect(rigOf().client().drain(rigOf().fn())).resolves.toBe(0);
    });

    it('removes more jobs than one step takes, from lists and by time', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const inputs = Array.from({ length: 1100 }, (_, i) => i);
      await client.runMany(fn, inputs);
      await client.runMany(fn, inputs, { delay: '1d' });
      await expect(client.drain(fn)).resolves.toBe(2200);
      await expectOnly(fn, []);
    });

    it('comes to an end while jobs are added, and leaves those', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.runMany(fn, Array.from({ length: 1500 }));
      let draining = true;
      const added: string[] = [];
      const adding = (async () => {
        while (draining) {
          const jobs = await client.runMany(fn, Array.from({ length: 300 }));
          jobs.push(...(await client.runMany(fn, Array.from({ length: 10 }), { delay: 1 })));
          added.push(...jobs.map(({ id }) => id));
          // In memory, nothing else would run.
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      const drained = await client.drain(fn);
      draining = false;
      await adding;
      expect(drained).toBeGreaterThanOrEqual(1500);
      const source = rigOf().source();
      let left = 0;
      while (left + drained < 1500 + added.length) {
        const claims = await claimUpTo(source, fn, 500);
        left += claims.length;
        await source.settle(claims.map((claim) => success(claim)));
      }
      expect(left + drained).toBe(1500 + added.length);
      await source.close();
    });

    it('stops when its signal aborts', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.runMany(fn, Array.from({ length: 2000 }));
      const reason = new Error('enough');
      await expect(client.drain(fn, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      await expect(client.get(fn, 1)).resolves.toMatchObject({ state: 'waiting' });
      // It is asked at the beginning and before each step: of the empty queue `high`, and then of this one.
      let asked = 0;
      const throwIfAborted = () => {
        if (++asked === 4) throw reason;
      };
      const signal = { throwIfAborted } as AbortSignal;
      await expect(client.drain(fn, { signal })).rejects.toBe(reason);
      await expect(client.get(fn, 1)).resolves.toMatchObject(DRAINED);
      await expect(client.get(fn, 2000)).resolves.toMatchObject({ state: 'waiting' });
    });

    it('loses no job to workers that claim meanwhile: each runs or is removed', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const ran: unknown[] = [];
      const jobs = await client.runMany(
        fn,
        Array.from({ length: 2000 }, (_, i) => i),
      );
      await runWorker(rigOf().source(), fn, (input) => void ran.push(input), { concurrency: 5 });
      const drained = await client.drain(fn);
      await eventually(async () => expect(ran.length + drained).toBe(jobs.length));
      expect(new Set(ran).size).toBe(ran.length);
    });

    it('removes the jobs of a paused function', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const end = gate();
      await runWorker(rigOf().source(), fn, () => end.passed);
      await client.pause(fn);
      await client.runMany(fn, [1, 2]);
      await expect(client.drain(fn)).resolves.toBe(2);
      await client.resume(fn);
      end.open();
    });

    it.each([
      [{ states: [] }, 'INVALID_OPTION'],
      [{ states: 'waiting' }, 'INVALID_OPTION'],
      [{ states: ['waiting', 'running'] }, 'INVALID_OPTION'],
      [{ states: null }, 'INVALID_OPTION'],
      [{ signal: 'stop' }, 'INVALID_OPTION'],
      [{ signal: null }, 'INVALID_OPTION'],
      [{ state: ['waiting'] }, 'CONFIGURATION'],
      [['waiting'], 'CONFIGURATION'],
    ])('refuses %j, and removes nothing', async (options, code) => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.run(fn, 'x');
      await expect(client.drain(fn, options as DrainJobsOptions)).rejects.toMatchObject({ code });
      await expect(client.drain('a b')).rejects.toMatchObject({ code: 'INVALID_FUNCTION_NAME' });
      await expectOnly(fn, ['"x"']);
    });
  });
}
