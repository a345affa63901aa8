import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Deadlines } from '../../lib/worker/running-executions.js';

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

  it('call back once for each entry when it is due', () => {
    inMs('late', 30);
    inMs('soon', 10);
    inMs('later', 20);
    expect(after(9)).toEqual([]);
    expect(after(1)).toEqual(['soon']);
    expect(after(10)).toEqual(['soon', 'later']);
    expect(after(1000)).toEqual(['soon', 'later', 'late']);
  });

  it('call back for an entry whose time has passed already', () => {
    inMs('past', -5);
    expect(after(1)).toEqual(['past']);
  });

  it('wait longer than the longest timer of Node', () => {
    const month = 31 * 24 * 3_600_000;
    const timers = jest.spyOn(globalThis, 'setTimeout');
    inMs('next month', month);
    expect(after(1000)).toEqual([]);
    expect(timers).toHaveBeenCalledTimes(1);
    expect(after(month)).toEqual(['next month']);
    timers.mockRestore();
  });

  it('forget a deleted entry and keep the others', () => {
    inMs('gone', 10);
    inMs('kept', 20);
    deadlines.delete('gone');
    deadlines.delete('unknown');
    expect(after(1000)).toEqual(['kept']);
  });

  it('accept an entry again', () => {
    inMs('moved', 10);
    inMs('moved', 50);
    expect(after(49)).toEqual([]);
    expect(after(1)).toEqual(['moved']);
  });

  it('can be set and deleted in the callback', () => {
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
