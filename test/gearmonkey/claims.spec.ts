import { describe, expect, it } from '@jest/globals';
import { claimOf, toClaim } from '../../lib/gearmonkey/core/source/held-claims.js';

describe('A claim', () => {
  it.each([
    ['7:5000001', '7', 5_000_001],
    ['a:b:3', 'a:b', 3],
    [':1', '', 1],
  ])('that is stored as %j has its id and token', (member, id, token) => {
    expect(claimOf('fn', member)).toMatchObject({ fn: 'fn', id, token });
  });

  it.each([
    [0, 0, undefined],
    [1, 3, undefined],
    [2, 3, undefined],
    [3, 3, true],
    [4, 3, true],
  ])('that lost its worker %s times of %s that are allowed is a suspect: %s', (stalls, most, suspect) => {
    const job = { id: '7', token: 1, input: new Uint8Array(), attempts: 5, stalls, options: '' };
    expect(toClaim('fn', job as Parameters<typeof toClaim>[1], most).suspect).toBe(suspect);
  });

  it('has the options that its job was sent with, without what no client writes', () => {
    const job = { id: '7', token: 1, input: new Uint8Array(), attempts: 2, stalls: 1 };
    const options = JSON.stringify({ timeout: 5000, reply: 'inbox', headers: { tenant: 'a' }, secret: 1 });
    expect(toClaim('fn', { ...job, options } as Parameters<typeof toClaim>[1])).toEqual({
      ...{ fn: 'fn', ...job },
      options: { timeout: 5000, reply: 'inbox', headers: { tenant: 'a' } },
    });
  });
});
