import { encode } from '@msgpack/msgpack';
import { Raw } from './raw.js';

/** Values of replies and pushes. An `undefined` entry is left out. */
export type Packable =
  | null
  | boolean
  | number
  | string
  | Raw
  | readonly Packable[]
  | { readonly [key: string]: Packable | undefined };

/** Encodes to MessagePack; raw values are copied as they are. */
export function pack(value: Packable): Buffer {
  const parts: Uint8Array[] = [];
  append(parts, value);
  return Buffer.concat(parts);
}

function append(parts: Uint8Array[], value: Packable): void {
  if (value instanceof Raw) {
    parts.push(value.bytes);
  } else if (isList(value)) {
    parts.push(head(0x90, 0xdc, value.length));
    for (const element of value) append(parts, element);
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(
      (entry): entry is [string, Packable] => entry[1] !== undefined,
    );
    parts.push(head(0x80, 0xde, entries.length));
    for (const [key, entry] of entries) {
      parts.push(text(key));
      append(parts, entry);
    }
  } else {
    parts.push(typeof value === 'string' ? text(value) : isSmall(value) ? Buffer.of(value) : encode(value));
  }
}

/** Numbers that are their own encoding. */
function isSmall(value: Packable): value is number {
  return typeof value === 'number' && value >= 0 && value < 128 && Number.isInteger(value);
}

function isList(value: Packable): value is readonly Packable[] {
  return Array.isArray(value);
}

function head(fixed: number, long: number, length: number): Buffer {
  if (length < 16) return Buffer.of(fixed + length);
  if (length < 0x1_0000) return Buffer.of(long, length >> 8, length & 0xff);
  const bytes = Buffer.alloc(5, long + 1);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

const SHORT_TEXT = 32;

/** The library's encoder is slow for the short texts that most replies consist of. */
function text(value: string): Uint8Array {
  const length = value.length < SHORT_TEXT ? Buffer.byteLength(value) : SHORT_TEXT;
  if (length >= SHORT_TEXT) return encode(value);
  const bytes = Buffer.allocUnsafe(1 + length);
  bytes[0] = 0xa0 + length;
  bytes.write(value, 1, 'utf8');
  return bytes;
}
