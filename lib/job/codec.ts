import { isUtf8 } from 'node:buffer';
import { isPromise, isUint8Array, isMap, isSet, isWeakMap, isWeakSet } from 'node:util/types';
import { decode, encode, ExtensionCodec } from '@msgpack/msgpack';
import {
  InvalidOptionError,
  NotSerializableError,
  UnreadablePayloadError,
  messageOf,
  type PayloadPart,
} from './errors.js';
import { describe } from './error-info.js';
import { checkWhole } from './message-pack/skip.js';

/** What a codec writes: text goes over the wire as UTF-8. */
export type Payload = string | Uint8Array;

/** Default limit of an input or output. */
export const DEFAULT_MAX_PAYLOAD_BYTES = 1024 * 1024;

/**
 * Converts values to payloads and back. Both methods are synchronous: a Promise is refused. Both may throw any error,
 * which fails the job or the call that enqueues.
 * Bytes that `encode` returned must not be changed afterwards: they may be sent later.
 */
export interface Codec {
  readonly name: string;
  encode(value: unknown): Payload;
  decode(bytes: Uint8Array): unknown;
}

/** Deepest nesting that is decoded. */
const MAX_DEPTH = 1000;

/** The built-in codecs. */
export type CodecName = 'json' | 'text' | 'msgpack';

const CODECS: ReadonlyMap<string, Codec> = new Map<CodecName, Codec>([
  ['json', { name: 'json', encode: encodeJson, decode: decodeJson }],
  ['text', { name: 'text', encode: encodeText, decode: decodeText }],
  ['msgpack', { name: 'msgpack', encode: encodeMessagePack, decode: decodeMessagePack }],
]);

/** Looks up a codec by name; a `Codec` is returned as it is. @throws InvalidOptionError for anything else */
export function codecOf(codec: CodecName | Codec = 'json'): Codec {
  const found = typeof codec === 'string' ? CODECS.get(codec) : codec;
  if (typeof found?.encode !== 'function' || typeof found.decode !== 'function')
    throw new InvalidOptionError('codec', codec, "'json', 'text', 'msgpack' or a Codec");
  return found;
}

/** @throws NotSerializableError */
export function write(codec: Codec, fn: string, what: PayloadPart, value: unknown): Payload {
  try {
    return checkPayload(codec.encode(value));
  } catch (error) {
    throw new NotSerializableError(fn, what, codec.name, error);
  }
}

/** A user's codec may return anything, for example a Promise, which JavaScript doesn't prevent. @throws TypeError */
export function checkPayload(payload: unknown): Payload {
  if (typeof payload === 'string' || isUint8Array(payload)) return payload;
  if (isPromise(payload)) payload.catch(() => undefined);
  throw new TypeError(`the codec returned ${describe(payload)} where a string or a Uint8Array is expected`);
}

/** @throws UnreadablePayloadError */
export function read(codec: Codec, fn: string, what: PayloadPart, bytes: Uint8Array): unknown {
  try {
    const value = codec.decode(bytes);
    if (isPromise(value)) {
      value.catch(() => undefined);
      throw new TypeError('the codec returned a Promise');
    }
    return value;
  } catch (error) {
    throw new UnreadablePayloadError(fn, what, codec.name, messageOf(error));
  }
}

/** The bytes that a reader of the payload gets. */
export function bytesOf(payload: Payload): Uint8Array {
  return typeof payload === 'string' ? Buffer.from(payload) : payload;
}

export function payloadBytes(payload: Payload): number {
  return typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
}

/** `undefined` and numbers that are not finite are written as null, and properties that are undefined left out: JSON has neither. */
function encodeJson(value: unknown): string {
  if (typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError(`a ${typeof value} has no JSON form`);
  const json = JSON.stringify(value) ?? 'null';
  refuseLost(value, json);
  return json;
}

/** It asks for the extension of each object, so no object is looked at twice. */
class RefusingLost extends ExtensionCodec {
  override tryToEncode(object: unknown, context: undefined): ReturnType<ExtensionCodec['tryToEncode']> {
    if (isLost(object)) throw new LostValueError();
    return super.tryToEncode(object, context);
  }
}

class LostValueError extends TypeError {
  constructor() {
    super('it has a Map, a Set, a Promise or a function');
  }
}

const EXTENSIONS = new RefusingLost();

function encodeMessagePack(value: unknown): Uint8Array {
  try {
    return encode(value, { extensionCodec: EXTENSIONS });
  } catch (error) {
    if (error instanceof LostValueError) refuseLostSomewhere(value);
    throw error;
  }
}

/** Plain clients may send text that isn't JSON: it is read as a string. */
function decodeJson(bytes: Uint8Array): unknown {
  const text = decodeText(bytes);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function encodeText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`expected a string, got ${typeof value}`);
  if (!value.isWellFormed()) throw new TypeError('it has half a surrogate pair, which UTF-8 cannot encode');
  return value;
}

function decodeText(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new TypeError('it is not UTF-8');
  return asBuffer(bytes).toString('utf8');
}

/** Plain clients may send any bytes, and a few bytes can announce enough values to exhaust the memory. */
function decodeMessagePack(bytes: Uint8Array): unknown {
  checkWhole(asBuffer(bytes), MAX_DEPTH);
  return decode(bytes);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** How many values are looked at for functions, of which JSON leaves no trace. */
const MAX_SEARCHED = 100;

/** What a codec for plain data would write as `{}`, or leave out, and what to do. */
function lossOf(value: unknown): string | undefined {
  if (typeof value === 'function') return 'a function: pass what it returns, or leave it out';
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === Object.prototype)
    return undefined;
  if (isMap(value)) return 'a Map: pass Object.fromEntries(map), or a list of its entries';
  if (isSet(value)) return 'a Set: pass a list, [...set]';
  if (isWeakMap(value) || isWeakSet(value)) return 'a weak collection, which nothing can list';
  if (typeof (value as { then?: unknown }).then === 'function') return 'a Promise: await it first';
  return undefined;
}

/** Whether a codec for plain data would lose this object. */
function isLost(value: unknown): boolean {
  return lossOf(value) !== undefined;
}

/**
 * Refuses what JSON loses without a word, after it has been written: a collection or a Promise shows as `{}`, so values
 * whose text has none are not searched again. A function shows nowhere; it is looked for among the first values only.
 *
 * @throws TypeError with the path and the remedy
 */
function refuseLost(value: unknown, json: string): void {
  if (typeof value !== 'object' || value === null) return;
  const found = lossIn(value, '', { left: json.includes('{}') ? Infinity : MAX_SEARCHED });
  if (found !== undefined) throw new TypeError(found);
}

/** The same for a value of which it is known that something is lost. @throws TypeError */
function refuseLostSomewhere(value: unknown): void {
  const found = lossIn(value, '', { left: Infinity });
  if (found !== undefined) throw new TypeError(found);
}

/** How many more values a search looks at. */
interface Search {
  left: number;
}

/** What is lost of a value that could be written, so it is not circular. */
function lossIn(value: unknown, path: string, search: Search): string | undefined {
  if (search.left <= 0 || (typeof value !== 'object' && typeof value !== 'function') || value === null)
    return undefined;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  const loss = lossOf(value);
  if (loss !== undefined) return `${path === '' ? 'it' : path} is ${loss}`;
  if (Array.isArray(value)) return lossInList(value, path, search);
  if (ArrayBuffer.isView(value)) return undefined;
  return lossInObject(value, path, search);
}

function lossInList(list: readonly unknown[], path: string, search: Search): string | undefined {
  for (let index = 0; index < list.length; index++) {
    if (--search.left < 0) return undefined;
    const found = lossIn(list[index], `${path}[${index}]`, search);
    if (found !== undefined) return found;
  }
  return undefined;
}

function lossInObject(value: object, path: string, search: Search): string | undefined {
  for (const key of Object.keys(value)) {
    if (--search.left < 0) return undefined;
    const part = (value as Record<string, unknown>)[key];
    if (typeof part !== 'object' && typeof part !== 'function') continue;
    const found = lossIn(part, path === '' ? key : `${path}.${key}`, search);
    if (found !== undefined) return found;
  }
  return undefined;
}
