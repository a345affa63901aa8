import { decode } from '@msgpack/msgpack';
import type { Raw } from '../message-pack/raw.js';
import { booleanOf, integerOf, textOf } from '../message-pack/unpack.js';

/** Values that conditions can compare. Bigints are integers that a number can't hold exactly. */
export type Scalar = string | number | bigint | boolean | null;

const FLOATS = new Set([0xca, 0xcb]);

/** `undefined` for maps, arrays, bytes, extensions and text that is not UTF-8. */
export function scalarOf(raw: Raw): Scalar | undefined {
  if (raw.isText) return textOf(raw);
  if (raw.isNil) return null;
  if (FLOATS.has(raw.bytes[0] ?? 0)) return decode(raw.bytes) as number;
  return booleanOf(raw) ?? integerOf(raw);
}
