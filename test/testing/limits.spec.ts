import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  GearMonkeyClient,
  LimitFullError,
  Worker,
  defineJob,
  defineLimit,
  type JobCancelledError,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { eventually } from '../support/until.js';
import { MEMORY_AND_REDIS, useTesting } from './use-testing.js';

interface Call {
  tenant: string;
  number?: number;
}

const key = ({ tenant }: Call) => tenant;
const exported = defineJob<Call>('exported', { limit: { key, concurrency: 1 } });
const called = defineJob<Call>('called', { limit: { key, rate: { max: 2, per: '10s' } } });
const ordered = defineJob<Call>('ordered', {
  limit: { key, order: 'strict' },
  retry: { attempts: 2, delay: '1m', jitter: 0 },
});
const refused = defineJob<Call>('refused', { limit: { key, concurrency: 1, onFull: 'refuse' } });
const latest = defineJob<Call>('latest', { limit: { key, concurrency: 1, onFull: 'replace' } });
const newest = defineJob<Call>('newest', {
  limit: { key, concurrency: 1, onFull: 'replace', replace: 'running' },
});
const held = defineJob<Call>('held', { limit: { key, concurrency: 5 } });
const api = defineLimit('api', { rate: { max: 1, per: '1m' } });
const [one, other] = [defineJob<Call>('one', { limit: api }), defineJob<Call>('other', { limit: api })];

@Injectable()
class Handlers {
  readonly ran: string[] = [];
  running = 0;
  most = 0;
  fails = 0;
  holds = 0;

  @Worker(exported, { concurrency: 5 })
  async exported({ tenant, number }: Call) {
    this.most = Math.max(this.most, (this.running += 1));
    await Promise.resolve();
    this.running -= 1;
    this.ran.push(`${tenant} ${number}`);
  }

  @Worker(called, { concurrency: 5 })
  called({ tenant, number }: Call) {
    this.ran.push(`${tenant} ${number}`);
  }

  @Worker(ordered, { concurrency: 5 })
  ordered({ tenant, number }: Call) {
    this.ran.push(`${tenant} ${number}`);
    if (this.fails-- > 0) throw new Error('not now');
  }

  @Worker(refused)
  refused({ tenant, number }: Call) {
    this.ran.push(`${tenant} ${number}`);
  }

  @Worker(latest)
  latest({ tenant, number }: Call) {
    this.ran.push(`${tenant} ${number}`);
  }

  @Worker(one)
  one({ tenant, number }: Call) {
    this.ran.push(`${tenant} ${number}`);
  }

  @Worker(other)
  other({ tenant, number }: Call) {
    this.ran.push(`${tenant} ${number}`);
  }

  @Worker(newest)
  async newest({ tenant, number }: Call, { signal }: RunningJob) {
    this.running += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    this.ran.push(`${tenant} ${number}: ${(signal.reason as JobCancelledError).code}`);
  }

  @Worker(held, { concurrency: 5 })
  held({ tenant, number }: Call, job: RunningJob) {
    if (this.holds-- > 0) job.holdKey('30s');
    this.ran.push(`${tenant} ${number}`);
  }
}

const calls = (tenant: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ tenant, number: index + 1 }));

describe.each(MEMORY_AND_REDIS)('Limits in a test whose jobs are in %s', (server) => {
  const testing = useTesting(server);

  async function start() {
    const app = await testing.start({ providers: [Handlers] });
    const jobs = app.get(GearMonkeyClient);
    return { jobs, test: testing.jobsOf('default'), handlers: app.get(Handlers) };
  }

  it('let keys take turns, one job of each at a time', async () => {
    const { jobs, test, handlers } = await start();
    await jobs.runMany(exported, calls('acme', 3));
    await jobs.runMany(exported, calls('tiny', 1));
    await expect(test.drain()).resolves.toEqual({ done: 4, failed: 0, retried: 0 });
    expect(handlers.ran).toEqual(['acme 1', 'tiny 1', 'acme 2', 'acme 3']);
    expect(handlers.most).toBe(2);
  });

  it('let a rate’s further jobs wait until the clock has moved', async () => {
    const { jobs, test, handlers } = await start();
    await jobs.runMany(called, calls('acme', 5));
    await expect(test.drain()).resolves.toMatchObject({ done: 2 });
    await expect(jobs.limits(called)).resolves.toMatchObject([
      { key: 'acme', waiting: 3, full: true, fullUntil: new Date(test.now.getTime() + 10_001) },
    ]);
    await expect(test.advance('10s')).resolves.toMatchObject({ done: 0 });
    await expect(test.advance(1)).resolves.toMatchObject({ done: 2 });
    const before = test.now.getTime();
    await expect(test.drain({ scheduled: true })).resolves.toMatchObject({ done: 1 });
    expect(test.now.getTime() - before).toBe(10_001);
    expect(handlers.ran).toEqual(calls('acme', 5).map(({ number }) => `acme ${number}`));
  });

  it('run each job at its time when the clock moves far', async () => {
    const { jobs, test, handlers } = await start();
    await jobs.runMany(called, calls('acme', 5));
    await expect(test.advance('1h')).resolves.toMatchObject({ done: 5 });
    expect(handlers.ran).toHaveLength(5);
  });

  it('keep a strict order through a retry', async () => {
    const { jobs, test, handlers } = await start();
    handlers.fails = 1;
    await jobs.runMany(ordered, calls('acme', 2));
    await expect(test.drain()).resolves.toEqual({ done: 0, failed: 0, retried: 1 });
    const [state] = await jobs.limits(ordered);
    expect(state).toMatchObject({ key: 'acme', waiting: 1, running: 0, full: true, heldBy: '1' });
    await expect(test.advance('1m')).resolves.toMatchObject({ done: 2 });
    expect(handlers.ran).toEqual(['acme 1', 'acme 1', 'acme 2']);
  });

  it('hold a key for a time, and count the run as retried', async () => {
    const { jobs, test, handlers } = await start();
    handlers.holds = 1;
    await jobs.runMany(held, calls('acme', 2));
    await jobs.runMany(held, calls('tiny', 1));
    const [first] = await jobs.runMany(held, calls('late', 0));
    expect(first).toBeUndefined();
    const { retried } = await test.drain();
    expect(retried).toBe(1);
    expect(handlers.ran).toContain('tiny 1');
    await test.advance('31s');
    expect(handlers.ran).toEqual(expect.arrayContaining(['acme 1', 'acme 2', 'tiny 1']));
  });

  it('refuse a job of a full key, and record none', async () => {
    const { jobs, test } = await start();
    await jobs.run(refused, { tenant: 'acme', number: 1 });
    await expect(jobs.run(refused, { tenant: 'acme', number: 2 })).rejects.toThrow(LimitFullError);
    expect(test.enqueued(refused)).toHaveLength(1);
    await jobs.run(refused, { tenant: 'tiny', number: 1 });
    await expect(test.drain()).resolves.toMatchObject({ done: 2 });
    await jobs.run(refused, { tenant: 'acme', number: 3 });
  });

  it('replace a job of a full key, which has failed then', async () => {
    const { jobs, test, handlers } = await start();
    const first = await jobs.run(latest, { tenant: 'acme', number: 1 });
    await jobs.run(latest, { tenant: 'acme', number: 2 });
    await expect(first.get()).resolves.toMatchObject({
      state: 'cancelled',
      error: { code: 'JOB_CANCELLED' },
    });
    await expect(test.until(latest, { id: first.id }, 'failed')).resolves.toMatchObject({ id: first.id });
    await expect(test.drain()).resolves.toMatchObject({ done: 1, failed: 0 });
    expect(handlers.ran).toEqual(['acme 2']);
  });

  it('abort a running job that is replaced', async () => {
    const { jobs, test, handlers } = await start();
    const first = await jobs.run(newest, { tenant: 'acme', number: 1 });
    const draining = test.drain();
    await test.until(newest, { id: first.id }, 'started');
    await eventually(() => expect(handlers.running).toBe(1));
    await jobs.run(newest, { tenant: 'acme', number: 2 });
    await expect(draining).resolves.toMatchObject({ failed: 1 });
    expect(handlers.ran).toEqual(['acme 1: JOB_CANCELLED']);
  });

  it('are shared by functions', async () => {
    const { jobs, test, handlers } = await start();
    await jobs.run(one, { tenant: 'a', number: 1 });
    await jobs.run(other, { tenant: 'b', number: 1 });
    await expect(test.drain()).resolves.toMatchObject({ done: 1 });
    await expect(test.advance('1m')).resolves.toMatchObject({ done: 0 });
    await expect(test.advance('1s')).resolves.toMatchObject({ done: 1 });
    expect(handlers.ran).toHaveLength(2);
  });

  it('can be changed', async () => {
    const { jobs, test } = await start();
    await jobs.setLimit(called, { rate: { max: 1, per: '1s' } });
    await jobs.runMany(called, calls('acme', 3));
    await expect(test.drain()).resolves.toMatchObject({ done: 1 });
    await jobs.resetLimit(called);
    await expect(test.drain()).resolves.toMatchObject({ done: 1 });
  });

  it('don’t hold back a job that the test performs', async () => {
    const { jobs, test } = await start();
    await jobs.runMany(called, calls('acme', 3));
    await test.drain();
    await expect(test.perform(called, { tenant: 'acme' })).resolves.toMatchObject({ state: 'succeeded' });
    await jobs.runMany(ordered, calls('acme', 2));
    await expect(test.perform(ordered, { tenant: 'acme' })).resolves.toMatchObject({ state: 'succeeded' });
    await expect(test.perform(called, {} as Call)).rejects.toMatchObject({ code: 'LIMIT_KEY' });
  });

  it('leave a performed job idle that holds its key', async () => {
    const { test, handlers } = await start();
    handlers.holds = 1;
    const job = await test.perform(held, { tenant: 'acme', number: 1 });
    expect(job).toMatchObject({ state: 'waiting', attempts: 0, errors: [] });
  });
});
