import { defined } from '../../job/defined.js';
import { GearMonkeyError } from '../../job/errors.js';
import { MalformedMessageError } from '../../job/message-pack/message-pack-errors.js';
import { pack } from '../message-pack/pack.js';
import { Raw } from '../message-pack/raw.js';
import { endOf, headAt, skip } from '../../job/message-pack/skip.js';
import { elementsOf, lengthOf, textOf, toRaw } from '../message-pack/unpack.js';
import { Fields } from './fields.js';

/** The most messages in one request. */
export const MAX_BATCH = 100;
/** Their limit in bytes; a longer message goes alone. A peer with a shorter limit takes no batches. */
export const MAX_BATCH_BYTES = 256 * 1024;

/** The most bytes of our arrays' heads. */
const MAX_HEAD_BYTES = 5;
const VERDICT_DEPTH = 8;

/** A batch that is empty or too long. Nothing was written. */
export class InvalidBatchError extends GearMonkeyError {
  readonly code = 'INVALID_BATCH';

  constructor(readonly length: number) {
    super(
      `Expected a batch to have 1 to ${MAX_BATCH} elements, got ${length}. Send more in further requests.`,
    );
  }
}

/** One message of a batch, or what was wrong with it. */
export type Element<T> = { readonly value: T } | { readonly error: unknown };

/**
 * Each element of an array, decoded by `read`. An element that can't be read is a separate error.
 *
 * @param maxDepth how deep each may be
 * @throws MalformedMessageError when the bytes are not one array, or InvalidBatchError
 */
export function readBatch<T>(
  bytes: Buffer,
  maxDepth: number,
  read: (fields: Fields) => T,
): readonly Element<T>[] {
  const { end, children } = headAt(bytes, 0);
  const elements: Element<T>[] = [];
  const length = batchLength(children);
  let offset = end;
  for (let i = 0; i < length; i++) {
    const [element, next] = elementAt(bytes, offset, maxDepth, read);
    elements.push(element);
    offset = next;
  }
  if (offset === bytes.length) return elements;
  throw new MalformedMessageError(`${bytes.length - offset} bytes follow its value`, offset);
}

function batchLength(children: number): number {
  if (children >= 1 && children <= MAX_BATCH) return children;
  throw new InvalidBatchError(children);
}

function elementAt<T>(
  bytes: Buffer,
  start: number,
  maxDepth: number,
  read: (fields: Fields) => T,
): readonly [Element<T>, next: number] {
  try {
    const next = endOf(bytes, start, maxDepth);
    return [valueOf(() => read(Fields.of(new Raw(bytes.subarray(start, next))))), next];
  } catch (error) {
    // Too much depth affects only this element; after malformed bytes nothing can be read.
    return [{ error }, skip(bytes, start)];
  }
}

function valueOf<T>(read: () => T): Element<T> {
  try {
    return { value: read() };
  } catch (error) {
    return { error };
  }
}

/** Joins packed messages into one array. */
export function packBatch(messages: readonly Buffer[]): Buffer {
  return pack(messages.map((bytes) => new Raw(bytes)));
}

/** How many of these messages, from the first, fit into one request: at least one. */
export function fitting(messages: readonly { readonly body: Buffer }[], most: number): number {
  let bytes = MAX_HEAD_BYTES;
  let count = 0;
  for (const { body } of messages) {
    bytes += body.length;
    if (count > 0 && (count >= most || bytes > MAX_BATCH_BYTES)) break;
    count += 1;
  }
  return count;
}

/** The answer to one message of a batch: its status, and an error's fields. */
export type Verdict = {
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
  /** Seconds, with 429 and 503. */
  readonly retry_after?: number;
};

/** The verdicts on `count` messages; `undefined` if the reply is anything else. */
export function readVerdicts(body: Buffer, count: number): readonly Verdict[] | undefined {
  try {
    const array = toRaw(body, VERDICT_DEPTH);
    return array.isArray && lengthOf(array) === count ? elementsOf(array).map(readVerdict) : undefined;
  } catch {
    return undefined;
  }
}

/** @throws InvalidFieldError, MalformedMessageError */
function readVerdict(raw: Raw): Verdict {
  const fields = Fields.of(raw);
  const word = (name: 'code' | 'message') => {
    const value = fields.raw(name);
    return value && textOf(value);
  };
  return defined({
    status: fields.integer('status', { min: 100, max: 599 }),
    code: word('code'),
    message: word('message'),
    retry_after: fields.has('retry_after')
      ? fields.integer('retry_after', { min: 0, max: 86_400 })
      : undefined,
  });
}
