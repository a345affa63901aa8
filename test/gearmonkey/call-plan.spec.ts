import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CallPlan, type Call } from '../../lib/gearmonkey/core/source/round-trips.js';

describe('the calls of a function', () => {
  let plan: CallPlan;

  beforeEach(() => {
    plan = new CallPlan();
  });

  it('are none while there is nothing to send and nothing is wanted', () => {
    expect(plan.next(0, 10)).toBeUndefined();
    plan.wantClaims();
    expect(plan.next(0, 0)).toBeUndefined();
    expect(plan.next(0, 3)).toEqual({ outcomes: 0, slots: 3 });
  });

  it('are two at most, of which the first takes half', () => {
    plan.wantClaims();
    expect(plan.next(20, 100)).toEqual({ outcomes: 10, slots: 50 });
    expect(plan.next(10, 100)).toEqual({ outcomes: 10, slots: 50 });
    expect(plan.next(5, 100)).toBeUndefined();
  });

  it('ask for each slot once, also behind a blocking call', () => {
    expect(plan.takeSlots(3)).toBe(3);
    plan.wantClaims();
    expect(plan.next(0, 5)).toEqual({ outcomes: 0, slots: 2 });
    expect(plan.takeSlots(5)).toBe(0);
    plan.giveSlots(3);
    expect(plan.takeSlots(5)).toBe(3);
  });

  it('ask again after one that failed, but not after one that found fewer jobs', () => {
    plan.wantClaims();
    const found = plan.next(0, 1) as Call;
    plan.end(found);
    expect(plan.next(0, 1)).toBeUndefined();
    plan.wantClaims();
    const failed = plan.next(0, 1) as Call;
    plan.end(failed, true);
    expect(plan.next(0, 1)).toEqual(failed);
  });

  it('begin once a tick, at its end', async () => {
    const begun: string[] = [];
    plan.schedule(() => begun.push('first'));
    plan.schedule(() => begun.push('second'));
    await Promise.resolve();
    expect(begun).toEqual([]);
    await new Promise((resolve) => process.nextTick(resolve));
    expect(begun).toEqual(['first']);
  });

  it('never ask for more jobs than there are slots, with failures in any order', () => {
    const step = fc.record({ slots: fc.nat(1200), outcomes: fc.nat(20), fails: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const calls: Call[] = [];
        const tested = new CallPlan();
        for (const { slots, outcomes, fails } of steps) {
          tested.wantClaims();
          const before = calls.reduce((sum, call) => sum + call.slots, 0);
          const call = tested.next(outcomes, slots);
          if (call) calls.push(call);
          if (call && call.slots > 0) expect(before + call.slots).toBeLessThanOrEqual(slots);
          expect(calls.length).toBeLessThanOrEqual(2);
          if (!call || fails) calls.splice(0, 1).forEach((ended) => tested.end(ended, fails));
        }
      }),
    );
  });
});
