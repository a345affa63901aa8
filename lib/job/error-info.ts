import { isNativeError } from 'node:util/types';
import { defined } from './defined.js';
import { excerpt } from './secrets.js';

/** A job's error as it is stored: the message for every language, the rest for ours. */
export interface JobErrorInfo {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: JobErrorInfo;
}

/** How much of a thrown value is stored: with `'message'` no stacks, neither its own nor those of its causes. */
export type ErrorDetail = 'message' | 'stack';

export interface ErrorInfoOptions {
  /** @default 'stack' */
  readonly detail?: ErrorDetail;
  /** Bytes of UTF-8 that the message has at most. @default what 8192 characters take */
  readonly maxMessageBytes?: number;
}

const MAX_CAUSES = 5;
/** Longer messages and stacks are cut off. A cause gets half of what its error got. */
const MAX_TEXT = 8192;
const MAX_NAME = 256;
/** How many errors of an AggregateError its message names, and how deep it looks. */
const MAX_AGGREGATED = 5;
const MAX_DEPTH = 3;
const MAX_BYTES_A_CHARACTER = 3;

/**
 * What is stored of a thrown value, whatever it was: a new object of short, well-formed texts without the
 * credentials of URLs. It never throws: what can't be read of the value is left out.
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

/** Whether this was stored as an error: the cause of a JobFailedError is one. */
export function isErrorInfo(value: unknown): value is JobErrorInfo {
  return (
    isObject(value) &&
    !isError(value) &&
    typeof partOf(value, 'name') === 'string' &&
    typeof partOf(value, 'message') === 'string'
  );
}

/** A thrown value in words, short and without the credentials of URLs. An AggregateError's are those of its errors. */
export function messageOf(thrown: unknown): string {
  return excerpt(wordsOf(thrown), MAX_TEXT);
}

function wordsOf(thrown: unknown, depth = 0): string {
  if (typeof thrown === 'string') return thrown || 'an empty string';
  if (!isErrorLike(thrown)) return describe(thrown);
  const said = phrase(partOf(thrown, 'message'));
  const errors = isAggregate(thrown) && depth < MAX_DEPTH ? aggregated(thrown, depth) : '';
  if (said && errors) return `${said}: ${errors}`;
  return said || errors || textOf(thrown, 'code') || textOf(thrown, 'name') || 'Error';
}

/** A message that is no text may be a list of texts, as validation pipes make them. */
function phrase(message: unknown): string {
  if (typeof message === 'string') return message;
  if (isList(message))
    return first(message)
      .map((part) => (typeof part === 'string' ? part : describe(part)))
      .join(', ');
  return message === undefined || message === null || isObject(message) ? '' : describe(message);
}

/** As of a connection to two addresses. */
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

/** Also objects with a message that are no Error; some libraries throw them. */
function isErrorLike(value: unknown): value is object {
  return isObject(value) && (isError(value) || typeof partOf(value, 'message') === 'string');
}

/** Also errors of another realm, whose class is another Error. */
function isError(value: object): boolean {
  return isNativeError(value) || isInstance(value, Error);
}

/** `instanceof` for what was thrown, which may be a proxy that refuses to say what it is. */
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

/** A property, or undefined where reading it throws. */
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

/** A value in a message: short, and never its contents. */
export function describe(value: unknown): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(excerpt(value, MAX_DESCRIPTION));
    return value.length > MAX_DESCRIPTION ? `${text.slice(0, -1)} (${value.length} characters)` : text;
  }
  if (typeof value === 'function') return 'a function';
  if (isObject(value)) return isList(value) ? 'an array' : 'an object';
  return excerpt(String(value), MAX_DESCRIPTION);
}
