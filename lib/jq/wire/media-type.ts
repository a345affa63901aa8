import type { IncomingMessage } from 'node:http';
import { GearMonkeyError } from '../../job/errors.js';

export const MESSAGE_PACK = 'application/msgpack';
export const JSON_TYPE = 'application/json';

/** The type was registered late, so clients use other names as well. */
export const MESSAGE_PACK_NAMES: readonly string[] = [
  MESSAGE_PACK,
  'application/x-msgpack',
  'application/vnd.msgpack',
];

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
  const format = formatOf(headers['content-type']);
  if (format === undefined) throw new UnsupportedMediaTypeError();
  return format;
}

/** The format of a Content-Type; MessagePack without one, undefined for others. */
export function formatOf(type: string | undefined): Format | undefined {
  if (type === undefined || type === MESSAGE_PACK) return 'msgpack';
  const name = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (name === '' || MESSAGE_PACK_NAMES.includes(name)) return 'msgpack';
  return name === JSON_TYPE ? 'json' : undefined;
}
