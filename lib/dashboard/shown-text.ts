import { isUtf8 } from 'node:buffer';
import { types } from 'node:util';

/** Text, and how it stands for bytes. */
export interface TextOfBytes {
  readonly text: string;
  readonly encoding: 'utf8' | 'base64';
}

/** At most `most` bytes as text, cut between characters. */
export function shownText(bytes: Buffer, most = Infinity): TextOfBytes {
  if (!isUtf8(bytes))
    return { text: bytes.subarray(0, (most / 4) * 3).toString('base64'), encoding: 'base64' };
  let end = Math.min(most, bytes.length);
  while (end < bytes.length && end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.subarray(0, end).toString('utf8'), encoding: 'utf8' };
}

/** The beginning of something, without what the cut left of its last character. */
export function withoutHalf(bytes: Buffer): Buffer {
  const LONGEST = 4;
  for (let back = 1; back <= Math.min(LONGEST, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    // A byte that continues a character.
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : LONGEST;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

/** A value in what JSON can hold: bytes as text, or as `unreadable` has those that are none. */
export function plainValue(value: unknown, unreadable: (bytes: Buffer) => string): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  if (types.isUint8Array(value) || types.isAnyArrayBuffer(value)) {
    const bytes = Buffer.from(value as Uint8Array);
    return isUtf8(bytes) ? bytes.toString() : unreadable(bytes);
  }
  const plain = (one: unknown) => plainValue(one, unreadable);
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}
