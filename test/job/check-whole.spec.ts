import { describe, expect, it } from '@jest/globals';
import { checkWhole } from '../../lib/job/check-whole.js';

describe('checkWhole', () => {
  it.each([0, 1, 10])('accepts %p, which is within the bounds', (value) => {
    expect(checkWhole('size', value, 0, 10)).toBe(value);
  });

  const refused: unknown[] = [-1, 11, 1.5, Number.NaN, Infinity, '3', null, undefined, 2n];
  it.each(refused)('refuses %p', (value) => {
    expect(() => checkWhole('size', value as number, 0, 10)).toThrow(
      /Expected `size` to be a whole number from 0 to 10, got/,
    );
  });

  it('names only the lower bound if there is no upper one', () => {
    expect(() => checkWhole('size', 0, 1)).toThrow('Expected `size` to be a whole number, 1 or more, got 0.');
    expect(() => checkWhole('size', 2 ** 53, 1)).toThrow('1 or more');
  });
});
