import { describe, expect, it } from '@jest/globals';
import { FinishedJobs } from '../../lib/gearmonkey/core/client/job-feed.js';

/** Jobs that a stretch of time has. */
const STRETCH = 1000;

describe('FinishedJobs', () => {
  it('remembers nothing without expectations', () => {
    const finished = new FinishedJobs();
    finished.add('1');
    expect(finished.size).toBe(0);
    expect(finished.expect().of('1')).toBeUndefined();
  });

  it('has finished jobs and their outputs, even after the plain message', () => {
    const finished = new FinishedJobs();
    const expectation = finished.expect();
    finished.add('1');
    const reply = { job: { id: '2', mark: 5_000_000 }, output: 'out' };
    finished.add('2', reply);
    finished.add('2');
    expect(expectation.of('1')).toEqual({ reply: undefined });
    expect(expectation.of('2')).toEqual({ reply });
    expect(expectation.of('3')).toBeUndefined();
  });

  it('reports gaps to earlier expectations', () => {
    const finished = new FinishedJobs();
    const before = finished.expect();
    finished.addGap();
    expect([before.hasGaps, finished.expect().hasGaps]).toEqual([true, false]);
  });

  it('finds a job even if many finished after it', () => {
    const finished = new FinishedJobs();
    const expectation = finished.expect();
    const reply = { job: { id: '0' }, output: 'first' };
    finished.add('0', reply);
    for (let id = 1; id <= 3 * STRETCH; id++) finished.add(`${id}`);
    finished.add('0');
    expect(expectation.of('0')).toEqual({ reply });
    expect(expectation.of(`${3 * STRETCH}`)).toEqual({ reply: undefined });
  });

  it('forgets jobs that finished before the oldest enqueue began, and in the end all', () => {
    const finished = new FinishedJobs();
    const sizes: number[] = [];
    let oldest = finished.expect();
    for (let id = 1; id <= 50 * STRETCH; id++) {
      finished.add(`${id}`);
      if (id % 100 !== 0) continue;
      const next = finished.expect();
      oldest.dispose();
      oldest = next;
      sizes.push(finished.size);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * STRETCH);
    oldest.dispose();
    expect(finished.size).toBe(0);
  });

  it('remembers each job once for all expectations', () => {
    const finished = new FinishedJobs();
    const expectations = Array.from({ length: 5000 }, () => finished.expect());
    for (let id = 1; id <= 5000; id++) finished.add(`${id}`);
    expect(finished.size).toBe(5000);
    expect(expectations.every((expectation, i) => expectation.of(`${i + 1}`) !== undefined)).toBe(true);
  });
});
