import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Recurring, Worker, type RunningJob } from 'nestjs-gearmonkey';
import type { Drained } from '../../lib/testing/run-permits.js';
import { lateError } from '../../lib/testing/time-limit.js';
import { SERVERS, useTesting } from './use-testing.js';

const ran: string[] = [];

@Injectable()
class Reports {
  @Worker('report')
  report(_: unknown, { recurring }: RunningJob) {
    ran.push(recurring?.slot.toISOString() ?? 'by hand');
  }
}

@Injectable()
class Often {
  @Recurring({ id: 'often', every: '2s' })
  often() {
    ran.push('often');
  }
}

describe.each(SERVERS)('recurring jobs of a test, in %s', (server) => {
  const testing = useTesting(server);
  afterEach(() => void ran.splice(0));

  const start = async () => {
    const jobs = await testing.jobs({ providers: [Reports] }, { now: new Date('2026-11-22T08:00Z') });
    await jobs.recur('report', { id: 'daily', cron: '0 9 * * *', input: { to: 'all' } });
    return jobs;
  };

  it('run each at its time as the clock moves', async () => {
    const jobs = await start();
    await expect(jobs.test.advance('59m')).resolves.toMatchObject({ done: 0 });
    await expect(jobs.test.advance('3 days')).resolves.toMatchObject({ done: 3 });
    expect(ran).toEqual([22, 23, 24].map((day) => `2026-11-${day}T09:00:00.000Z`));
    expect(jobs.test.enqueued('report', { input: { to: 'all' } })).toHaveLength(3);
    await jobs.test.setTime(new Date('2026-11-25T09:00Z'));
    expect(ran).toHaveLength(4);
  });

  it('are not run by drain, which ends', async () => {
    const jobs = await start();
    await jobs.run('report', {}, { delay: '2 days' });
    await expect(jobs.test.drain({ scheduled: true })).resolves.toMatchObject({ done: 1 });
    expect(ran).toEqual(['by hand']);
  });

  it('run at once when they are asked for', async () => {
    const jobs = await start();
    await jobs.schedules.runNow('daily');
    await expect(jobs.test.drain()).resolves.toMatchObject({ done: 1 });
    expect(ran).toEqual(['2026-11-22T08:00:00.000Z']);
  });

  describe('with `recurring: false`', () => {
    const quiet = { now: new Date('2026-11-22T08:00Z'), recurring: false };

    it('are declared, make no job as time passes, and run by hand', async () => {
      const jobs = await testing.jobs({ providers: [Often] }, quiet);
      await expect(jobs.test.advance('30 days')).resolves.toMatchObject({ done: 0, failed: 0 });
      expect(ran).toEqual([]);
      expect((await jobs.schedules.list()).map(({ id }) => id)).toEqual(['often']);
      await jobs.test.perform('Often.often', undefined);
      await jobs.schedules.runNow('often');
      await expect(jobs.test.drain()).resolves.toMatchObject({ done: 1 });
      expect(ran).toHaveLength(2);
    });

    it('leave other jobs as they are', async () => {
      const jobs = await testing.jobs({ providers: [Often, Reports] }, quiet);
      await jobs.run('report', {}, { delay: '1h' });
      await expect(jobs.test.advance('1h')).resolves.toMatchObject({ done: 1 });
      expect(ran).toEqual(['by hand']);
    });
  });

  it.each([
    ['advance', 3, true],
    ['advance', 0, false],
    ['drain', 3, false],
  ])('that may be too many: %s behind %i runs names the option in its error: %s', (what, done, isNamed) => {
    const ended = { done, failed: 0, retried: 0 } as Drained;
    const { message } = lateError({ what, timeout: 50, running: [], waiting: [], ended, now: 0 });
    expect(message.includes('the option `recurring: false` of GearMonkeyTestingModule')).toBe(isNamed);
  });

  it.each([0, 'no', null])('refuse %p as an option', async (recurring) => {
    const options = { recurring } as unknown as { recurring: boolean };
    await expect(testing.jobs({ providers: [Reports] }, options)).rejects.toThrow(/recurring/);
  });
});
