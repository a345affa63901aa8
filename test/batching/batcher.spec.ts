import { describe, expect, it } from '@jest/globals';
import { Batcher, type BatcherOptions } from '../../lib/batching/batcher.js';

type Send = BatcherOptions<string, string>['send'];

/** Calls that are answered when the test says so. */
class Calls {
  readonly sent: (readonly string[])[] = [];
  private readonly ends: ((send?: Send) => void)[] = [];

  readonly send: Send = (items) => {
    this.sent.push(items);
    return new Promise((resolve, reject) => {
      this.ends.push((answer = upper) => answer(items).then(resolve, reject));
    });
  };

  /** Answers the oldest call that has no answer. */
  end(answer?: Send): void {
    this.ends.shift()?.(answer);
  }
}

const upper: Send = async (items) => items.map((item) => item.toUpperCase());
const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('Batcher', () => {
  it('sends items of one tick together, with a result for each', async () => {
    const batcher = new Batcher({ send: upper });
    await expect(Promise.all(['a', 'b', 'c'].map((item) => batcher.add(item)))).resolves.toEqual([
      'A',
      'B',
      'C',
    ]);
  });

  it('collects items while maxUnderWay batches are under way, and sends them when one ends', async () => {
    const calls = new Calls();
    const batcher = new Batcher({ send: calls.send, maxUnderWay: 2 });
    for (const item of ['a', 'b', 'c', 'd']) {
      void batcher.add(item);
      await tick();
    }
    expect(calls.sent).toEqual([['a'], ['b']]);
    calls.end();
    await tick();
    expect(calls.sent).toEqual([['a'], ['b'], ['c', 'd']]);
    expect(batcher.underWay).toBe(2);
  });

  it('puts as many items into a batch as `take` returns, in their order', async () => {
    const calls = new Calls();
    const take = (waiting: readonly string[]) => Math.min(2, waiting.length);
    const batcher = new Batcher({ send: calls.send, take, maxUnderWay: Infinity });
    for (const item of ['a', 'b', 'c']) void batcher.add(item);
    await tick();
    expect(calls.sent).toEqual([['a', 'b'], ['c']]);
  });

  it('sends items without a result again, before those that came later', async () => {
    const calls = new Calls();
    const batcher = new Batcher({ send: calls.send });
    const results = ['a', 'b'].map((item) => batcher.add(item));
    await tick();
    results.push(batcher.add('c'));
    calls.end((items) => upper(items.slice(0, 1)));
    await tick();
    expect(calls.sent).toEqual([
      ['a', 'b'],
      ['b', 'c'],
    ]);
    calls.end();
    await expect(Promise.all(results)).resolves.toEqual(['A', 'B', 'C']);
  });

  it('rejects each item of a batch that fails, and continues with the next', async () => {
    const calls = new Calls();
    const batcher = new Batcher({ send: calls.send });
    const lost = ['a', 'b'].map((item) => batcher.add(item));
    await tick();
    const kept = batcher.add('c');
    calls.end(() => Promise.reject(new Error('away')));
    await expect(Promise.allSettled(lost)).resolves.toMatchObject([
      { status: 'rejected', reason: { message: 'away' } },
      { status: 'rejected', reason: { message: 'away' } },
    ]);
    await tick();
    calls.end();
    await expect(kept).resolves.toBe('C');
  });

  it('accepts a pending result, and one that fails alone', async () => {
    const send: Send = async () => [Promise.resolve('A'), Promise.reject(new Error('only b'))];
    const batcher = new Batcher({ send });
    const [one, other] = ['a', 'b'].map((item) => batcher.add(item));
    await expect(one).resolves.toBe('A');
    await expect(other).rejects.toThrow('only b');
  });

  it('asks for each batch how many may be under way', async () => {
    const calls = new Calls();
    let most = 1;
    const batcher = new Batcher({ send: calls.send, maxUnderWay: () => most });
    void batcher.add('a');
    await tick();
    void batcher.add('b');
    await tick();
    expect(calls.sent).toEqual([['a']]);
    most = 2;
    batcher.flush();
    expect(calls.sent).toEqual([['a'], ['b']]);
  });

  it('is settled when nothing waits or is under way', async () => {
    const calls = new Calls();
    const batcher = new Batcher({ send: calls.send });
    let isSettled = false;
    void batcher.add('a');
    const settled = batcher.settled().then(() => (isSettled = true));
    expect(calls.sent).toEqual([['a']]);
    void batcher.add('b');
    calls.end();
    await tick();
    expect([calls.sent.length, isSettled]).toEqual([2, false]);
    calls.end();
    await expect(settled).resolves.toBe(true);
  });
});
