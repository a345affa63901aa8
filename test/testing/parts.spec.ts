import { describe, expect, it } from '@jest/globals';
import type { Claim } from '../../lib/job/job-source.js';
import { HeldJobs } from '../../lib/testing/held-jobs.js';
import { Permit, Permits } from '../../lib/testing/run-permits.js';
import { TestClock } from '../../lib/testing/test-clock.js';

describe('TestClock', () => {
  it('runs callbacks in the order of their times, also in one move', () => {
    const clock = new TestClock(1000);
    const rang: string[] = [];
    clock.after(20, () => rang.push(`later at ${clock.now()}`));
    clock.after(10, () => rang.push(`first at ${clock.now()}`));
    clock.after(10, () => rang.push('second'));
    clock.moveTo(1030);
    expect(rang).toEqual(['first at 1010', 'second', 'later at 1020']);
  });
});

describe('Permits', () => {
  it('count the end of a job for those that allow it', () => {
    const permits = new Permits(() => undefined);
    const [one, other] = ['one', 'other'].map((instance) => new Permit((of) => of === instance));
    for (const permit of [one, other]) if (permit) permits.grant(permit);
    permits.count('one', 'fn', '1', 'done');
    expect([one?.drained.done, other?.drained.done]).toEqual([1, 0]);
  });
});

describe('HeldJobs', () => {
  it('hold a job for its new claim after the one before has ended', async () => {
    const held = new HeldJobs();
    const claimed = (token: number) => ({ fn: 'fn', id: '1', token }) as Claim;
    const [lost, current] = [claimed(1), claimed(2)];
    for (const claim of [lost, current]) await held.take('fn', '1', async () => claim);
    held.drop(lost);
    expect([held.has(lost), held.has(current)]).toEqual([false, true]);
  });
});
