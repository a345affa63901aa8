/** @isolated All timers are fake, from before the module is loaded. */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type * as Rounds from '../../lib/redis/rounds.js';

describe('What is repeated', () => {
  let repeat: typeof Rounds.repeat;
  const ends: (() => void)[] = [];
  const ran: string[] = [];
  const start = (ms: number, name: string, isPunctual = false) => {
    const end = repeat(ms, () => void ran.push(name), isPunctual);
    ends.push(end);
    return end;
  };
  const after = (ms: number) => {
    jest.advanceTimersByTime(ms);
    return ran.splice(0);
  };

  beforeAll(async () => {
    jest.useFakeTimers();
    ({ repeat } = await import('../../lib/redis/rounds.js'));
  });
  afterAll(() => void jest.useRealTimers());
  afterEach(() => {
    for (const end of ends.splice(0)) end();
    expect(jest.getTimerCount()).toBe(0);
    expect(after(10_000)).toEqual([]);
  });

  it('shares one timer if its time is whole seconds', () => {
    start(1000, 'a');
    start(2000, 'b');
    start(1000, 'c');
    expect(jest.getTimerCount()).toBe(1);
    expect(after(1000)).toEqual(['a', 'c']);
    expect(after(1000)).toEqual(['a', 'b', 'c']);
    expect(after(2000)).toEqual(['a', 'c', 'a', 'b', 'c']);
  });

  it('begins with the first round after its time', () => {
    start(1000, 'a');
    after(900);
    start(1000, 'b');
    expect(after(100)).toEqual(['a']);
    expect(after(1000)).toEqual(['a', 'b']);
  });

  it('is not late the first time, if that is asked for, and then goes with the rounds', () => {
    start(1000, 'a');
    after(300);
    start(1000, 'b', true);
    expect(after(700)).toEqual(['a']);
    expect(after(300)).toEqual(['b']);
    expect(after(700)).toEqual(['a', 'b']);
    expect(after(1000)).toEqual(['a', 'b']);
  });

  it('has a timer of its own otherwise', () => {
    start(700, 'a');
    start(1000, 'b');
    expect(jest.getTimerCount()).toBe(2);
    expect(after(1400)).toEqual(['a', 'b', 'a']);
  });

  it('goes on without one that has ended, and begins again after all have', () => {
    const end = start(1000, 'a');
    start(1000, 'b');
    end();
    end();
    expect(after(1000)).toEqual(['b']);
    for (const each of ends) each();
    expect(jest.getTimerCount()).toBe(0);
    start(1000, 'c');
    expect(after(1000)).toEqual(['c']);
  });

  it('does not run once it was ended by another of the same round', () => {
    let endOther: () => void = () => undefined;
    ends.push(repeat(1000, () => endOther()));
    endOther = start(1000, 'other');
    expect(after(1000)).toEqual([]);
  });
});
