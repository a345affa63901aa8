import { describe, expect, it } from '@jest/globals';
import { CallFailures, RecoveryPace } from '../../lib/gearmonkey/core/source/round-trips.js';

const LEASE_MS = 1600;

describe('RecoveryPace', () => {
  it('looks for ended leases a few times in the length of one', () => {
    const pace = new RecoveryPace(LEASE_MS, new CallFailures());
    const looks = Array.from({ length: LEASE_MS }, (_, now) => now).filter((now) => pace.next(now, 0) === 1);
    expect(looks).toHaveLength(16);
    expect(looks.slice(0, 3)).toEqual([0, 100, 200]);
  });

  it('says how often a worker looks that polls', () => {
    expect(new RecoveryPace(LEASE_MS, new CallFailures()).next(0, 5000)).toBe(5000);
  });

  it('says that a call has failed since the last look, until one has looked again', () => {
    const failures = new CallFailures();
    const pace = new RecoveryPace(LEASE_MS, failures);
    const next = (pollInterval = 0) => {
      pace.again();
      return pace.next(performance.now(), pollInterval);
    };
    failures.note();
    expect(next()).toBe(1);
    pace.looked(performance.now());
    failures.note();
    expect([next(), next(5000)]).toEqual([-1, -5000]);
    pace.looked(performance.now() + 1);
    expect(next()).toBe(1);
  });
});
