import { systemClock, type Clock } from './clock.js';

/** Settles as `promise` does, or rejects with `late()` after `timeout` milliseconds. */
export async function withDeadline<T>(
  promise: Promise<T>,
  timeout: number,
  late: () => Error,
  clock: Clock = systemClock,
): Promise<T> {
  if (timeout === Infinity) return promise;
  let cancel = (): void => undefined;
  const deadline = new Promise<never>((_, reject) => {
    cancel = clock.after(timeout, () => reject(late()));
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    cancel();
  }
}
