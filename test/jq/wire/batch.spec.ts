import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import {
  fitting,
  InvalidBatchError,
  MAX_BATCH,
  MAX_BATCH_BYTES,
  packBatch,
  readBatch,
  readVerdicts,
} from '../../../lib/jq/wire/batch.js';

const DEPTH = 4;
const packed = (value: unknown) => Buffer.from(encode(value));
const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('readBatch', () => {
  const read = (value: unknown) => readBatch(packed(value), DEPTH, (fields) => fields.text('id'));

  it.each([0, MAX_BATCH + 1])('refuses %d elements', (length) => {
    expect(() => read(Array.from({ length }, () => ({ id: 'x' })))).toThrow(new InvalidBatchError(length));
  });

  it('refuses what is cut off, and what follows', () => {
    const whole = packed([{ id: 'x' }, { id: [1, { b: 'y' }] }]);
    for (const bytes of [
      ...Array.from(whole, (_, length) => whole.subarray(0, length)),
      Buffer.concat([whole, whole]),
    ]) {
      expect(() => readBatch(bytes, DEPTH, () => 1)).toThrow(
        expect.objectContaining({ code: 'MALFORMED_MESSAGE' }),
      );
    }
  });

  it('reads each by itself: what is wrong with one harms no other', () => {
    const elements = read([{ id: 'x' }, { id: 1 }, 'text', { id: 'x', b: nested(DEPTH) }, {}, { id: 'y' }]);
    expect(elements).toEqual([
      { value: 'x' },
      { error: expect.objectContaining({ code: 'INVALID_FIELD' }) },
      { error: expect.objectContaining({ code: 'MALFORMED_MESSAGE' }) },
      {
        error: expect.objectContaining({
          code: 'MALFORMED_MESSAGE',
          message: expect.stringContaining('levels'),
        }),
      },
      { error: expect.objectContaining({ code: 'INVALID_FIELD' }) },
      { value: 'y' },
    ]);
  });

  it('bounds the depth of each as if it were alone, however deep the others are', () => {
    const bytes = Buffer.concat([
      Buffer.of(0x93),
      packed({ id: 'x', b: nested(DEPTH - 1) }),
      Buffer.alloc(1_000_000, 0x91),
      packed(1),
      packed({ id: 'y' }),
    ]);
    const elements = readBatch(bytes, DEPTH, (fields) => fields.text('id'));
    expect(elements.map((element) => 'value' in element)).toEqual([true, false, true]);
  });
});

describe('fitting', () => {
  const messages = (...sizes: number[]) => sizes.map((size) => ({ body: Buffer.alloc(size) }));

  it.each([
    ['as many as the other side takes', messages(1, 1, 1), 2, 2],
    ['all, when they are few', messages(1, 1, 1), 100, 3],
    ['one, however long it is', messages(2 * MAX_BATCH_BYTES, 1), 100, 1],
    ['what has room in bytes', messages(MAX_BATCH_BYTES / 2, MAX_BATCH_BYTES / 2 - 10, 10), 100, 2],
    ['none of none', messages(), 100, 0],
  ])('takes %s', (_, of, most, count) => {
    expect(fitting(of, most)).toBe(count);
    expect(count < 2 || packBatch(of.slice(0, count).map(({ body }) => body)).length <= MAX_BATCH_BYTES).toBe(
      true,
    );
  });
});

describe('readVerdicts', () => {
  it('reads statuses, and what errors say', () => {
    const verdicts = [{ status: 204 }, { status: 503, code: 'C', message: 'm', retry_after: 2 }];
    expect(readVerdicts(packed(verdicts.map((each) => ({ ...each, more: 1 }))), 2)).toEqual(verdicts);
  });

  it.each([
    ['of another length', [{ status: 204 }]],
    ['that is no array', { status: 204 }],
    ['without a status', [{ status: 204 }, {}]],
    ['with a status that is none', [{ status: 204 }, { status: 2040 }]],
    ['with text for a status', [{ status: 204 }, { status: '204' }]],
    ['with nil among them', [{ status: 204 }, null]],
  ])('takes a reply %s for no verdicts', (_, reply) => {
    expect(readVerdicts(packed(reply), 2)).toBeUndefined();
  });

  it('takes bytes that are no message for no verdicts', () => {
    expect(readVerdicts(Buffer.of(0x92, 0xc1), 2)).toBeUndefined();
    expect(readVerdicts(Buffer.alloc(0), 2)).toBeUndefined();
  });
});
