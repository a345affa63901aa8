import { describe, expect, it } from '@jest/globals';
import { allOf, inParts, MAX_BATCH } from '../../lib/gearmonkey/core/client/enqueue-call.js';
import type { EnqueuedKey } from '../../lib/gearmonkey/core/client/job-store.js';
import { EnqueueTimeoutError, NotDurableError, PartlyEnqueuedError } from '../../lib/job/server-errors.js';
import { gate, type Gate } from '../support/gate.js';
import { eventually } from '../support/until.js';

const LANES = 4;
const PARTS = 10;
const inputs = Array.from({ length: PARTS * MAX_BATCH }, (_, i) => `${i}`);

/** Calls that a test answers, in the order in which they began. */
class Calls {
  readonly parts: (readonly unknown[])[] = [];
  private readonly answers: Gate<EnqueuedKey[] | Error>[] = [];

  readonly enqueue = async (part: readonly unknown[]): Promise<EnqueuedKey[]> => {
    this.parts.push(part);
    const answer = gate<EnqueuedKey[] | Error>();
    this.answers.push(answer);
    const keys = await answer.passed;
    if (keys instanceof Error) throw keys;
    return keys;
  };

  /** With the inputs as ids, unless it fails. */
  answer(index: number, error?: Error): void {
    this.answers[index]?.open(
      error ?? (this.parts[index] ?? []).map((input) => ({ id: String(input), created: true })),
    );
  }
}

describe('A bulk of jobs', () => {
  it('has each input in one part, with its index, and the keys in their order', async () => {
    const calls = new Calls();
    const indexes: number[] = [];
    const some = inputs.slice(0, 2 * MAX_BATCH + 7);
    const enqueued = inParts('fn', some, LANES, (part, from) => {
      indexes.push(from);
      return calls.enqueue(part);
    });
    expect(indexes).toEqual([0, MAX_BATCH, 2 * MAX_BATCH]);
    expect(calls.parts.flat()).toEqual(some);
    for (const last of [2, 1, 0]) calls.answer(last);
    expect((await enqueued).map(({ id }) => id)).toEqual(some);
  });

  it('has a limited number of calls under way, and begins the next when one was answered', async () => {
    const calls = new Calls();
    const enqueued = inParts('fn', inputs, LANES, calls.enqueue);
    expect(calls.parts).toHaveLength(LANES);
    for (let answered = 0; answered < PARTS; answered++) {
      await eventually(() => expect(calls.parts).toHaveLength(Math.min(PARTS, LANES + answered)));
      calls.answer(answered);
    }
    expect((await enqueued).map(({ id }) => id)).toEqual(inputs);
  });

  it('begins no more calls after a failure, waits for those under way, and names all created jobs', async () => {
    const calls = new Calls();
    const enqueued = inParts('fn', inputs, LANES, calls.enqueue);
    const outcome = expect(enqueued).rejects.toMatchObject({
      code: 'PARTLY_ENQUEUED',
      ids: [...inputs.slice(0, MAX_BATCH), ...inputs.slice(2 * MAX_BATCH, 5 * MAX_BATCH)],
      cause: expect.any(EnqueueTimeoutError),
      message: expect.stringMatching(/^1000 of 2500 jobs of "fn" were enqueued, then: .* within 5000 ms/),
    });
    calls.answer(0);
    await eventually(() => expect(calls.parts).toHaveLength(LANES + 1));
    calls.answer(1, new EnqueueTimeoutError('fn', 5000));
    for (const underWay of [4, 2, 3]) calls.answer(underWay);
    await outcome;
    expect(calls.parts).toHaveLength(LANES + 1);
  });

  it('fails with the error itself if no job was created', async () => {
    const calls = new Calls();
    const enqueued = inParts('fn', inputs, LANES, calls.enqueue);
    const error = new EnqueueTimeoutError('fn', 5000);
    for (let index = 0; index < LANES; index++) calls.answer(index, error);
    await expect(enqueued).rejects.toBe(error);
  });

  it('that is not durable and only partly enqueued rejects with PartlyEnqueuedError', async () => {
    const calls = new Calls();
    const enqueued = inParts('fn', inputs, LANES, calls.enqueue);
    const notDurable = new NotDurableError('fn', (calls.parts[0] ?? []).map(String), 'no replica has them');
    calls.answer(0, notDurable);
    for (let index = 1; index < LANES; index++) calls.answer(index);
    await expect(enqueued).rejects.toMatchObject({
      code: 'PARTLY_ENQUEUED',
      ids: inputs.slice(0, LANES * MAX_BATCH),
      cause: notDurable,
    });
  });

  it('that is not durable names all enqueued ids', async () => {
    const calls = new Calls();
    const some = inputs.slice(0, (LANES + 1) * MAX_BATCH);
    const enqueued = inParts('fn', some, LANES, calls.enqueue);
    const notDurable = (index: number) =>
      new NotDurableError('fn', (calls.parts[index] ?? []).map(String), 'no replica has them');
    calls.answer(0);
    await eventually(() => expect(calls.parts).toHaveLength(LANES + 1));
    for (let index = 1; index <= LANES; index++) calls.answer(index, notDurable(index));
    await expect(enqueued).rejects.toMatchObject({
      code: 'NOT_DURABLE',
      ids: some,
    });
  });
});

describe('Jobs of several calls', () => {
  const keys = async (...ids: string[]) => ids.map((id) => ({ id, created: id !== 'old' }));
  const late = new EnqueueTimeoutError('fn', 5000);
  const failed = () => Promise.reject(late);

  it('have their keys in the order of the calls', async () => {
    await expect(allOf('fn', [keys('1', '2'), keys('3')], 3)).resolves.toMatchObject([
      { id: '1' },
      { id: '2' },
      { id: '3' },
    ]);
    await expect(allOf('fn', [], 0)).resolves.toEqual([]);
  });

  it('name all that are new if a call fails', async () => {
    const partly = new PartlyEnqueuedError('fn', ['3'], 2, late);
    const calls = [keys('1', 'old'), failed(), Promise.reject(partly), keys('5')];
    await expect(allOf('fn', calls, 6)).rejects.toMatchObject({
      code: 'PARTLY_ENQUEUED',
      ids: ['1', '3', '5'],
      cause: late,
    });
  });

  it('fail with the error itself if no job is new, or all are but not durable', async () => {
    await expect(allOf('fn', [keys('old'), failed()], 2)).rejects.toBe(late);
    await expect(allOf('fn', [failed()], 1)).rejects.toBe(late);
    const notDurable = new NotDurableError('fn', ['2'], 'no replica has them');
    await expect(allOf('fn', [keys('1'), Promise.reject(notDurable)], 2)).rejects.toMatchObject({
      code: 'NOT_DURABLE',
      ids: ['1', '2'],
    });
  });
});
