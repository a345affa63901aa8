import { describe, expect, it } from '@jest/globals';
import { chunksOf } from '../../lib/batching/chunks.js';

describe('chunksOf', () => {
  it('splits a list into parts, and an empty list into none', () => {
    expect(chunksOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
    expect(chunksOf([1, 2], 2)).toEqual([[1, 2]]);
    expect(chunksOf([], 2)).toEqual([]);
  });
});
