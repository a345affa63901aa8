import type { IncomingMessage } from 'node:http';
import { GearMonkeyError } from '../../job/errors.js';

export const MESSAGE_PACK = 'application/msgpack';
export const JSON_TYPE = 'application/json';

/** By any of its names: it was registered late. */
const MESSAGE_PACK_NAMES = new Set([MESSAGE_PACK, 'application/x-msgpack', 'application/vnd.msgpack']);

export type Format = 'msgpack' | 'json';

/** A body that is neither MessagePack nor JSON. */
export class UnsupportedMediaTypeError extends GearMonkeyError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';

  constructor() {
    super(`Expected the Content-Type to be ${MESSAGE_PACK} or ${JSON_TYPE}.`);
  }
}

/** What a body says that it is; MessagePack if nothing. @throws UnsupportedMediaTypeError */
export function formatOfBody({ headers }: IncomingMessage): Format {
  const type = headers['content-type'];
  if (type === undefined || type === MESSAGE_PACK) return 'msgpack';
  const name = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (name === '' || MESSAGE_PACK_NAMES.has(name)) return 'msgpack';
  if (name === JSON_TYPE) return 'json';
  throw new UnsupportedMediaTypeError();
}

/** What the client would rather have: where it doesn't say, JSON after a body of JSON, and MessagePack otherwise. */
export function formatOfReply({ headers: { accept, 'content-type': sent } }: IncomingMessage): Format {
  if (accept === MESSAGE_PACK) return 'msgpack';
  if (accept === undefined || accept === '*/*') return sent?.startsWith(JSON_TYPE) ? 'json' : 'msgpack';
  const ranges = accept.split(',').map(readRange);
  const quality = (wanted: (name: string) => boolean) =>
    Math.max(0, ...ranges.filter(({ name }) => wanted(name)).map(({ q }) => q));
  const json = quality((name) => name === JSON_TYPE);
  const binary = quality((name) => MESSAGE_PACK_NAMES.has(name));
  return json > binary ? 'json' : 'msgpack';
}

function readRange(range: string): { name: string; q: number } {
  const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const weight = q === undefined ? 1 : Number(q);
  return { name, q: Number.isFinite(weight) ? weight : 0 };
}
