import { describe, expect, it } from '@jest/globals';
import { eventually, until } from './until.js';

const BRIEFLY = { timeout: 1 };

describe('eventually', () => {
  it('passes when the assertion passes', async () => {
    let looks = 0;
    await eventually(() => expect(++looks).toBeGreaterThan(2));
    expect(looks).toBe(3);
  });

  it('fails with the last value', async () => {
    const late = eventually(() => expect({ status: 'busy' }).toEqual({ status: 'success' }), BRIEFLY);
    await expect(late).rejects.toThrow(/waited 1 ms[^]*"status": "success"[^]*"status": "busy"/);
  });

  it('throws other errors at once', async () => {
    const broken = eventually(() => {
      throw new TypeError('no such thing');
    });
    await expect(broken).rejects.toThrow('no such thing');
  });
});

describe('until', () => {
  it('names the condition and the last value', async () => {
    const few = until(() => [1, 2].length === 3, { ...BRIEFLY, seen: () => [1, 2] });
    await expect(few).rejects.toThrow(/length === 3.*waited 1 ms\)\nIt was last: \[ 1, 2 \]$/s);
    await expect(until(() => null, BRIEFLY)).rejects.toThrow(/waited 1 ms\)\nIt was last: null$/);
  });
});
