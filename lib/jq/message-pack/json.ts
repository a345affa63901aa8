import { isUtf8 } from 'node:buffer';
import { decode, encode, ExtData } from '@msgpack/msgpack';
import { MalformedMessageError } from '../../job/message-pack/message-pack-errors.js';
import { headAt } from '../../job/message-pack/skip.js';
import type { Packable } from './pack.js';
import { Raw } from './raw.js';

/** Keys, objects and arrays of one JSON: more would keep all requests waiting while it is converted. */
const MAX_PARTS = 50_000;

/**
 * JSON as MessagePack. Numbers become what JavaScript makes of them.
 *
 * @throws MalformedMessageError
 */
export function fromJson(bytes: Buffer, maxDepth: number): Raw {
  if (!isUtf8(bytes)) throw new MalformedMessageError('its JSON is not UTF-8');
  checkSize(bytes, maxDepth);
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return new Raw(Buffer.from(encode(value, { maxDepth: maxDepth + 1 })));
  } catch {
    throw new MalformedMessageError('it is not JSON');
  }
}

/**
 * For people and browsers. Values that JSON can't express become text: integers over 2^53, timestamps (ISO 8601), bytes
 * (base64). NaN and the infinities become null. A value with more than 50,000 keys, objects and arrays becomes its base64.
 */
export function toJson(value: Packable): string {
  return JSON.stringify(toPlain(value));
}

const QUOTE = '"'.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
/** `[` and `{`, `]` and `}` differ in this bit alone. */
const CURLY = 0x20;
const OPENING = '{'.charCodeAt(0);
const CLOSING = '}'.charCodeAt(0);
const COLON = ':'.charCodeAt(0);

/** Before parsing: brackets and colons outside of strings. */
function checkSize(json: Buffer, maxDepth: number): void {
  let depth = 0;
  let parts = 0;
  let quoted = false;
  for (let i = 0; i < json.length; i++) {
    const byte = json[i] ?? 0;
    if (byte === QUOTE) quoted = !quoted;
    else if (quoted) i += byte === BACKSLASH ? 1 : 0;
    else if (byte === COLON) parts += 1;
    else if ((byte | CURLY) === OPENING) {
      depth += 1;
      parts += 1;
    } else if ((byte | CURLY) === CLOSING) depth -= 1;
    if (depth > maxDepth)
      throw new MalformedMessageError(`it is nested more than ${maxDepth} levels deep`, i);
    if (parts > MAX_PARTS) {
      const what = `its JSON has more than ${MAX_PARTS} keys, objects and arrays: send MessagePack`;
      throw new MalformedMessageError(what, i);
    }
  }
}

/** The same for MessagePack that was checked already. */
function isSmall({ bytes }: Raw): boolean {
  let parts = 0;
  for (let offset = 0; offset < bytes.length && parts <= MAX_PARTS;) {
    const { end, children } = headAt(bytes, offset);
    const isArray = children >= 0 && new Raw(bytes.subarray(offset, end)).isArray;
    if (children >= 0) parts += 1 + (isArray ? 0 : children / 2);
    offset = end;
  }
  return parts <= MAX_PARTS;
}

function toPlain(value: Packable): unknown {
  if (value instanceof Raw) return decoded(value);
  if (Array.isArray(value)) return value.map((element: Packable) => toPlain(element));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key, entry === undefined ? undefined : toPlain(entry)]),
  );
}

/** Stored bytes were checked when they arrived, but may hold values that only other languages can read. */
function decoded(raw: Raw): unknown {
  try {
    if (!isSmall(raw)) return inBase64(raw);
    return speakable(decode(raw.bytes, { useBigInt64: true, mapKeyConverter: String }));
  } catch {
    return inBase64(raw);
  }
}

function inBase64({ bytes }: Raw): { readonly base64: string } {
  return { base64: bytes.toString('base64') };
}

function speakable(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof ExtData) return { type: value.type, data: speakable(value.data) };
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value)) return value.map(speakable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, speakable(entry)]));
}
