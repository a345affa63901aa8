import { decode } from '@msgpack/msgpack';
import type { Raw } from '../message-pack/raw.js';
import { booleanOf, elementsOf, entriesOf, integerOf, textOf } from '../message-pack/unpack.js';

/** What conditions compare. Bigints are integers that a number would not hold exactly. */
export type Scalar = string | number | bigint | boolean | null;

/** The value at a path of map keys and array indices; `undefined` where there is none. */
export function valueAt(value: Raw, path: readonly string[]): Raw | undefined {
  let current: Raw | undefined = value;
  for (const step of path) {
    if (current?.isMap) current = entriesOf(current).get(step);
    else if (current?.isArray) current = elementsOf(current)[indexOf(step)];
    else return undefined;
  }
  return current;
}

function indexOf(step: string): number {
  return /^\d{1,9}$/.test(step) ? Number(step) : -1;
}

const FLOATS = new Set([0xca, 0xcb]);

/** `undefined` for maps, arrays, bytes, extensions and text that is no UTF-8: whatever is in them is not looked at. */
export function scalarOf(raw: Raw): Scalar | undefined {
  if (raw.isText) return textOf(raw);
  if (raw.isNil) return null;
  if (FLOATS.has(raw.bytes[0] ?? 0)) return decode(raw.bytes) as number;
  return booleanOf(raw) ?? integerOf(raw);
}
