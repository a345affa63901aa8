import { describe, expect, it } from '@jest/globals';
import { defined } from '../../lib/job/defined.js';

describe('defined', () => {
  it('leaves out fields that are undefined, and nothing else', () => {
    const fields = { a: undefined, b: null, c: 0, d: '', e: false };
    expect(Object.entries(defined(fields))).toEqual([
      ['b', null],
      ['c', 0],
      ['d', ''],
      ['e', false],
    ]);
  });

  it('keeps defaults that are spread before it', () => {
    const given: { readonly timeout?: number | undefined } = { timeout: undefined };
    expect({ ...{ timeout: 1 }, ...defined(given) }).toEqual({ timeout: 1 });
  });
});
