import { describe, expect, it } from '@jest/globals';
import { MAX_SPAN_MS, toMilliseconds } from '../../lib/job/duration.js';
import { InvalidOptionError } from '../../lib/job/errors.js';
import { noDurations } from '../support/no-durations.js';

describe('toMilliseconds', () => {
  it.each([...noDurations(), ['0', 0], ['0s', '0s'], ['too long for a timer', 2 ** 31], ['99y', '99 years']])(
    'refuses %s',
    (_, duration) => {
      const read = () => toMilliseconds('lease', duration as string);
      expect(read).toThrow(InvalidOptionError);
      expect(read).toThrow(
        'Expected `lease` to be more than 0 ms and at most 24 days, as a number of milliseconds or text with a unit',
      );
    },
  );

  it.each(noDurations())('refuses %s even with the widest bounds', (_, duration) => {
    const read = () => toMilliseconds('delay', duration as string, { least: 0, most: MAX_SPAN_MS });
    expect(read).toThrow('Expected `delay` to be at least 0 ms and at most 100 years');
  });

  it.each([
    [99, 'at least 100 ms'],
    [1001, 'at most 1000 ms'],
  ])('refuses %p outside of bounds', (duration, reason) => {
    expect(() => toMilliseconds('poll', duration, { least: 100, most: 1000 })).toThrow(reason);
  });

  it.each([
    [0, 0],
    ['0s', 0],
    ['100 years', 36_525 * 86_400_000],
  ])('reads %p within wider bounds', (duration, ms) => {
    expect(toMilliseconds('delay', duration, { least: 0, most: MAX_SPAN_MS })).toBe(ms);
  });

  it.each([
    [1, 1],
    [0.5, 1],
    [10_000 / 3, 3334],
    ['250ms', 250],
    ['0.5s', 500],
    ['30s', 30_000],
    ['30 S', 30_000],
    ['5 minutes', 300_000],
    ['2h', 7_200_000],
    ['24d', 2_073_600_000],
  ])('reads %p', (duration, ms) => {
    expect(toMilliseconds('lease', duration)).toBe(ms);
  });
});
