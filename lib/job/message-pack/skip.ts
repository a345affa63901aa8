import { MalformedMessageError } from './message-pack-errors.js';

/** The first byte of each kind of value. */
const NEVER_USED = 0xc1;
const FIXED_MAP = 0x80;
const FIXED_ARRAY = 0x90;
const FIXED_STRING = 0xa0;
const FIRST_LONG = 0xc0;
const FIRST_NEGATIVE = 0xe0;

/**
 * How many bytes follow the first byte of a value, for 0xc0 to 0xdf. For kinds with a length, it is the width of the
 * length field; extensions have a type byte after it.
 */
const FIXED_SIZES: ReadonlyMap<number, number> = new Map([
  ...[0xc0, 0xc2, 0xc3].map((byte) => [byte, 0] as const),
  ...[0xca, 0xcb].map((byte, power) => [byte, 4 * 2 ** power] as const),
  ...[0xcc, 0xcd, 0xce, 0xcf].map((byte, power) => [byte, 2 ** power] as const),
  ...[0xd0, 0xd1, 0xd2, 0xd3].map((byte, power) => [byte, 2 ** power] as const),
  ...[0xd4, 0xd5, 0xd6, 0xd7, 0xd8].map((byte, power) => [byte, 1 + 2 ** power] as const),
]);
const EXTENSION = 1;
const LENGTHS: ReadonlyMap<number, readonly [width: 1 | 2 | 4, more: number]> = new Map([
  [0xc4, [1, 0]],
  [0xc5, [2, 0]],
  [0xc6, [4, 0]],
  [0xc7, [1, EXTENSION]],
  [0xc8, [2, EXTENSION]],
  [0xc9, [4, EXTENSION]],
  [0xd9, [1, 0]],
  [0xda, [2, 0]],
  [0xdb, [4, 0]],
]);
const COUNTS: ReadonlyMap<number, readonly [width: 2 | 4, values: 1 | 2]> = new Map([
  [0xdc, [2, 1]],
  [0xdd, [4, 1]],
  [0xde, [2, 2]],
  [0xdf, [4, 2]],
]);

/** The head of a value. `children` is -1 unless it is an array or map. */
export interface Head {
  /** Offset after the head: its first child, or the next value. */
  readonly end: number;
  readonly children: number;
}

/**
 * Checks that these bytes are exactly one value. It runs before a decoder that trusts the lengths in them and would
 * allocate room for millions of elements that do not exist.
 *
 * @throws MalformedMessageError
 */
export function checkWhole(bytes: Buffer, maxDepth: number): void {
  const end = endOf(bytes, 0, maxDepth);
  if (end !== bytes.length)
    throw new MalformedMessageError(`${bytes.length - end} bytes follow its value`, end);
}

/**
 * Finds the end of the value at `start`, without decoding it and without recursion.
 *
 * @throws MalformedMessageError when it is cut off, not MessagePack, or has more than `maxDepth` levels
 */
export function endOf(bytes: Buffer, start: number, maxDepth: number): number {
  /** How many values are still missing at each open level; the first entry is the value itself. */
  const wanted = [1];
  let offset = start;
  for (let left = wanted.pop(); left !== undefined; left = wanted.pop()) {
    if (left === 0) continue;
    wanted.push(left - 1);
    const { end, children } = headAt(bytes, offset);
    if (children >= 0 && wanted.length > maxDepth) {
      throw new MalformedMessageError(`it is nested more than ${maxDepth} levels deep`, offset);
    }
    if (children > 0) wanted.push(children);
    offset = end;
  }
  return offset;
}

/**
 * The same without a limit of depth, for a value that was checked already. It uses no memory.
 *
 * @throws MalformedMessageError when it is cut off, or not MessagePack
 */
export function skip(bytes: Buffer, start: number): number {
  let offset = start;
  for (let left = 1; left > 0; left--) {
    const { end, children } = headAt(bytes, offset);
    if (children > 0) left += children;
    offset = end;
  }
  return offset;
}

/** @throws MalformedMessageError */
export function headAt(bytes: Buffer, offset: number): Head {
  const byte = bytes[offset];
  if (byte === undefined) throw cutOff(offset);
  if (byte < FIXED_MAP || byte >= FIRST_NEGATIVE) return { end: offset + 1, children: -1 };
  if (byte < FIXED_ARRAY) return container(bytes, offset + 1, (byte & 0x0f) * 2);
  if (byte < FIXED_STRING) return container(bytes, offset + 1, byte & 0x0f);
  if (byte < FIRST_LONG) return leaf(bytes, offset + 1 + (byte & 0x1f));
  if (byte === NEVER_USED) throw new MalformedMessageError('the byte c1 begins no value', offset);
  return longHead(bytes, offset, byte);
}

function longHead(bytes: Buffer, offset: number, byte: number): Head {
  const size = FIXED_SIZES.get(byte);
  if (size !== undefined) return leaf(bytes, offset + 1 + size);
  const length = LENGTHS.get(byte);
  if (length) {
    const [width, more] = length;
    return leaf(bytes, offset + 1 + width + more + unsigned(bytes, offset + 1, width));
  }
  const [width, values] = COUNTS.get(byte) ?? [4, 1];
  return container(bytes, offset + 1 + width, unsigned(bytes, offset + 1, width) * values);
}

function leaf(bytes: Buffer, end: number): Head {
  if (end > bytes.length) throw cutOff(bytes.length);
  return { end, children: -1 };
}

/** Each child takes at least one byte, so a count larger than the rest of the bytes is wrong. */
function container(bytes: Buffer, end: number, children: number): Head {
  if (end + children > bytes.length) throw cutOff(bytes.length);
  return { end, children };
}

function unsigned(bytes: Buffer, offset: number, width: 1 | 2 | 4): number {
  if (offset + width > bytes.length) throw cutOff(bytes.length);
  return bytes.readUIntBE(offset, width);
}

function cutOff(offset: number): MalformedMessageError {
  return new MalformedMessageError('it is cut off', offset);
}
