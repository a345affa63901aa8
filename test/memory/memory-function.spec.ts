import { describe, expect, it } from '@jest/globals';
import { drainJobs } from '../../lib/memory/memory-edits.js';
import { MemoryFunction } from '../../lib/memory/memory-function.js';
import { mendJobs } from '../../lib/memory/memory-mend.js';
import { signalJob } from '../../lib/memory/memory-signals.js';

const NOW = 1_800_000_000_000;
const LEASE = 1000;
const ERROR = { name: 'Error', message: 'no' };
const NO_FLOWS = { isHeld: () => false, retried: () => undefined };

/** A function with these jobs, which get the ids 1, 2 and so on. */
function withJobs(count: number, key?: string): MemoryFunction {
  const fn = new MemoryFunction('fn', { maxStalls: 2 });
  if (key !== undefined) fn.limits.declare({ order: 'fair' }, NOW);
  for (let made = 0; made < count; made++) fn.enqueue('input', { queue: 'normal' }, NOW, key);
  return fn;
}

/** Claims as many, and returns their ids. */
function claim(fn: MemoryFunction, slots: number, now: number): string[] {
  return fn.claim(slots, LEASE, now).map(({ id }) => id);
}

const statusOf = (fn: MemoryFunction, id: string) => fn.jobs.text(id, 'status');

describe('A function of the embedded server', () => {
  it('renews the lease of the worker that holds the job, and of no earlier one', () => {
    const fn = withJobs(1);
    claim(fn, 1, NOW);
    claim(fn, 1, NOW + LEASE);
    expect(fn.renew('1', 1, LEASE, NOW + LEASE + 1)).toBe(false);
    expect(fn.leases.nextExpiry).toBe(NOW + 2 * LEASE);
    expect(fn.renew('1', 2, LEASE, NOW + LEASE + 1)).toBe(true);
    expect(fn.leases.nextExpiry).toBe(NOW + 2 * LEASE + 1);
  });

  it('ends a job that has lost its worker more often than it may', () => {
    const fn = withJobs(1);
    for (let lost = 0; lost <= 2; lost++) expect(claim(fn, 1, NOW + lost * LEASE)).toEqual(['1']);
    expect(claim(fn, 1, NOW + 3 * LEASE)).toEqual([]);
    expect(statusOf(fn, '1')).toBe('error');
  });

  it('gives jobs back that have lost their worker in their order, before others', () => {
    const fn = withJobs(3);
    claim(fn, 2, NOW);
    expect(claim(fn, 3, NOW + LEASE)).toEqual(['1', '2', '3']);
  });

  it('runs the older of two jobs first that are due at the same time', () => {
    const fn = new MemoryFunction('fn', { maxStalls: 2 });
    for (let made = 0; made < 2; made++)
      fn.enqueue('input', { queue: 'scheduled', score: NOW / 1000 + 1 }, NOW);
    expect(claim(fn, 2, NOW + 1000)).toEqual(['1', '2']);
  });

  it('runs retries with the same key in the order in which they are due', () => {
    const fn = withJobs(2, 'key');
    claim(fn, 2, NOW);
    fn.retry('2', 1, ERROR, 10, NOW);
    fn.retry('1', 1, ERROR, 20, NOW);
    expect(claim(fn, 2, NOW + 20)).toEqual(['2', '1']);
  });

  it('drains jobs up to an id, and none that came later', () => {
    const fn = withJobs(3);
    const drained = drainJobs(fn, { queue: 'normal', kind: '', limited: false, last: 2, cursor: '0' }, NOW);
    expect(drained.ids).toEqual(['1', '2']);
    expect(claim(fn, 3, NOW)).toEqual(['3']);
  });

  it('retries or deletes a failed job as it was listed, and none that has ended again since', () => {
    const fn = withJobs(1);
    const listed = [{ id: '1', finished: String(NOW) }];
    claim(fn, 1, NOW);
    fn.finish('1', 1, 'error', 'no', ERROR, NOW);
    expect(mendJobs(fn, 'retry', listed, NOW, NO_FLOWS)).toBe(1);
    claim(fn, 1, NOW);
    fn.finish('1', 2, 'error', 'no', ERROR, NOW + 1);
    expect(mendJobs(fn, 'discard', listed, NOW, NO_FLOWS)).toBe(0);
    expect(statusOf(fn, '1')).toBe('error');
  });

  it('retries or deletes no job that has succeeded', () => {
    const fn = withJobs(1);
    claim(fn, 1, NOW);
    fn.finish('1', 1, 'success', 'done', undefined, NOW);
    expect(mendJobs(fn, 'discard', [{ id: '1', finished: String(NOW) }], NOW, NO_FLOWS)).toBe(0);
    expect(statusOf(fn, '1')).toBe('success');
  });

  it('runs a job at once that waits for a signal which it has already', () => {
    const fn = withJobs(1);
    claim(fn, 1, NOW);
    signalJob(fn, '1', 'paid', '{}', NOW);
    fn.snooze('1', 1, 60_000, NOW, ['paid']);
    expect(claim(fn, 1, NOW)).toEqual(['1']);
  });
});
