import { beforeEach, describe, expect, it } from '@jest/globals';
import { Outbox } from '../../lib/gearmonkey/core/source/outbox.js';
import type { Claim, Outcome } from '../../lib/job/job-source.js';

/** Most outcomes, and characters, of a call. */
const [MOST, MEGABYTE] = [500, 1024 * 1024];

function outcome(id: number, output = ''): Outcome {
  const claim = { fn: 'fn', id: `${id}`, token: 1, input: new Uint8Array() };
  return { claim: { ...claim, attempts: 1, stalls: 0, options: {} }, status: 'success', output };
}
const outcomes = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => outcome(from + index));

describe('Outbox', () => {
  let outbox: Outbox;
  beforeEach(() => void (outbox = new Outbox('replies:')));

  /** The ids of the next batch. */
  function take(count = Infinity) {
    const batch = outbox.take(count);
    return { batch, ids: batch.map(({ claim }) => Number(claim.id)) };
  }

  it('gives out as many outcomes as are asked for, in their order, and as fit into a call', () => {
    void outbox.add(outcomes(MOST + 5));
    expect(take(3).ids).toEqual([0, 1, 2]);
    expect(take().ids).toHaveLength(MOST);
    expect([outbox.size, take(0).ids, take().ids]).toEqual([2, [], [503, 504]]);
  });

  it('gives out no more than a line takes in time, but one at least', () => {
    const half = 'x'.repeat(MEGABYTE / 2);
    void outbox.add([outcome(1, half), outcome(2, half), outcome(3, half + half + half), outcome(4)]);
    expect([take().ids, take().ids, take().ids, take().ids]).toEqual([[1], [2], [3], [4]]);
  });

  it('resolves with what was refused when all outcomes that came together are answered', async () => {
    const added = outcomes(4);
    const settled = outbox.add(added);
    const others = outbox.add(outcomes(1, 10));
    let isSettled = false;
    void settled.then(() => (isSettled = true));
    outbox.answered(take(3).batch, ['1:1', '10:1', '3:2']);
    await Promise.resolve();
    expect(isSettled).toBe(false);
    outbox.answered(take().batch, []);
    await expect(settled).resolves.toEqual([added[1]?.claim]);
    await expect(others).resolves.toEqual([]);
  });

  it('gives out a batch again that failed, in smaller parts, which grow as they are answered', () => {
    void outbox.add(outcomes(8));
    outbox.putBack(take().batch);
    const first = take();
    expect(first.ids).toEqual([0, 1, 2, 3]);
    outbox.putBack(first.batch);
    const second = take();
    expect(second.ids).toEqual([0, 1]);
    outbox.answered(second.batch, []);
    expect(take().ids).toEqual([2, 3, 4, 5]);
    outbox.putBack([]);
    expect(outbox.size).toBe(2);
  });

  it('puts an outcome that failed alone behind the others', () => {
    void outbox.add(outcomes(3));
    outbox.putBack(take(1).batch);
    expect([take().ids, take().ids, take().ids]).toEqual([[1], [2], [0]]);
  });

  it('rejects what is given up', async () => {
    const settled = outbox.add(outcomes(2)).catch((error: unknown) => error);
    const error = new Error('closed');
    outbox.reject(take().batch, error);
    await expect(settled).resolves.toBe(error);
  });

  it('has an error for an output that can not be sent, which holds up no other', () => {
    const claim: Claim = outcome(1).claim;
    void outbox.add([{ claim, status: 'success', output: 7 as unknown as string }, outcome(2)]);
    expect(outbox.take(2).map(({ encoded }) => encoded.slice(0, 2))).toEqual([
      ['1:1', 'error'],
      ['2:1', 'success'],
    ]);
  });
});
