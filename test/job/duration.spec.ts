import { describe, expect, it } from '@jest/globals';
import { toMilliseconds } from '../../lib/job/duration.js';
import { InvalidOptionError } from '../../lib/job/errors.js';

describe('toMilliseconds', () => {
  it.each([0, -1, Number.NaN, Infinity, 2 ** 31, '', 'soon', '-5s', '0s', '99 years', 'x'.repeat(200)])(
    'refuses %p',
    (duration) => {
      expect(() => toMilliseconds('lease', duration)).toThrow(InvalidOptionError);
      expect(() => toMilliseconds('lease', duration)).toThrow('Expected `lease` to be more than 0 ms');
    },
  );

  it.each([undefined, null, {}, true])('refuses %p, which TypeScript would', (duration) => {
    expect(() => toMilliseconds('lease', duration as unknown as string)).toThrow(InvalidOptionError);
  });

  it.each([
    [1, 1],
    [0.5, 1],
    [10_000 / 3, 3334],
    ['250', 250],
    ['30s', 30_000],
    ['5 minutes', 300_000],
    ['2h', 7_200_000],
    ['24d', 2_073_600_000],
  ])('reads %p', (duration, ms) => {
    expect(toMilliseconds('lease', duration)).toBe(ms);
  });
});
