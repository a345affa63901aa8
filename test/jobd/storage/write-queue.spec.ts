import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { WriteQueue } from '../../../lib/jobd/storage/row-writer.js';
import { gate } from '../../support/gate.js';

describe('WriteQueue', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** A queue that writes one item at a time, and what it has begun to write. */
  function queue(write: (item: string) => Promise<void>) {
    const begun: string[] = [];
    const writes = ([item = '']: readonly string[]) => {
      begun.push(item);
      return write(item);
    };
    return { begun, queue: new WriteQueue<string>(writes, 1, (callback) => callback()) };
  }

  it('writes a second batch beside one that is slow, and then one at a time again', async () => {
    const gates = new Map(['slow', 'second', 'third', 'fourth'].map((item) => [item, gate()]));
    const { begun, queue: writing } = queue((item) => gates.get(item)?.passed ?? Promise.resolve());
    for (const item of gates.keys()) writing.add(item);
    expect(begun).toEqual(['slow']);
    await jest.advanceTimersByTimeAsync(250);
    expect(begun).toEqual(['slow', 'second']);
    gates.get('slow')?.open();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(['slow', 'second']);
    gates.get('second')?.open();
    await jest.advanceTimersByTimeAsync(0);
    expect(begun).toEqual(['slow', 'second', 'third']);
  });
});
