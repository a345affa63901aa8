import { setTimeout as delay } from 'node:timers/promises';
import { isNativeError } from 'node:util/types';
import { GearMonkeyError } from '../job/errors.js';
import { ConnectionError } from '../job/server-errors.js';
import { isReply, isTransientReply } from './redis-errors.js';

const RETRY_MS = 50;
/** Whoever asks again at once would never let the event loop hear that the connection is gone. */
export const YIELD_MS = 1;

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

/** Before what failed is asked again: a server that answered gets some time, a broken connection just a turn of the loop. */
export async function pauseAfter(error: unknown, signal?: AbortSignal): Promise<void> {
  await delay(isReply(error) ? RETRY_MS : YIELD_MS, undefined, { signal }).catch(() => undefined);
}

export interface RetryOptions {
  /** Milliseconds until it is given up. @default Infinity */
  readonly timeout?: number;
  /** Ends it when it aborts. */
  readonly signal?: AbortSignal;
  /** Which errors pass with time. @default isOutage */
  readonly mayPass?: (error: unknown) => boolean;
}

/**
 * Asks until there is an answer: only for what may be asked twice. `question` gets the milliseconds that are left.
 *
 * @throws at once what no repetition helps · ConnectionError with the last error, when the time is up or `signal` aborts
 */
export async function retryWhileUnreachable<T>(
  question: (left: number) => Promise<T>,
  { timeout = Infinity, signal, mayPass = isOutage }: RetryOptions = {},
): Promise<T> {
  const until = performance.now() + timeout;
  for (;;) {
    try {
      return await question(Math.max(1, until - performance.now()));
    } catch (error) {
      if (!mayPass(error)) throw error;
      if (signal?.aborted || performance.now() > until)
        throw new ConnectionError('Redis did not answer', error);
      await pauseAfter(error, signal);
    }
  }
}
