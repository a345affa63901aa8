import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { CancelOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { JobCancelledError } from '../../lib/job/abort-errors.js';
import { JobNotFoundError } from '../../lib/job/errors.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { claimInOrder, claimOne, inputOf, retry, success } from './claiming.js';
import type { ClientRig } from './rig.js';

/** The part of the client's contract that is about ending jobs. */
export function cancelContract(rigOf: () => ClientRig, clientOf: () => GearMonkeyClient): void {
  describe('cancel', () => {
    const CANCELLED = { status: 'error', output: 'cancelled', code: 'JOB_CANCELLED' };
    const cancelled = async (fn: string, id: string) => {
      await expect(clientOf().get(fn, id)).resolves.toMatchObject({
        state: 'cancelled',
        error: { name: 'JobCancelledError', code: 'JOB_CANCELLED', message: 'cancelled' },
        times: { finished: expect.any(Date) },
      });
      await expect(rigOf().stored(fn, id)).resolves.toEqual(CANCELLED);
    };
    /** Nothing of the function is left to claim but this. */
    const nextIs = async (fn: string, input: string) => {
      const source = rigOf().source();
      await rigOf().submit(fn, input);
      await expect(claimInOrder(source, fn, 1)).resolves.toEqual([input]);
      await source.close();
    };

    it('of a missing job rejects and writes nothing', async () => {
      const fn = rigOf().fn();
      await expect(clientOf().cancel(fn, 7)).rejects.toThrow(JobNotFoundError);
      await expect(clientOf().get(fn, 7)).resolves.toBeNull();
    });

    it.each(['high', 'normal', 'low'] as const)(
      'ends only the one job that waits in %s',
      async (priority) => {
        const fn = rigOf().fn();
        const [first, second] = await clientOf().runMany(fn, ['a', 'b'], { priority });
        await expect(first?.cancel()).resolves.toBe(true);
        await cancelled(fn, '1');
        await expect(second?.get()).resolves.toMatchObject({ state: 'waiting' });
        const source = rigOf().source();
        await expect(claimOne(source, fn).then(inputOf)).resolves.toBe('"b"');
        await source.close();
        await nextIs(fn, 'c');
      },
    );

    it('ends a scheduled job', async () => {
      const fn = rigOf().fn();
      const job = await clientOf().run(fn, 'x', { delay: 200 });
      await expect(job.cancel()).resolves.toBe(true);
      await cancelled(fn, job.id);
      await nextIs(fn, 'next');
    });

    it('ends a job that waits for its next attempt, and keeps its earlier errors', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await clientOf().run(fn, 'x');
      await source.settle([retry(await claimOne(source, fn), 50)]);
      await expect(job.cancel()).resolves.toBe(true);
      await cancelled(fn, job.id);
      await expect(job.get()).resolves.toMatchObject({ errors: [{ attempt: 1, message: 'not yet' }] });
      await nextIs(fn, 'next');
      await source.close();
    });

    it('ends a job that was released', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await clientOf().run(fn, 'x');
      await source.settle([{ claim: await claimOne(source, fn), status: 'released' }]);
      await expect(job.cancel()).resolves.toBe(true);
      await cancelled(fn, job.id);
      await nextIs(fn, 'next');
      await source.close();
    });

    it("aborts a running job's signal; its result is refused and its slot is free", async () => {
      const fn = rigOf().fn();
      const [running, end] = [gate<RunningJob>(), gate()];
      const reason = gate<unknown>();
      await runWorker(rigOf().source(), fn, async (input, job) => {
        if (input !== 'long') return input;
        job.signal.addEventListener('abort', () => reason.open(job.signal.reason));
        running.open(job);
        await end.passed;
        return 'too late';
      });
      const job = await clientOf().run(fn, 'long');
      const runs = await running.passed;
      await expect(job.cancel()).resolves.toBe(true);
      await expect(reason.passed).resolves.toBeInstanceOf(JobCancelledError);
      await expect(clientOf().call(fn, 'short', { timeout: '10s' })).resolves.toBe('short');
      await expect(runs.update(1, 2)).rejects.toThrow(JobCancelledError);
      end.open();
      await expect(clientOf().call(fn, 'after', { timeout: '10s' })).resolves.toBe('after');
      await cancelled(fn, job.id);
    });

    it('with `running: false` is false for a job that runs, which goes on, and ends one that waits', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const [runs, waits] = await clientOf().runMany(fn, ['a', 'b']);
      const claim = await claimOne(source, fn);
      await expect(clientOf().cancel(fn, runs!.id, { running: false })).resolves.toBe(false);
      await expect(runs?.cancel({ running: false })).resolves.toBe(false);
      await expect(waits?.cancel({ running: false })).resolves.toBe(true);
      await expect(source.settle([success(claim)])).resolves.toEqual([]);
      await expect(runs?.get()).resolves.toMatchObject({ state: 'succeeded' });
      await cancelled(fn, waits!.id);
      await source.close();
    });

    it.each([
      [{ running: 'no' }, 'INVALID_OPTION'],
      [{ runing: false }, 'CONFIGURATION'],
    ])('refuses the options %j before anything is written', async (options, code) => {
      const fn = rigOf().fn();
      const job = await clientOf().run(fn, 'x');
      await expect(clientOf().cancel(fn, job.id, options as CancelOptions)).rejects.toMatchObject({ code });
      await expect(job.get()).resolves.toMatchObject({ state: 'waiting' });
    });

    it('refuses the result of a worker that missed the message', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await clientOf().run(fn, 'x');
      const claim = await claimOne(source, fn);
      await job.cancel();
      await expect(source.settle([success(claim)])).resolves.toEqual([claim]);
      await expect(source.renew([claim])).resolves.toEqual([claim]);
      await expect(source.settle([retry(claim, 1)])).resolves.toEqual([claim]);
      await cancelled(fn, job.id);
      await nextIs(fn, 'next');
      await source.close();
    });

    it('reaches observers and waiting callers', async () => {
      const fn = rigOf().fn();
      const job = await clientOf().run(fn, 'x');
      const waiting = rigOf().client().result(fn, job.id, { timeout: '10s' });
      const refused = expect(waiting).rejects.toMatchObject({
        code: 'JOB_FAILED',
        error: { code: 'JOB_CANCELLED', message: 'cancelled' },
      });
      const watching = lastValueFrom(rigOf().client().watch(fn, job.id).pipe(toArray()));
      await clientOf().cancel(fn, Number(job.id));
      await refused;
      expect((await watching).at(-1)).toMatchObject({ state: 'cancelled', error: { code: 'JOB_CANCELLED' } });
    });

    it('returns false for a job that had finished, and changes nothing', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, (input) => {
        if (input === 'bad') throw new Error('no');
        return input;
      });
      const [good, bad] = await Promise.all([
        clientOf().run(fn, 'good', { blocking: true }),
        clientOf().run(fn, 'bad', { blocking: true }),
      ]);
      await expect(good.cancel()).resolves.toBe(false);
      await expect(bad.cancel()).resolves.toBe(false);
      await expect(good.get()).resolves.toMatchObject({ state: 'succeeded', output: 'good' });
      await expect(bad.get()).resolves.toMatchObject({ state: 'failed', error: { message: 'no' } });
    });

    it('returns true for a job that was cancelled at any earlier moment', async () => {
      const fn = rigOf().fn();
      const job = await clientOf().run(fn, 'x');
      await expect(Promise.all([job.cancel(), job.cancel()])).resolves.toEqual([true, true]);
      await expect(job.cancel()).resolves.toBe(true);
      await cancelled(fn, job.id);
    });
  });
}
