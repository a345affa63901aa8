import { describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { SnoozeError } from '../../lib/job/retry.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { claimOne, failure, released, retry, success } from './claiming.js';
import { pass, spanOf, subscribed, type ClientRig } from './rig.js';

/** The part of the client's contract that is about jobs that are tried again. */
export function retryContract(rigOf: () => ClientRig, clientOf: () => GearMonkeyClient): void {
  describe('a job that is retried', () => {
    const failing = (_: unknown, { attempts }: RunningJob) => {
      throw new RangeError(`attempt ${attempts}`);
    };

    it.each([
      ['retry.attempts', { retry: { attempts: 0 } }],
      ['retry.attempts', { retry: { attempts: 1.5 } }],
      ['retry.attempts', { retry: { attempts: Number.NaN } }],
      ['retry.delay', { retry: { attempts: 2, delay: -1 } }],
      ['retry.max', { retry: { attempts: 2, max: 'soon' } }],
      ['retry.backoff', { retry: { attempts: 2, backoff: 'x' as 'fixed' } }],
      ['retry.backoff', { retry: { attempts: 2, backoff: (() => 1) as unknown as 'fixed' } }],
      ['retry.jitter', { retry: { attempts: 2, jitter: 2 } }],
      ['jobTimeout', { jobTimeout: 0 }],
      ['jobTimeout', { jobTimeout: 'never' }],
    ] as [string, RunOptions][])('is not enqueued with an invalid `%s`: %j', async (option, options) => {
      const fn = rigOf().fn();
      const running = clientOf().run(fn, 'x', options);
      await expect(running).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
      await expect(clientOf().runMany(fn, ['x'], options)).rejects.toMatchObject({ option });
      await expect(clientOf().get(fn, 1)).resolves.toBeNull();
    });

    it('keeps the error of every attempt, and the last as its own', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, failing);
      const retrying = { attempts: 3, delay: 10, jitter: 0 };
      const job = await clientOf().run(fn, 'x', { retry: retrying, blocking: true, timeout: '10s' });
      const { state, attempts, error, errors } = await job.get();
      expect([state, attempts, error?.message]).toEqual(['failed', 3, 'attempt 3']);
      expect(errors.map(({ attempt, name, message }) => [attempt, name, message])).toEqual([
        [1, 'RangeError', 'attempt 1'],
        [2, 'RangeError', 'attempt 2'],
        [3, 'RangeError', 'attempt 3'],
      ]);
    });

    it('is shown as such with its errors, and may succeed', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await clientOf().run(fn, 'x');
      await source.settle([retry(await claimOne(source, fn), spanOf(rigOf()), 'disk full')]);
      const waiting = await job.get();
      expect(waiting).toMatchObject({
        state: 'retrying',
        attempts: 1,
        errors: [{ attempt: 1, message: 'disk full' }],
      });
      expect(waiting.error).toBeUndefined();
      await pass(rigOf(), spanOf(rigOf()));
      expect((await job.get()).state).toBe('waiting');
      await source.settle([success(await claimOne(source, fn), '"out"')]);
      await expect(job.get()).resolves.toMatchObject({ state: 'succeeded', output: 'out', attempts: 2 });
      await source.close();
    });

    it('is snoozed without an attempt or an error, any number of times', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, (_, { attempts, snoozes }) => {
        if (snoozes < 3) throw new SnoozeError(1);
        if (attempts < 2) throw new Error('the first attempt');
        return { attempts, snoozes };
      });
      const retrying = { retry: { attempts: 2, delay: 1 }, timeout: '10s', blocking: true } as const;
      const job = await clientOf().run(fn, 'x', retrying);
      const { output, attempts, snoozes, errors } = await job.get();
      expect(output).toEqual({ attempts: 2, snoozes: 3 });
      expect([attempts, snoozes, errors.map(({ message }) => message)]).toEqual([
        2,
        3,
        ['the first attempt'],
      ]);
    });

    it('is scheduled while it is snoozed, and can be cancelled', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, () => {
        throw new SnoozeError('1h');
      });
      const job = await clientOf().run(fn, 'x');
      await eventually(async () => expect(await job.get()).toMatchObject({ state: 'scheduled', snoozes: 1 }));
      await expect(job.cancel()).resolves.toBe(true);
      await expect(job.get()).resolves.toMatchObject({ attempts: 0, error: { code: 'JOB_CANCELLED' } });
    });

    it('has no error for an attempt that was released', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await clientOf().run(fn, 'x');
      await source.settle([released(await claimOne(source, fn))]);
      await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0, errors: [] });
      await source.settle([failure(await claimOne(source, fn), 'no')]);
      await expect(job.get()).resolves.toMatchObject({
        attempts: 1,
        errors: [{ attempt: 1, message: 'no' }],
      });
      await source.close();
    });

    it('is shown as started again to observers', async () => {
      const fn = rigOf().fn();
      const seen: string[] = [];
      const events = clientOf()
        .events(fn)
        .subscribe(({ type }) => seen.push(type));
      await subscribed(rigOf(), fn);
      await runWorker(rigOf().source(), fn, failing);
      const job = await clientOf().run(fn, 'x', { retry: { attempts: 2, delay: 10 }, blocking: true });
      await expect(job.get()).resolves.toMatchObject({ attempts: 2 });
      await eventually(() => expect(seen).toContain('finish'));
      events.unsubscribe();
      expect(seen).toEqual(['create', 'start', 'start', 'finish']);
    });

    it('ends at its own timeout, with any timeout of the handler', async () => {
      const fn = rigOf().fn();
      await runWorker(rigOf().source(), fn, () => new Promise(() => undefined), { timeout: '1 minute' });
      await expect(clientOf().call(fn, 'x', { jobTimeout: 40, timeout: '10s' })).rejects.toMatchObject({
        error: { code: 'JOB_TIMEOUT', message: expect.stringContaining('40 ms') },
      });
    });
  });
}
