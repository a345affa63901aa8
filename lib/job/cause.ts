import { isNativeError } from 'node:util/types';
import { GearMonkeyError, messageOf } from './errors.js';
import { excerpt } from './secrets.js';

/** Longest stack that is kept, in characters. */
const MAX_STACK = 8192;

/**
 * A copy of an error for use as a `cause`: its name, message, code and stack, without credentials of URLs and without
 * its other properties. A driver's errors hold the command that failed, which may contain passwords and inputs of jobs.
 */
export function toCause(error: unknown): unknown {
  if (!(error instanceof Error || isNativeError(error)) || error instanceof GearMonkeyError)
    return typeof error === 'string' ? messageOf(error) : error;
  const { name } = error;
  const stack = error.stack === undefined ? undefined : excerpt(error.stack, MAX_STACK);
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const cause = Object.assign(new Error(messageOf(error)), code);
  for (const [key, value] of Object.entries({ name, stack }))
    Object.defineProperty(cause, key, { value, configurable: true, writable: true });
  return cause;
}
