import { decode, encode } from '@msgpack/msgpack';
import type { Codec } from '../../job/codec.js';
import { toRaw } from './unpack.js';

/** The deepest nesting that is decoded: the library's decoder recurses. */
const MAX_DEPTH = 1000;
const FIRST_WIDE = 2 ** 32;

/**
 * MessagePack as JQ uses it. Integers that a number can't hold exactly are bigints, timestamps are Dates, and integer
 * keys become text.
 */
export const messagePack: Codec = {
  name: 'MessagePack',
  encode: encodeExactly,
  decode: (bytes) => narrow(decode(checked(bytes), { useBigInt64: true, mapKeyConverter: String })),
};

/**
 * For definitions that pass raw bytes: one MessagePack value in a Uint8Array, neither decoded nor encoded. So nothing
 * changes on the way: 1.0 stays a float, and integer keys stay integers.
 */
export const rawMessagePack: Codec = {
  name: 'raw MessagePack',
  encode: (value) => {
    if (value instanceof Uint8Array) return checked(value);
    throw new TypeError('expected a Uint8Array with one MessagePack value');
  },
  decode: (bytes) => bytes,
};

/** @throws MalformedMessageError */
function checked(bytes: Uint8Array): Buffer {
  return toRaw(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), MAX_DEPTH).bytes;
}

/** With bigints enabled the library would write every wide integer number as a float. */
function encodeExactly(value: unknown): Uint8Array {
  try {
    return encode(value, { ignoreUndefined: true });
  } catch (error) {
    const widened = widen(value, new Set());
    if (!widened.found) throw error;
    return encode(widened.value, { ignoreUndefined: true, useBigInt64: true });
  }
}

interface Widened {
  readonly value: unknown;
  /** Whether there are bigints at all. */
  readonly found: boolean;
}

/** A copy in which wide integers are bigints. */
function widen(value: unknown, parents: Set<unknown>): Widened {
  if (typeof value === 'bigint') return { value: inRange(value), found: true };
  if (Number.isSafeInteger(value) && Math.abs(value as number) >= FIRST_WIDE) {
    return { value: BigInt(value as number), found: false };
  }
  if (!isContainer(value) || parents.has(value)) return { value, found: false };
  parents.add(value);
  let found = false;
  const each = (child: unknown) => {
    const widened = widen(child, parents);
    found ||= widened.found;
    return widened.value;
  };
  const copy = Array.isArray(value)
    ? value.map(each)
    : Object.fromEntries(Object.entries(value).map(([key, child]) => [key, each(child)]));
  parents.delete(value);
  return { value: copy, found };
}

/** Beyond this the library would drop bits. */
function inRange(value: bigint): bigint {
  if (value >= -(2n ** 63n) && value < 2n ** 64n) return value;
  throw new RangeError('a bigint is wider than 64 bits');
}

/** The reverse: bigints that fit into a number become numbers. */
function narrow(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(narrow);
  if (!isContainer(value)) return value;
  for (const [key, child] of Object.entries(value)) value[key] = narrow(child);
  return value;
}

function isContainer(value: unknown): value is Record<string, unknown> {
  if (Array.isArray(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
