import { isNativeError } from 'node:util/types';

/** A job's error as it is stored: the message for every language, the rest for ours. */
export interface JobErrorInfo {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: JobErrorInfo;
}

const MAX_CAUSES = 5;

/** More of a message or stack than this helps nobody. */
const MAX_TEXT = 8192;

/** What is stored of a thrown value, whatever it was. */
export function toErrorInfo(thrown: unknown, depth = 0): JobErrorInfo {
  if (isErrorInfo(thrown)) return thrown;
  if (!isError(thrown)) return { name: 'Error', message: shorten(messageOf(thrown)) };
  const code = 'code' in thrown && typeof thrown.code === 'string' ? { code: thrown.code } : {};
  const stack = thrown.stack === undefined ? {} : { stack: shorten(thrown.stack) };
  const cause =
    thrown.cause === undefined || depth >= MAX_CAUSES ? {} : { cause: toErrorInfo(thrown.cause, depth + 1) };
  return { name: thrown.name, message: shorten(thrown.message), ...code, ...stack, ...cause };
}

function shorten(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** Whether this was stored as an error: the cause of a JobFailedError is one. */
export function isErrorInfo(value: unknown): value is JobErrorInfo {
  if (typeof value !== 'object' || value === null || isError(value)) return false;
  return (
    'name' in value &&
    typeof value.name === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  );
}

/** A thrown value in words. An AggregateError, as of a connection to two addresses, has no message. */
export function messageOf(thrown: unknown): string {
  if (isError(thrown)) {
    return (
      thrown.message || ('code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name)
    );
  }
  return typeof thrown === 'string' ? thrown : describe(thrown);
}

/** Also those of another realm, which are instances of another Error. */
function isError(value: unknown): value is Error {
  return value instanceof Error || isNativeError(value);
}

/** A value in a message: short, and never its contents. */
export function describe(value: unknown): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(value);
    return text.length > 80 ? `${text.slice(0, 80)}… (${value.length} characters)` : text;
  }
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}
