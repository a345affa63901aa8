import { beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { SpareClaims } from '../../lib/gearmonkey/core/source/claimer.js';
import type { Claim } from '../../lib/job/job-source.js';

const claim = (id: string): Claim => ({
  fn: 'fn',
  id,
  token: 1,
  input: new Uint8Array(),
  attempts: 1,
  stalls: 0,
  options: {},
});

describe('SpareClaims', () => {
  const [one, other] = [claim('1'), claim('2')];
  let released: Claim[];
  let spare: SpareClaims;

  beforeEach(() => {
    released = [];
    spare = new SpareClaims((claims) => released.push(...claims));
  });

  it('are taken once by a worker that claims again in the same tick', async () => {
    spare.keep([one]);
    spare.keep([other]);
    expect(spare.isEmpty).toBe(false);
    expect(spare.take()).toEqual([one, other]);
    expect([spare.isEmpty, spare.take()]).toEqual([true, []]);
    await turn();
    expect(released).toEqual([]);
  });

  it('are given back if no worker has taken them by the end of the tick', async () => {
    spare.keep([one, other]);
    await turn();
    expect([spare.isEmpty, released]).toEqual([true, [one, other]]);
  });
});
