import { describe, expect, it } from '@jest/globals';
import { Targets } from '../../../lib/jobd/rows/targets.js';

const job = (id: number) => ({
  ...({ id, target: 'low', owner: 'me', origin: 'waiting', attempts: 0, hasBegun: false } as const),
});

describe('the places of a target', () => {
  it('are so many as its concurrency, for jobs that run and that wait together', () => {
    const targets = new Targets(new Map([['low', { concurrency: 2 }]]));
    targets.enqueue(job(1));
    expect(targets.takeRunnable().map(({ id }) => id)).toEqual([1]);
    expect(targets.roomOf('low')).toBe(1);
    targets.enqueue(job(2));
    expect(targets.roomOf('low')).toBe(0);
    targets.enqueue(job(3));
    expect(targets.takeRunnable().map(({ id }) => id)).toEqual([2]);
    targets.free(job(1));
    expect(targets.takeRunnable().map(({ id }) => id)).toEqual([3]);
  });
});
