import { describe, expect, it } from '@jest/globals';
import { JobCounts } from '../../lib/gearmonkey/features/statistics/statistics-writer.js';
import { statisticsQuery, TIME_BOUNDS, toStatistics } from '../../lib/job/statistics.js';
import { classOf } from '../../lib/gearmonkey/features/statistics/statistics-writer.js';

const HOUR_MS = 3_600_000;
const AT = Date.UTC(2026, 0, 10, 14, 30);

describe('Statistics', () => {
  it.each([
    ['minute', 61, Date.UTC(2026, 0, 10, 13, 29)],
    ['hour', 25, Date.UTC(2026, 0, 9, 14)],
    ['day', 4, Date.UTC(2026, 0, 7)],
  ] as const)('by %s have whole intervals up to now', (by, most, first) => {
    const { starts } = statisticsQuery({ by }, AT + (by === 'minute' ? -30_000 : 0));
    expect(starts).toHaveLength(most);
    expect(starts[0]).toBe(first);
  });

  it('of a day are those of its 24 hours', () => {
    const query = statisticsQuery({ by: 'day', from: new Date(AT - 1), to: new Date(AT) }, AT);
    const [day, ...others] = toStatistics(query, () => new Map([['done', 2]]));
    expect(others).toEqual([]);
    expect(day?.done).toBe(48);
    expect(query.hours).toHaveLength(24);
  });

  it('of a minute are asked for by its hour and number', () => {
    const asked: unknown[] = [];
    const query = statisticsQuery({ by: 'minute', from: new Date(AT), to: new Date(AT + 1) }, AT);
    toStatistics(query, (...which) => {
      asked.push(which);
      return new Map();
    });
    expect(asked).toEqual([[Math.floor(AT / HOUR_MS), 30]]);
  });

  it('count a time in the first class whose bound it does not exceed', () => {
    for (const [index, bound] of TIME_BOUNDS.entries()) {
      expect(classOf(bound)).toBe(index);
      expect(classOf(bound + 1)).toBe(index + 1);
    }
    expect(classOf(Number.MAX_VALUE)).toBe(TIME_BOUNDS.length);
  });

  it('have classes with their bounds, the mean, and no empty class', () => {
    const counts = new JobCounts();
    for (const took of [1, 3, 100_000_000]) counts.ended({ status: 'success', took });
    counts.ended({ status: 'released' });
    const taken = counts.take();
    const query = statisticsQuery({ by: 'hour', from: new Date(AT), to: new Date(AT + 1) }, AT);
    const [hour] = toStatistics(query, () => taken);
    expect(hour).toMatchObject({ done: 3, failed: 0 });
    expect(hour?.run).toEqual({
      count: 3,
      mean: 100_000_004 / 3,
      classes: [
        { most: 1, count: 1 },
        { most: 5, count: 1 },
        { most: Infinity, count: 1 },
      ],
    });
    expect(counts.take().size).toBe(0);
  });
});
