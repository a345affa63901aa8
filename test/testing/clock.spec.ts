/** @isolated All timers are fake, also those of the process. */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Worker, defineJob, type RunningJob } from 'nestjs-gearmonkey';
import { MEMORY_AND_REDIS, useTesting } from './use-testing.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const flaky = defineJob<string>('flaky', { retry: { attempts: 4, delay: '1m', jitter: 0 } });
const hangs = defineJob<string>('hangs', {
  timeout: '30s',
  retry: { attempts: 2, delay: '1m', jitter: 0 },
});
const late: string[] = [];

@Injectable()
class Handlers {
  @Worker('note', { concurrency: 5 })
  note(text: string) {
    late.push(text);
  }

  @Worker(flaky, { concurrency: 5 })
  flaky(text: string, { attempts }: RunningJob) {
    late.push(`${text} ${attempts}`);
    throw new Error('no');
  }

  @Worker(hangs, { concurrency: 5 })
  hangs(text: string, { signal, attempts }: RunningJob) {
    signal.addEventListener('abort', () => late.push(`${text} ${attempts} ${(signal.reason as Error).name}`));
    return new Promise(() => undefined);
  }

  @Worker('other', { instance: 'other' })
  other(text: string) {
    late.push(text);
  }

  @Worker('sleeps')
  async sleeps(text: string) {
    await new Promise((resolve) => setTimeout(resolve, 10 * MINUTE_MS));
    late.push(`${text} ${new Date().toISOString()}`);
  }
}

@Injectable()
class OneInstance {
  @Worker('note')
  note(text: string) {
    late.push(text);
  }

  @Worker('sleeps')
  sleeps(text: string) {
    return new Handlers().sleeps(text);
  }
}

describe.each(MEMORY_AND_REDIS)('The clock of a test, in %s', (server) => {
  const testing = useTesting(server);
  /** A connection needs these. */
  const fake =
    server === 'memory' ? {} : { doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] as const };
  afterEach(() => {
    late.length = 0;
    jest.useRealTimers();
  });

  const start = (now?: Date) =>
    testing.jobs(
      { providers: [Handlers] },
      { instances: ['default', 'other'], patience: 20, ...(now ? { now } : {}) },
    );

  it('stands still, and says what time jobs are of', async () => {
    const jobs = await start(new Date('2027-01-01'));
    const job = await jobs.run('note', 'a');
    await jobs.test.drain();
    expect(jobs.test.now).toEqual(new Date('2027-01-01'));
    const { times } = await job.get();
    expect([times.created, times.started, times.finished]).toEqual(Array(3).fill(jobs.test.now));
  });

  it('runs retries, scheduled jobs and timeouts in their order as it advances, and nothing that is due later', async () => {
    const jobs = await start();
    const begin = jobs.test.now.getTime();
    await jobs.run(flaky, 'flaky');
    await jobs.run(hangs, 'hangs');
    await jobs.run('note', 'at 50 s', { delay: '50s' });
    await jobs.run('note', 'at 10 s', { scheduled: new Date(begin + 10_000) });
    await jobs.run('note', 'at 2 h', { delay: '2h' });
    await expect(jobs.test.advance('29s')).resolves.toEqual({ done: 1, failed: 0, retried: 1 });
    expect(late).toEqual(['flaky 1', 'at 10 s']);
    await expect(jobs.test.advance('1h')).resolves.toEqual({ done: 1, failed: 2, retried: 3 });
    expect(late.slice(2)).toEqual([
      'hangs 1 JobTimeoutError', // at 30 s
      'at 50 s',
      'flaky 2', // at 1 min
      'hangs 2 JobTimeoutError', // at 2 min: a minute after its first end, for 30 s
      'flaky 3', // at 3 min
      'flaky 4', // at 7 min
    ]);
    expect(jobs.test.now.getTime() - begin).toBe(HOUR_MS + 29_000);
    await jobs.test.setTime(new Date(begin + 2 * HOUR_MS));
    expect(late.at(-1)).toBe('at 2 h');
    await jobs.test.advance('1 year');
    await expect(jobs.get('note', '1')).resolves.toMatchObject({ state: 'succeeded' });
  });

  it('is one for all instances', async () => {
    const jobs = await start();
    const other = testing.jobsOf('other');
    await testing.clientOf('other').run('other', 'second', { delay: '2m' });
    await jobs.run('note', 'first', { delay: '1m' });
    await jobs.run('note', 'third', { delay: '3m' });
    await other.advance('1h');
    expect(late).toEqual(['first', 'second', 'third']);
    expect(other.now).toEqual(jobs.test.now);
  });

  it('ends waits for a job', async () => {
    const jobs = await start();
    const called = jobs.call('nobody', 1, { timeout: '30s' });
    called.catch(() => undefined);
    await jobs.test.advance('29s');
    await expect(Promise.race([called, Promise.resolve('waits')])).resolves.toBe('waits');
    await jobs.test.advance('1s');
    await expect(called).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' });
  });

  it('ends jobs that expire before a handler begins them', async () => {
    const jobs = await start();
    const called = jobs.call('unheard', 1, { expires: '30s' });
    called.catch(() => undefined);
    const late = await jobs.run('note', 'late', { delay: '1m', expires: '1s' });
    await jobs.test.advance('31s');
    await expect(called).rejects.toMatchObject({ cause: { code: 'JOB_EXPIRED' } });
    await jobs.test.until('unheard', {}, 'failed');
    await jobs.test.advance('2m');
    await expect(late.get()).resolves.toMatchObject({ state: 'succeeded' });
    const missed = await jobs.run('note', 'missed', { expires: new Date(jobs.test.now) });
    await expect(jobs.test.drain()).resolves.toEqual({ done: 0, failed: 1, retried: 0 });
    await expect(missed.get()).resolves.toMatchObject({ error: { code: 'JOB_EXPIRED' }, attempts: 0 });
  });

  it('may be set to a time before, at which nothing happens', async () => {
    const jobs = await start();
    await jobs.run('note', 'a', { scheduled: new Date('2031-01-01') });
    await expect(jobs.test.setTime(new Date('2020-02-29'))).resolves.toEqual({
      done: 0,
      failed: 0,
      retried: 0,
    });
    const job = await jobs.run('note', 'b');
    await jobs.test.drain();
    expect((await job.get()).times.created).toEqual(new Date('2020-02-29'));
    await expect(jobs.test.setTime(new Date('2031-01-01'))).resolves.toMatchObject({ done: 1 });
  });

  it('gives a handler real time to end before it moves on, a while for each that does', async () => {
    const jobs = await testing.jobs({ providers: [Handlers] }, { instances: ['default', 'other'] });
    jobs.test.failNext('note', undefined as never); // a thrown undefined is an error, too
    for (let index = 0; index < 3; index++) await jobs.run('note', `${index}`);
    await expect(jobs.test.advance(0)).resolves.toEqual({ done: 2, failed: 1, retried: 0 });
  });

  it('refuses what is no span and no date', async () => {
    const jobs = await start();
    await expect(jobs.test.advance(-1)).rejects.toThrow('Expected `span`');
    await expect(jobs.test.advance('soon')).rejects.toThrow('Expected `span`');
    await expect(jobs.test.setTime(new Date('x'))).rejects.toThrow('Expected `date`');
    await expect(testing.jobs({}, { now: 'now' as never })).rejects.toThrow('Expected `now`');
    await expect(testing.jobs({}, { mode: 'fake' as never })).rejects.toThrow('Expected `mode`');
    await expect(testing.jobs({}, { timers: {} as never })).rejects.toThrow('Expected `timers`');
    await expect(testing.jobs({}, { clock: 1 } as never)).rejects.toThrow('has no option `clock`');
  });

  it('does not mind fake timers, and leaves them alone', async () => {
    const jobs = await testing.jobs({ providers: [OneInstance] });
    jest.useFakeTimers({ ...fake } as Parameters<typeof jest.useFakeTimers>[0]);
    const fired = jest.fn();
    setTimeout(fired, 1000);
    const job = await jobs.run('note', 'a', { delay: '1h' });
    await jobs.test.advance('1h');
    await expect(job.get()).resolves.toMatchObject({ state: 'succeeded' });
    await expect(jobs.test.perform('note', 'b')).resolves.toMatchObject({ state: 'succeeded' });
    expect([fired.mock.calls.length, late]).toEqual([0, ['a', 'b']]);
  });

  it('moves fake timers along, if asked: timers and dates of the app agree with it', async () => {
    const now = new Date('2027-01-01T00:00:00Z');
    jest.useFakeTimers({ now, ...fake } as Parameters<typeof jest.useFakeTimers>[0]);
    const jobs = await testing.jobs({ providers: [OneInstance] }, { timers: jest, patience: 20 });
    await jobs.run('sleeps', 'slept', { delay: '5m' });
    await jobs.run('note', 'later', { scheduled: new Date(Date.now() + HOUR_MS) });
    await jobs.test.advance('2h');
    expect(late).toEqual(['slept 2027-01-01T00:15:00.000Z', 'later']);
    await jobs.test.setTime(new Date('2026-01-01T00:00:00Z'));
    expect([jobs.test.now, new Date()]).toEqual(Array(2).fill(new Date('2026-01-01T00:00:00Z')));
  });
});
