import { describe, expect, it } from '@jest/globals';
import { RecoveryPace } from '../../lib/gearmonkey/core/source/round-trips.js';

const LEASE_MS = 1600;

describe('RecoveryPace', () => {
  it('looks for ended leases a few times in the length of one', () => {
    const pace = new RecoveryPace(LEASE_MS);
    const looks = Array.from({ length: LEASE_MS }, (_, now) => now).filter((now) => pace.isDue(now));
    expect(looks).toHaveLength(16);
    expect(looks.slice(0, 3)).toEqual([0, 100, 200]);
  });
});
