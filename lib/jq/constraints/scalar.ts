import { decode } from '@msgpack/msgpack';
import type { Raw } from '../message-pack/raw.js';
import { elementsOf, entriesOf } from '../message-pack/unpack.js';

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

/** `undefined` for maps, arrays, bytes, extensions and text that is no UTF-8. */
export function scalarOf(raw: Raw): Scalar | undefined {
  if (raw.isMap || raw.isArray) return undefined;
  const value: unknown = decode(raw.bytes, { useBigInt64: true });
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  const isScalar = value === null || ['string', 'number', 'boolean'].includes(typeof value);
  return isScalar ? (value as Scalar) : undefined;
}
