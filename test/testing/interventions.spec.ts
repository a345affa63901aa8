import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { catchError, throwError, type Observable } from 'rxjs';
import { UnrecoverableError, Worker, defineJob, type RunningJob } from 'nestjs-gearmonkey';
import { JobTestTimeoutError, JobTestingError } from 'nestjs-gearmonkey/testing';
import { gate } from '../support/gate.js';
import { SERVERS, useTesting } from './use-testing.js';

const mail = defineJob<{ to: string }, string>('mail', { retry: { attempts: 3, delay: '1m', jitter: 0 } });
const slow = defineJob<{ to: string }, string>('slow');

class Rename implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rename = (error: Error) => throwError(() => new Error(`seen: ${error.message}`));
    return next.handle().pipe(catchError(rename));
  }
}

let reasons: string[] = [];
let end = gate();

@Injectable()
class Handlers {
  @Worker(mail)
  @UseInterceptors(Rename)
  mail({ to }: { to: string }) {
    return `to ${to}`;
  }

  @Worker(slow)
  async slow({ to }: { to: string }, { signal }: RunningJob) {
    signal.addEventListener('abort', () => reasons.push((signal.reason as Error).name));
    if (to === 'waits') await end.passed;
    // Whatever was asked for as it began has happened by then.
    await new Promise((resolve) => setImmediate(resolve));
    return signal.aborted ? 'late' : 'done';
  }
}

describe.each(SERVERS)('A test with jobs in %s', (server) => {
  const testing = useTesting(server);
  const start = async () => {
    reasons = [];
    end = gate();
    return testing.jobs({ providers: [Handlers] });
  };

  describe('until', () => {
    it('finds what has happened, and what will', async () => {
      const jobs = await start();
      const { test } = jobs;
      const coming = test.until(mail, { input: { to: 'ada' } }, 'done');
      const begun = test.until('mail', {}, 'started');
      await jobs.run(mail, { to: 'bob' });
      await jobs.run(mail, { to: 'ada' });
      await expect(test.until(mail, { input: { to: 'ada' } }, 'enqueued')).resolves.toMatchObject({
        state: 'waiting',
      });
      await test.drain();
      await expect(coming).resolves.toMatchObject({ id: '2', state: 'succeeded', output: 'to ada' });
      await expect(begun).resolves.toMatchObject({ id: '1' });
      await expect(test.until(mail, { id: '1' }, 'done')).resolves.toMatchObject({ output: 'to bob' });
    });

    it('knows of retries and failures that are over', async () => {
      const jobs = await start();
      jobs.test.failNext(mail, new Error('no'), 1);
      await jobs.run(mail, { to: 'ada' });
      await jobs.test.advance('1h');
      await expect(jobs.test.until(mail, {}, 'retried')).resolves.toMatchObject({
        state: 'succeeded',
        attempts: 2,
      });
      const cancelled = await jobs.run(mail, { to: 'eve' });
      await cancelled.cancel();
      await cancelled.cancel();
      await expect(jobs.test.until(mail, { id: '2' }, 'failed')).resolves.toMatchObject({
        error: { code: 'JOB_CANCELLED' },
      });
    });

    it('says how far the jobs are for which it waited too long', async () => {
      const jobs = await start();
      const failed = (input: object) => jobs.test.until(mail, { input }, 'done', { timeout: 20 });
      await expect(failed({})).rejects.toThrow(
        'No job of "mail" was done within 20 ms: No job of "mail" was enqueued with { input: {} }. Nothing was enqueued at all.',
      );
      await jobs.run(mail, { to: 'ada' });
      await expect(failed({ to: 'ada' })).rejects.toThrow(
        'was done within 20 ms: mail 1 is enqueued. In manual mode',
      );
      await expect(failed({ to: 'bob' })).rejects.toThrow(JobTestTimeoutError);
      await expect(failed({ to: 'bob' })).rejects.toThrow("input.to is 'ada' instead of 'bob'");
      await expect(jobs.test.until(mail, {}, 'gone' as never)).rejects.toThrow('Expected `step`');
    });

    it('ends with the app', async () => {
      const module = await testing.start({ providers: [Handlers] });
      const waiting = testing.jobsOf('default').until(mail, {}, 'done');
      waiting.catch(() => undefined);
      await module.close();
      await expect(waiting).rejects.toThrow('The app was closed before a job was done.');
    });
  });

  describe('failNext', () => {
    it('has the next runs fail, inside interceptors and filters, as if the handler had thrown it', async () => {
      const jobs = await start();
      jobs.test.failNext(mail, new Error('no network'), 2);
      const job = await jobs.run(mail, { to: 'ada' });
      await expect(jobs.test.drain({ scheduled: true })).resolves.toEqual({ done: 1, failed: 0, retried: 2 });
      await expect(job.get()).resolves.toMatchObject({
        attempts: 3,
        errors: [{ message: 'seen: no network' }, { message: 'seen: no network' }],
      });
      jobs.test.failNext('slow', new UnrecoverableError('never'));
      await expect(jobs.test.perform(slow, { to: '' })).resolves.toMatchObject({
        error: { code: 'UNRECOVERABLE' },
      });
      await expect(jobs.test.perform(slow, { to: '' })).resolves.toMatchObject({ output: 'done' });
      expect(() => jobs.test.failNext(mail, new Error(), 0)).toThrow('Expected `times`');
    });
  });

  describe('loseLease', () => {
    it('gives a job back beside others that wait for their time, or were given back', async () => {
      const jobs = await start();
      await jobs.run(slow, { to: '' }, { delay: '1h' });
      const [one, other] = await jobs.runMany(slow, [{ to: 'waits' }, { to: 'waits' }]);
      const drained = jobs.test.drain();
      for (const job of [one, other]) {
        await jobs.test.until(slow, { id: job?.id }, 'started');
        await jobs.test.loseLease(job?.id ?? '');
      }
      end.open();
      await expect(drained).resolves.toEqual({ done: 2, failed: 0, retried: 0 });
    });

    it('takes a running job from its handler and gives it to another', async () => {
      const jobs = await start();
      const job = await jobs.run(slow, { to: 'waits' });
      const drained = jobs.test.drain();
      await jobs.test.until(slow, {}, 'started');
      await jobs.test.loseLease(job);
      end.open();
      await expect(drained).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
      await expect(job.get()).resolves.toMatchObject({ state: 'succeeded', output: 'done', attempts: 2 });
      expect(reasons).toEqual(['LeaseLostError']);
    });

    it('does so in the next run of one that waits, and fails one that has lost it too often', async () => {
      const jobs = await start();
      const job = await jobs.run(slow, { to: '' });
      await jobs.test.loseLease('1');
      await expect(jobs.test.drain()).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
      await expect(job.get()).resolves.toMatchObject({ attempts: 2, output: 'done' });

      const stalls = await jobs.run(slow, { to: 'waits' });
      const drained = jobs.test.drain();
      for (let round = 1; round <= 4; round++) {
        await jobs.test.until(slow, { id: stalls.id }, 'started');
        while ((await stalls.get()).attempts < round) await new Promise((resolve) => setImmediate(resolve));
        await jobs.test.loseLease(stalls.id);
      }
      await expect(drained).resolves.toEqual({ done: 0, failed: 1, retried: 0 });
      await expect(stalls.get()).resolves.toMatchObject({ error: { code: 'JOB_STALLED' } });
      await expect(jobs.test.until(slow, { id: '2' }, 'failed')).resolves.toMatchObject({ state: 'failed' });
    });

    it('asks which job is meant where several have an id, or none', async () => {
      const jobs = await start();
      await expect(jobs.test.loseLease('1')).rejects.toThrow('Which job is "1"? This test has none.');
      await jobs.run(slow, { to: '' });
      await jobs.run(mail, { to: '' });
      const asked = jobs.test.cancelDuring('1');
      await expect(asked).rejects.toThrow(JobTestingError);
      await expect(asked).rejects.toThrow('"slow" and "mail" have one each');
      await jobs.test.cancelDuring({ fn: 'slow', id: '1' });
    });
  });

  it('a cancel with `running: false` leaves a job alone that runs', async () => {
    const jobs = await start();
    const running = await jobs.run(slow, { to: 'waits' });
    const drained = jobs.test.drain();
    await jobs.test.until(slow, { id: running.id }, 'started');
    await expect(running.cancel({ running: false })).resolves.toBe(false);
    end.open();
    await expect(drained).resolves.toMatchObject({ done: 1 });
    await expect(running.get()).resolves.toMatchObject({ state: 'succeeded' });
  });

  describe('cancelDuring', () => {
    it('cancels a job in the middle of its run', async () => {
      const jobs = await start();
      const job = await jobs.run(slow, { to: '' });
      await jobs.test.cancelDuring(job);
      await expect(jobs.test.drain()).resolves.toEqual({ done: 0, failed: 1, retried: 0 });
      await expect(job.get()).resolves.toMatchObject({ error: { code: 'JOB_CANCELLED' } });
      expect(reasons).toEqual(['JobCancelledError']);

      const running = await jobs.run(slow, { to: 'waits' });
      const drained = jobs.test.drain();
      await jobs.test.until(slow, { id: '2' }, 'started');
      await jobs.test.cancelDuring(running.id);
      await expect(drained).resolves.toMatchObject({ failed: 1 });
      end.open();
      expect(reasons).toEqual(['JobCancelledError', 'JobCancelledError']);
    });
  });
});
