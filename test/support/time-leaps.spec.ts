import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { performance as imported } from 'node:perf_hooks';
import { TimeLeaps } from './time-leaps.js';
import { eventually } from './until.js';

const HOUR_MS = 3_600_000;

describe('leaps of time', () => {
  const before = globalThis.setTimeout;
  let leaps: TimeLeaps;
  const rung: string[] = [];
  const ring = (name: string) => () => void rung.push(name);

  beforeEach(() => {
    rung.length = 0;
    leaps = new TimeLeaps();
  });
  afterEach(() => leaps.end());

  it('move the clocks, which go on from there', () => {
    const [date, elapsed, other] = [Date.now(), performance.now(), imported.now()];
    leaps.leap(HOUR_MS);
    leaps.leap(HOUR_MS);
    expect(Date.now() - date).toBeGreaterThanOrEqual(2 * HOUR_MS);
    expect(performance.now() - elapsed).toBeGreaterThanOrEqual(2 * HOUR_MS);
    expect(imported.now() - other).toBeGreaterThanOrEqual(2 * HOUR_MS);
  });

  it('ring timers that are over once, in their order, with their arguments', () => {
    setTimeout((name: string) => rung.push(name), 2 * HOUR_MS, 'late');
    setTimeout(ring('early'), HOUR_MS);
    setTimeout(ring('not yet'), 9 * HOUR_MS);
    setInterval(ring('each minute'), 60_000).unref();
    leaps.leap(3 * HOUR_MS);
    expect(rung).toEqual(['each minute', 'early', 'late']);
    leaps.leap(1000);
    expect(rung).toHaveLength(3);
    leaps.leap(59_000);
    expect(rung.slice(3)).toEqual(['each minute']);
    leaps.leap(6 * HOUR_MS);
    expect(rung.slice(4)).toEqual(['each minute', 'not yet']);
  });

  it('ring no timer that was cleared, be it by one that rings before it', () => {
    clearTimeout(setTimeout(ring('cleared'), 1000));
    clearInterval(setInterval(ring('cleared'), 1000));
    const second = setTimeout(ring('cleared'), 2000);
    setTimeout(() => clearTimeout(second), 1000);
    leaps.leap(HOUR_MS);
    expect(rung).toEqual([]);
  });

  it('bring timers nearer that are not over yet, and can still be cleared', async () => {
    setTimeout(ring('near'), HOUR_MS);
    const cleared = setTimeout(ring('cleared'), HOUR_MS);
    leaps.leap(HOUR_MS - 20);
    expect(rung).toEqual([]);
    clearTimeout(cleared);
    await eventually(() => expect(rung).toEqual(['near']));
    leaps.leap(HOUR_MS);
    expect(rung).toEqual(['near']);
  });

  it('leave timers alone that ring by themselves', async () => {
    setTimeout(ring('soon'), 1);
    const each = setInterval(ring('each'), 1);
    await eventually(() => expect(rung.filter((name) => name === 'each').length).toBeGreaterThan(2));
    clearInterval(each);
    leaps.leap(HOUR_MS);
    expect(rung.filter((name) => name === 'soon')).toHaveLength(1);
  });

  it('end with the clocks and timers of before', () => {
    leaps.leap(HOUR_MS);
    const ahead = [Date.now(), performance.now()];
    leaps.end();
    for (const [index, now] of [Date.now(), performance.now()].entries())
      expect(now).toBeLessThan(ahead[index] ?? 0);
    expect(globalThis.setTimeout).toBe(before);
  });
});
