import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 5;

export interface UntilOptions {
  /** In milliseconds. @default 20_000 */
  timeout?: number;
  /** Milliseconds between two looks: more for those that cost something. @default 5 */
  interval?: number;
  /** What was waited for; the error begins with it. */
  message?: string;
}

/** Looks every few milliseconds until the condition holds, and returns what it gave. Its errors pass through. */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeout = 20_000, interval = POLL_MS, message = 'The condition did not come true' }: UntilOptions = {},
): Promise<Exclude<T, false | 0 | '' | null | undefined>> {
  const deadline = performance.now() + timeout;
  for (;;) {
    const value = await condition();
    if (value) return value as Exclude<T, false | 0 | '' | null | undefined>;
    if (performance.now() > deadline) throw new Error(`${message} (waited ${timeout} ms)`);
    await sleep(interval);
  }
}
