import { setTimeout as delay } from 'node:timers/promises';

export interface RetryOptions {
  /** Milliseconds after which it gives up. @default Infinity */
  readonly timeout?: number;
  /** Gives up when it aborts. */
  readonly signal?: AbortSignal;
  /** Milliseconds to wait after this many failures, or undefined if another attempt can't succeed. */
  readonly pause: (error: unknown, failures: number) => number | undefined;
  /** Called before each pause. */
  readonly onFailure?: (error: unknown) => void | Promise<void>;
  /** The error to throw when the time is up or the signal aborts; it gets the last failure, if there was one. */
  readonly late: (lastError: unknown) => unknown;
}

/**
 * Repeats `attempt`, which must be idempotent, until it succeeds. `attempt` gets the milliseconds that are left,
 * and is not called when none are left.
 *
 * @throws at once an error for which `pause` returns undefined · `late()` when the time is up or the signal aborts
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
      // An error that the abort itself caused explains nothing: keep the one before it.
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
