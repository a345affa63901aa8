import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { JSON_TYPE, MESSAGE_PACK, MESSAGE_PACK_NAMES, type Format } from '../wire/media-type.js';

/** Best first, for clients without a preference. */
const JSON_FIRST = [JSON_TYPE, ...MESSAGE_PACK_NAMES];
const MESSAGE_PACK_FIRST = [...MESSAGE_PACK_NAMES, JSON_TYPE];
/** Browsers send 200 characters. Thousands of ranges, which Node would let pass, would take milliseconds to parse. */
const LONGEST_ACCEPT = 1024;

/** The format the client prefers. Without a preference: JSON after a JSON body, otherwise MessagePack. */
export function formatOfReply({ headers }: Pick<IncomingMessage, 'headers'>): Format {
  const { accept, 'content-type': sent } = headers;
  // Nearly all requests: no parsing needed.
  if (accept === MESSAGE_PACK) return 'msgpack';
  const offered = sent?.startsWith(JSON_TYPE) ? JSON_FIRST : MESSAGE_PACK_FIRST;
  const isRead = accept !== undefined && accept.length <= LONGEST_ACCEPT;
  const preferred = isRead ? new Negotiator({ headers }).mediaType(offered) : undefined;
  return (preferred ?? offered[0]) === JSON_TYPE ? 'json' : 'msgpack';
}
