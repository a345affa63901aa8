import { beforeEach, describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import type { Claim } from '../../lib/job/job-source.js';
import { FunctionSlots } from '../../lib/worker/function-slots.js';
import { bindHandler } from '../../lib/worker/job-handler.js';

const slotsOf = (concurrency: number, claimsAhead = true) =>
  new FunctionSlots(
    bindHandler(defineJob('fn'), { concurrency }, () => undefined),
    claimsAhead,
  );

const claims = new Map<number, Claim>();

/** The one with this id: a run is known by its claim. */
function claim(id: number): Claim {
  const options = {};
  const made = { fn: 'fn', id: `${id}`, token: 1, input: new Uint8Array(), attempts: 1, stalls: 0, options };
  const known = claims.get(id) ?? made;
  claims.set(id, known);
  return known;
}

/** Runs of that many milliseconds. */
function run(slots: FunctionSlots, ...durations: number[]): void {
  for (const duration of durations) {
    slots.take(claim(0), 0);
    slots.ended(claim(0), duration);
  }
}

describe('FunctionSlots', () => {
  let slots: FunctionSlots;
  beforeEach(() => void (slots = slotsOf(2)));

  it('claim no job ahead before the length of a run is known', () => {
    expect(slots.free).toBe(2);
    expect([slots.take(claim(1), 0), slots.take(claim(2), 0)]).toEqual([true, true]);
    expect(slots.free).toBe(0);
  });

  it('claim up to a millisecond of work ahead, at most 200 jobs, once runs are known to be short', () => {
    run(slots, 0.25);
    expect(slots.free).toBe(2 + 8);
    run(slots, ...Array<number>(400).fill(0.001));
    expect(slots.free).toBe(2 + 200);
  });

  it('claim none ahead if the source does not support it', () => {
    slots = slotsOf(2, false);
    run(slots, 0.01, 0.01);
    expect(slots.free).toBe(2);
  });

  it('claim none ahead for a function with a limit, whose places claims take, or with batches', () => {
    const limited = defineJob('fn', { limit: { concurrency: 1 } });
    for (const binding of [
      bindHandler(limited, { concurrency: 2 }, () => undefined),
      bindHandler(defineJob('fn'), { concurrency: 2, batch: { size: 1 } }, () => []),
    ]) {
      slots = new FunctionSlots(binding, true);
      run(slots, 0.01, 0.01);
      expect(slots.free).toBe(2);
    }
  });

  it('claim none ahead after one long run, until many were short', () => {
    run(slots, 0.1);
    run(slots, 40);
    expect(slots.free).toBe(2);
    run(slots, 0.1);
    expect(slots.free).toBe(2);
    run(slots, ...Array<number>(100).fill(0.1));
    expect(slots.free).toBeGreaterThan(2);
  });

  it('make claims beyond the concurrency wait, and begin them in order', () => {
    run(slots, 0.1);
    const begun = [1, 2, 3, 4].map((id) => slots.take(claim(id), 0));
    expect(begun).toEqual([true, true, false, false]);
    expect(slots.next(0)).toBeUndefined();
    slots.ended(claim(1), 0.1);
    expect(slots.next(0)?.id).toBe('3');
    expect(slots.next(0)).toBeUndefined();
    slots.ended(claim(2), 0.1);
    expect(slots.next(0)?.id).toBe('4');
    expect(slots.isWaiting).toBe(false);
  });

  it('are stuck if no waiting claim has begun for a while', () => {
    run(slots, 0.1);
    expect(slots.isStuck(1000)).toBe(false);
    for (const id of [1, 2, 3, 4]) slots.take(claim(id), 100);
    expect(slots.isStuck(119)).toBe(false);
    expect(slots.isStuck(120)).toBe(true);
    slots.ended(claim(1), 0.1);
    slots.next(120);
    expect(slots.isStuck(139)).toBe(false);
  });

  it('are overdue when the claim that came first has waited for a second, though others began meanwhile', () => {
    run(slots, 0.1);
    expect(slots.isOverdue(5000)).toBe(false);
    for (const [id, at] of [
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 100],
      [5, 200],
    ] as const)
      slots.take(claim(id), at);
    slots.ended(claim(1), 0.1);
    slots.next(999);
    expect([slots.isOverdue(1099), slots.isOverdue(1100)]).toEqual([false, true]);
    slots.drop(claim(4));
    expect([slots.isOverdue(1199), slots.isOverdue(1200)]).toEqual([false, true]);
    slots.giveUp();
    expect(slots.isOverdue(5000)).toBe(false);
  });

  it('give up waiting claims newest first, and claim none ahead before the next run has ended', () => {
    run(slots, 0.1);
    for (const id of [1, 2, 3, 4]) slots.take(claim(id), 0);
    expect(slots.giveUp().map(({ id }) => id)).toEqual(['4', '3']);
    expect(slots.free).toBe(0);
    slots.ended(claim(1), 0.1);
    expect(slots.free).toBeGreaterThan(1);
  });

  it('forget a dropped claim', () => {
    run(slots, 0.1);
    const [running, waiting] = [claim(1), claim(3)];
    slots.take(running, 0);
    slots.take(claim(2), 0);
    slots.take(waiting, 0);
    expect([slots.drop(running), slots.drop(waiting), slots.drop(waiting)]).toEqual([false, true, false]);
  });

  it('change with the concurrency: running jobs continue, and none begins until there is room', () => {
    slots = slotsOf(2, false);
    slots.take(claim(1), 0);
    slots.take(claim(2), 0);
    slots.concurrency = 1;
    expect(slots.free).toBe(0);
    slots.ended(claim(1), 50);
    expect(slots.free).toBe(0);
    slots.ended(claim(2), 50);
    expect(slots.free).toBe(1);
    slots.concurrency = 0;
    expect([slots.free, slots.take(claim(3), 0)]).toEqual([0, false]);
    slots.concurrency = 3;
    expect([slots.next(1), slots.free]).toEqual([claim(3), 2]);
  });

  it('are idle when the last run has ended, or after the time that is given', async () => {
    await slots.idle(60_000);
    slots.take(claim(1), 0);
    await slots.idle(0);
    await slots.idle(1);
    const idle = slots.idle(60_000);
    slots.ended(claim(1), 1);
    await idle;
    expect(slots.runs).toBe(0);
  });
});
