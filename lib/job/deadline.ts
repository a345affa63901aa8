import { systemClock, type Clock } from './clock.js';

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
