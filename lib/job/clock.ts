/** The time, and timers. Tests pass a clock that only moves when they say so. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Monotonic milliseconds, for time spans. */
  elapsed(): number;
  /** Calls back after `ms`; returns a function that cancels this. A `background` timer does not keep the process alive. */
  after(ms: number, callback: () => void, background?: boolean): () => void;
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms, callback, background = false) => {
    const timer = setTimeout(callback, ms);
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Settles as `promise` does, or rejects with `late()` after `timeout` milliseconds. */
export function withDeadline<T>(
  promise: Promise<T>,
  timeout: number,
  late: () => Error,
  clock: Clock = systemClock,
): Promise<T> {
  if (timeout === Infinity) return promise;
  return new Promise((resolve, reject) => {
    const cancel = clock.after(timeout, () => reject(late()));
    promise.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
