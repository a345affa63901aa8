import { GearMonkeyError } from '../../job/errors.js';
import { display } from './display.js';
import { checkFields, type FieldRule } from './fields.js';

/** The first item of a message: its type. */
const MESSAGE = { REQUEST: 0, RESPONSE: 1, PING: 2, PONG: 3 } as const;

const EOT = '\x04';
export const PING_FRAME = `[${MESSAGE.PING}]${EOT}`;
export const PONG_FRAME = `[${MESSAGE.PONG}]${EOT}`;

/** The number of replies to messages that have no number. */
export const NO_NUMBER = 0;

export interface RequestMessage {
  readonly kind: 'request';
  readonly no: number;
  readonly type: string;
  readonly data: unknown;
  readonly password?: string;
}

/** With `error` the request failed. */
export interface ResponseMessage {
  readonly kind: 'response';
  readonly no: number;
  readonly data: unknown;
  readonly error?: string;
}

export type Message =
  RequestMessage | ResponseMessage | { readonly kind: 'ping' } | { readonly kind: 'pong' };

/** JSON that is not a message; the text is the protocol's reply to it. */
export class MalformedMessageError extends GearMonkeyError {
  readonly code = 'MALFORMED_MESSAGE';
}

const REQUEST_FIELDS: readonly FieldRule[] = [
  { name: 'type', types: ['string'], required: true },
  { name: 'no', types: ['integer'], required: true },
  { name: 'data', types: ['string', 'number', 'object', 'array'] },
  { name: 'password', types: ['string'] },
];

const RESPONSE_FIELDS: readonly FieldRule[] = [
  { name: 'no', types: ['integer'], required: true },
  { name: 'data', types: ['string', 'number', 'object', 'array'] },
  { name: 'error', types: ['string'] },
];

/**
 * Reads a message without its EOT. Returns `undefined` for text that is not JSON, which gets no reply.
 *
 * @throws MalformedMessageError
 */
export function parseMessage(text: string): Message | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(json)) throw new MalformedMessageError(`JSON array expected, got: ${display(json)}`);
  const [type, body] = json as readonly unknown[];
  switch (type) {
    case MESSAGE.REQUEST:
      return { kind: 'request', ...(fieldsOf('REQUEST', body, REQUEST_FIELDS) as RequestBody) };
    case MESSAGE.RESPONSE:
      return { kind: 'response', ...(fieldsOf('RESPONSE', body, RESPONSE_FIELDS) as ResponseBody) };
    case MESSAGE.PING:
      return { kind: 'ping' };
    case MESSAGE.PONG:
      return { kind: 'pong' };
    default:
      throw new MalformedMessageError(`unexpected type ${display(type)}`);
  }
}

type RequestBody = Omit<RequestMessage, 'kind'>;
type ResponseBody = Omit<ResponseMessage, 'kind'>;

function fieldsOf(kind: string, body: unknown, rules: readonly FieldRule[]): object {
  try {
    return checkFields(body, rules);
  } catch (error) {
    throw new MalformedMessageError(`malformed ${kind} message: ${(error as Error).message}`);
  }
}

/** Leaves out `data` and `password` if there are none. */
export function requestFrame(no: number, type: string, data?: unknown, password?: string): string {
  return frame(MESSAGE.REQUEST, { no, type, data, password });
}

export function replyFrame(no: number, data: unknown): string {
  return frame(MESSAGE.RESPONSE, { no, data });
}

export function errorFrame(no: number, error: string): string {
  return frame(MESSAGE.RESPONSE, { no, error });
}

/** JSON escapes every control character, so EOT is always the end. */
function frame(type: number, body: object): string {
  return `${JSON.stringify([type, body])}${EOT}`;
}
