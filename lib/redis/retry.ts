import { setTimeout as delay } from 'node:timers/promises';
import { isNativeError } from 'node:util/types';
import { retry, type RetryOptions } from '../batching/retry.js';
import { GearMonkeyError } from '../job/errors.js';
import { ConnectionError } from '../job/server-errors.js';
import { isRefusedForNow, isReply, isTransientReply } from './redis-errors.js';

/** Pause after a reply that means "not now". */
export const RETRY_MS = 50;
/** Pause after a refusal that an operator has to end. */
const REFUSED_MS = 1000;
/** Pause after a broken connection: without it the event loop would never notice that the connection is gone. */
const YIELD_MS = 1;

/**
 * Names of errors without a reply: a connection broke, was refused or timed out, or cluster or sentinels have no
 * master. A TypeError or SyntaxError is not among them: the arguments or the decoder caused it.
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
 * Whether another attempt may succeed: there was no answer, or one that means "not now". Our own errors, programming
 * errors and refusals would only repeat. All retries on Redis use this rule.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error || isNativeError(error)) || error instanceof GearMonkeyError) return false;
  return isReply(error) ? isTransientReply(error) : NO_ANSWER.has(error.name);
}

/** Milliseconds before the next attempt. After a broken connection almost none: `ready` waits for the next one. */
function pauseOf(error: unknown): number {
  if (isRefusedForNow(error) && !isTransientReply(error)) return REFUSED_MS;
  return isOutage(error) && !isReply(error) ? YIELD_MS : RETRY_MS;
}

/** Waits before the next attempt, or until the signal aborts. */
export async function pauseAfter(error: unknown, signal?: AbortSignal): Promise<void> {
  await delay(pauseOf(error), undefined, { signal }).catch(() => undefined);
}

export interface RedisRetryOptions extends Partial<Omit<RetryOptions, 'pause'>> {
  /** Whether an error may go away with time. @default isOutage */
  readonly mayPass?: (error: unknown) => boolean;
}

/**
 * Repeats `question`, which must be idempotent, until there is an answer. It gets the milliseconds that are left.
 *
 * @throws at once an error that repetition can't fix · when the time is up or `signal` aborts `late()`, by default a
 * ConnectionError with the last error
 */
export function retryWhileUnreachable<T>(
  question: (left: number) => Promise<T>,
  { mayPass = isOutage, late = unanswered, ...options }: RedisRetryOptions = {},
): Promise<T> {
  const pause = (error: unknown) => (mayPass(error) ? pauseOf(error) : undefined);
  // Node rounds timers up to at least one millisecond.
  return retry((left) => question(Math.max(1, left)), { ...options, late, pause });
}

function unanswered(lastError: unknown): ConnectionError {
  return new ConnectionError('Redis did not answer', lastError ?? 'there was no time left');
}
