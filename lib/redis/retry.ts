import { setTimeout as delay } from 'node:timers/promises';
import { isNativeError } from 'node:util/types';
import { retry, type RetryOptions } from '../flow/retry.js';
import { GearMonkeyError } from '../job/errors.js';
import { ConnectionError } from '../job/server-errors.js';
import { isReply, isTransientReply } from './redis-errors.js';

/** Between two attempts that a server answers, each with "not now". */
export const RETRY_MS = 50;
/** A caller that asks again at once would never let the event loop hear that the connection is gone. */
const YIELD_MS = 1;

/**
 * What ioredis and Node call an error that is no reply: a connection that broke, was refused or timed out, a
 * cluster or sentinels without a master. A TypeError or SyntaxError is none: it comes of what was sent, or of
 * how the reply was read.
 */
const NO_ANSWER = new Set([
  'Error',
  'AbortError',
  'AggregateError',
  'ClusterAllFailedError',
  'MaxRetriesPerRequestError',
  'ParserError',
]);

/**
 * Whether asking again may help: there was no answer, or one that says "not now". Our own errors, those of a
 * program and refusals are the same however often one asks. This rule is the only one.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error || isNativeError(error)) || error instanceof GearMonkeyError) return false;
  return isReply(error) ? isTransientReply(error) : NO_ANSWER.has(error.name);
}

/** Milliseconds until what failed is asked again: a broken connection has none to spare, and is waited for anyway. */
function pauseOf(error: unknown): number {
  return isOutage(error) && !isReply(error) ? YIELD_MS : RETRY_MS;
}

/** Waits before what failed is asked again; no longer than until the signal aborts. */
export async function pauseAfter(error: unknown, signal?: AbortSignal): Promise<void> {
  await delay(pauseOf(error), undefined, { signal }).catch(() => undefined);
}

export interface RedisRetryOptions extends Partial<Omit<RetryOptions, 'pause'>> {
  /** Which errors pass with time. @default isOutage */
  readonly mayPass?: (error: unknown) => boolean;
}

/**
 * Asks until there is an answer: only for what may be asked twice. `question` gets the milliseconds that are left.
 *
 * @throws at once what no repetition helps · `late()`, a ConnectionError with the last error where it isn't given,
 * when the time is up or `signal` aborts
 */
export function retryWhileUnreachable<T>(
  question: (left: number) => Promise<T>,
  { mayPass = isOutage, late = unanswered, ...options }: RedisRetryOptions = {},
): Promise<T> {
  const pause = (error: unknown) => (mayPass(error) ? pauseOf(error) : undefined);
  // A timer of less than a millisecond is one of a millisecond.
  return retry((left) => question(Math.max(1, left)), { ...options, late, pause });
}

function unanswered(lastError: unknown): ConnectionError {
  return new ConnectionError('Redis did not answer', lastError ?? 'there was no time left');
}
