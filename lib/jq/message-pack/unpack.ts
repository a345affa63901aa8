import { isUtf8 } from 'node:buffer';
import { decode } from '@msgpack/msgpack';
import { Raw } from './raw.js';
import { checkWhole, headAt, skip } from '../../job/message-pack/skip.js';

/**
 * The one value that these bytes are.
 *
 * @throws MalformedMessageError
 */
export function toRaw(bytes: Buffer, maxDepth: number): Raw {
  checkWhole(bytes, maxDepth);
  return new Raw(bytes);
}

/** How many elements an array has, by its head alone. */
export function lengthOf(array: Raw): number {
  return headAt(array.bytes, 0).children;
}

/** The elements of an array whose bytes have passed `toRaw`. */
export function elementsOf(array: Raw): Raw[] {
  const { bytes } = array;
  const head = headAt(bytes, 0);
  const elements: Raw[] = [];
  let offset = head.end;
  for (let i = 0; i < head.children; i++) {
    const end = skip(bytes, offset);
    elements.push(new Raw(bytes.subarray(offset, end)));
    offset = end;
  }
  return elements;
}

/** `undefined` if it is not a `str`, or not well-formed UTF-8. */
export function textOf(raw: Raw): string | undefined {
  if (!raw.isText) return undefined;
  const text = raw.bytes.subarray(textHead(raw.bytes[0] ?? 0));
  return isUtf8(text) ? text.toString('utf8') : undefined;
}

/** How many bytes precede the text, from its first byte; 0 if it is not a `str`. */
export function textHead(first: number): number {
  if (first >= 0xa0 && first <= 0xbf) return 1;
  return first >= 0xd9 && first <= 0xdb ? 1 + 2 ** (first - 0xd9) : 0;
}

/** A number, or a bigint if a number can't hold it exactly; `undefined` if it is not an integer. */
export function integerOf(raw: Raw): number | bigint | undefined {
  if (!raw.isInteger) return undefined;
  const value = decode(raw.bytes, { useBigInt64: true }) as number | bigint;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** `undefined` if it is neither true nor false. */
export function booleanOf(raw: Raw): boolean | undefined {
  const [byte] = raw.bytes;
  return byte === 0xc3 ? true : byte === 0xc2 ? false : undefined;
}
