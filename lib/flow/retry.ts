import { setTimeout as delay } from 'node:timers/promises';

export interface RetryOptions {
  /** Milliseconds until it is given up. @default Infinity */
  readonly timeout?: number;
  /** Ends it when it aborts. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the next attempt after so many failures; undefined where trying again helps nothing. */
  readonly pause: (error: unknown, failures: number) => number | undefined;
  /** Called before each pause. */
  readonly onFailure?: (error: unknown) => void | Promise<void>;
  /** What is thrown when the time is up or the signal aborts: with the last failure, if there was one. */
  readonly late: (lastError: unknown) => unknown;
}

/**
 * Tries until it succeeds: only for what may be done twice. `attempt` gets the milliseconds that are left, and
 * is not begun without any.
 *
 * @throws at once an error after which there is no pause · `late()` when the time is up or the signal aborts
 */
export async function retry<T>(
  attempt: (left: number) => Promise<T>,
  { timeout = Infinity, signal, pause, onFailure, late }: RetryOptions,
): Promise<T> {
  const until = performance.now() + timeout;
  let last: unknown;
  for (let failures = 1; ; failures++) {
    const left = until - performance.now();
    if (left <= 0) throw late(last);
    try {
      return await attempt(left);
    } catch (error) {
      const ms = pause(error, failures);
      if (ms === undefined) throw error;
      // What aborting itself makes fail says nothing: the reason is what went before.
      if (!signal?.aborted) last = error;
      else throw late(last ?? error);
      await onFailure?.(error);
      await delay(Math.max(0, Math.min(ms, until - performance.now())), undefined, { signal }).catch(
        () => undefined,
      );
      if (signal?.aborted) throw late(last);
    }
  }
}
