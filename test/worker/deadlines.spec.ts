import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Deadlines } from '../../lib/worker/deadlines.js';

describe('Deadlines', () => {
  let due: string[];
  let deadlines: Deadlines<string>;

  beforeEach(() => {
    jest.useFakeTimers();
    due = [];
    deadlines = new Deadlines((entry) => due.push(entry));
  });
  afterEach(() => void jest.useRealTimers());

  const inMs = (entry: string, ms: number) => deadlines.set(entry, ms);
  const after = (ms: number) => {
    jest.advanceTimersByTime(ms);
    return due;
  };

  it('call back for each entry in its time, and once', () => {
    inMs('late', 30);
    inMs('soon', 10);
    inMs('later', 20);
    expect(after(9)).toEqual([]);
    expect(after(1)).toEqual(['soon']);
    expect(after(10)).toEqual(['soon', 'later']);
    expect(after(1000)).toEqual(['soon', 'later', 'late']);
  });

  it('call back for one whose time had come before', () => {
    inMs('past', -5);
    expect(after(1)).toEqual(['past']);
  });

  it('wait for a time that is further away than a timer reaches', () => {
    const month = 31 * 24 * 3_600_000;
    const timers = jest.spyOn(globalThis, 'setTimeout');
    inMs('next month', month);
    expect(after(1000)).toEqual([]);
    expect(timers).toHaveBeenCalledTimes(1);
    expect(after(month)).toEqual(['next month']);
    timers.mockRestore();
  });

  it('forget what is deleted, and keep the others', () => {
    inMs('gone', 10);
    inMs('kept', 20);
    deadlines.delete('gone');
    deadlines.delete('unknown');
    expect(after(1000)).toEqual(['kept']);
  });

  it('take an entry anew', () => {
    inMs('moved', 10);
    inMs('moved', 50);
    expect(after(49)).toEqual([]);
    expect(after(1)).toEqual(['moved']);
  });

  it('may be set and deleted from within the callback', () => {
    const seen: string[] = [];
    const own: Deadlines<string> = new Deadlines((entry) => {
      seen.push(entry);
      if (entry === 'first') own.set('second', 5);
      own.delete('other');
    });
    own.set('first', 10);
    own.set('other', 12);
    jest.advanceTimersByTime(1000);
    expect(seen).toEqual(['first', 'second']);
  });

  it('use one timer, and none when they are cleared', () => {
    for (let ms = 1; ms <= 100; ms++) inMs(`${ms}`, ms);
    expect(jest.getTimerCount()).toBe(1);
    deadlines.clear();
    expect(jest.getTimerCount()).toBe(0);
    expect(after(1000)).toEqual([]);
    inMs('again', 10);
    expect(after(10)).toEqual(['again']);
  });
});
