import { describe, expect, it } from '@jest/globals';
import { restOf } from '../../../lib/jq/wire/retry-after.js';

const NOW = Date.parse('2027-01-01T00:00:00Z');

describe('restOf', () => {
  it.each([
    ['nothing', undefined, 1000],
    ['no time', 'soon', 1000],
    ['seconds', '7', 7000],
    ['a date', 'Fri, 01 Jan 2027 00:00:05 GMT', 5000],
    ['no seconds at all', '0', 100],
    ['a date that has passed', 'Thu, 31 Dec 2026 00:00:00 GMT', 100],
    ['a day', '86400', 300_000],
  ])('makes of %s a rest that is neither none nor endless', (_, header, rest) => {
    expect(restOf(header, NOW)).toBe(rest);
  });
});
