import { isNativeError, isPromise } from 'node:util/types';
import { defined } from './defined.js';
import { excerpt } from './secrets.js';

/** A job's error as it is stored. Clients of other languages read only the message. */
export interface JobErrorInfo {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: JobErrorInfo;
}

/** How much of a thrown value is stored. `'message'` leaves out its stack and those of its causes. */
export type ErrorDetail = 'message' | 'stack';

export interface ErrorInfoOptions {
  /** @default 'stack' */
  readonly detail?: ErrorDetail;
  /** Longest message, in bytes of UTF-8. @default the size of 8192 characters */
  readonly maxMessageBytes?: number;
}

const MAX_CAUSES = 5;
/** Longer messages and stacks are cut off. A cause gets half of what its error got. */
const MAX_TEXT = 8192;
const MAX_NAME = 256;
/** How many errors of an AggregateError are named in the message, and how many levels of nested ones. */
const MAX_AGGREGATED = 5;
const MAX_DEPTH = 3;
const MAX_BYTES_A_CHARACTER = 3;

/**
 * Converts any thrown value to the object that is stored: short, well-formed texts without credentials of URLs.
 * It never throws: properties that can't be read are left out.
 */
export function toErrorInfo(thrown: unknown, options: ErrorInfoOptions = {}): JobErrorInfo {
  return infoOf(thrown, options, 0);
}

function infoOf(thrown: unknown, options: ErrorInfoOptions, depth: number): JobErrorInfo {
  const { detail = 'stack', maxMessageBytes = Infinity } = options;
  const limit = Math.ceil(MAX_TEXT / 2 ** depth);
  const most = Math.max(1, Math.min(limit, Math.floor(maxMessageBytes / MAX_BYTES_A_CHARACTER) - 1));
  const message = excerpt(wordsOf(thrown), most);
  if (!isErrorLike(thrown)) return { name: 'Error', message };
  const code = textOf(thrown, 'code');
  const stack = detail === 'stack' ? textOf(thrown, 'stack') : undefined;
  const cause = depth < MAX_CAUSES ? partOf(thrown, 'cause') : undefined;
  return defined({
    name: excerpt(textOf(thrown, 'name') || 'Error', MAX_NAME),
    message,
    code: code === undefined ? undefined : excerpt(code, MAX_NAME),
    stack: stack === undefined ? undefined : excerpt(stack, limit),
    cause: cause === undefined ? undefined : infoOf(cause, options, depth + 1),
  });
}

/**
 * Any thrown value for a log: its stack and those of its causes, without credentials of URLs. Its other properties, which
 * loggers would print, may hold more of them.
 */
export function stackOf(thrown: unknown): string {
  return stacksOf(toErrorInfo(thrown));
}

function stacksOf({ name, message, stack = `${name}: ${message}`, cause }: JobErrorInfo): string {
  return cause ? `${stack}\nCaused by ${stacksOf(cause)}` : stack;
}

/** Whether a value is a stored error, such as the cause of a JobFailedError. */
export function isErrorInfo(value: unknown): value is JobErrorInfo {
  return (
    isObject(value) &&
    !isError(value) &&
    typeof partOf(value, 'name') === 'string' &&
    typeof partOf(value, 'message') === 'string'
  );
}

/** A short message of a thrown value, without credentials of URLs. For an AggregateError it lists its errors. */
export function messageOf(thrown: unknown): string {
  return excerpt(wordsOf(thrown), MAX_TEXT);
}

/** The same without a full stop, for the middle of a sentence: Redis ends some of its messages with one. */
export function reasonOf(thrown: unknown): string {
  return messageOf(thrown).replace(/\.$/, '');
}

function wordsOf(thrown: unknown, depth = 0): string {
  if (typeof thrown === 'string') return thrown || 'an empty string';
  if (!isErrorLike(thrown)) return isObject(thrown) ? objectWords(thrown) : describe(thrown);
  const said = phrase(partOf(thrown, 'message'));
  const errors = isAggregate(thrown) && depth < MAX_DEPTH ? aggregated(thrown, depth) : '';
  if (said && errors) return `${said}: ${errors}`;
  return said || errors || textOf(thrown, 'code') || textOf(thrown, 'name') || 'Error';
}

/** What a thrown object without a message says of itself; never all of it, which may hold secrets. */
const TELLING = ['name', 'code', 'status', 'statusCode', 'errno', 'reason', 'error'];

function objectWords(thrown: object): string {
  const told = TELLING.flatMap((key) => {
    const part = partOf(thrown, key);
    return typeof part === 'string' || typeof part === 'number' ? `${key} ${part}` : [];
  });
  return told.length === 0 ? describe(thrown) : `${describe(thrown)} with ${told.join(', ')}`;
}

/** A message may also be a list of texts: validation pipes throw such errors. */
function phrase(message: unknown): string {
  if (typeof message === 'string') return message;
  if (isList(message))
    return first(message)
      .map((part) => (typeof part === 'string' ? part : describe(part)))
      .join(', ');
  return message === undefined || message === null || isObject(message) ? '' : describe(message);
}

/** The messages of an AggregateError, such as one of a connection that failed at two addresses. */
function aggregated(thrown: object, depth: number): string {
  const errors = partOf(thrown, 'errors');
  if (!isList(errors)) return '';
  const more = errors.length > MAX_AGGREGATED ? [`and ${errors.length - MAX_AGGREGATED} more`] : [];
  const words = first(errors).map((error) => excerpt(wordsOf(error, depth + 1), MAX_TEXT));
  return [...words, ...more].join('; ');
}

function first(list: readonly unknown[]): unknown[] {
  return safely(() => list.slice(0, MAX_AGGREGATED)) ?? [];
}

function isAggregate(value: object): boolean {
  return isInstance(value, AggregateError) || textOf(value, 'name') === 'AggregateError';
}

/** Also true of objects that are no Error but have a message; some libraries throw them. */
function isErrorLike(value: unknown): value is object {
  return isObject(value) && (isError(value) || typeof partOf(value, 'message') === 'string');
}

/** Also true of errors of another realm, which are no instances of this realm's Error. */
function isError(value: object): boolean {
  return isNativeError(value) || isInstance(value, Error);
}

/** Whether a thrown value is this error, or has it among its causes. */
export function isFrom(thrown: unknown, error: Error, depth = 0): boolean {
  if (thrown === error) return true;
  return depth < MAX_CAUSES && isObject(thrown) && isFrom(partOf(thrown, 'cause'), error, depth + 1);
}

/** `instanceof` for a thrown value, which may be a proxy that throws on every access. */
export function isInstance<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  return safely(() => value instanceof type) === true;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isList(value: unknown): value is readonly unknown[] {
  return safely(() => Array.isArray(value)) === true;
}

function textOf(value: object, key: string): string | undefined {
  const part = partOf(value, key);
  return typeof part === 'string' ? part : undefined;
}

/** A property, or undefined if reading it throws. */
function partOf(value: object, key: string): unknown {
  return safely(() => (value as Record<string, unknown>)[key]);
}

/** Getters and proxies may throw at any read. */
function safely<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

const MAX_DESCRIPTION = 80;

/** Describes a value for a message: its kind or a short form, never the contents of an object. */
export function describe(value: unknown): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(excerpt(value, MAX_DESCRIPTION));
    return value.length > MAX_DESCRIPTION ? `${text.slice(0, -1)} (${value.length} characters)` : text;
  }
  if (typeof value === 'function') return 'a function';
  if (isPromise(value)) return 'a Promise';
  if (isObject(value)) return isList(value) ? 'an array' : 'an object';
  return excerpt(String(value), MAX_DESCRIPTION);
}
