import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { onThisMachine } from './machine.js';

const POLL_MS = 5;
/** Of the time that Jest gives a test, so that it is this that says what was waited for. */
const MAX_WAIT_MS = 120_000;

export interface UntilOptions {
  /** In milliseconds, of a machine with nothing else to do. @default 20_000 */
  timeout?: number;
  /** Milliseconds between two looks: more for those that cost something. @default 5 */
  interval?: number;
  /** What was waited for; the error begins with it. @default the condition's source */
  message?: string;
  /** What the error tells of how it looks when time is up, besides what the condition gave last. */
  seen?: () => unknown;
}

/** Looks every few milliseconds until the condition holds, and returns what it gave. Its errors pass through. */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeout = 20_000, interval = POLL_MS, message, seen }: UntilOptions = {},
): Promise<Exclude<T, false | 0 | '' | null | undefined>> {
  const deadline = performance.now() + Math.max(timeout, Math.min(onThisMachine(timeout), MAX_WAIT_MS));
  for (;;) {
    const value = await condition();
    if (value) return value as Exclude<T, false | 0 | '' | null | undefined>;
    if (performance.now() > deadline) {
      const what = message ?? `The condition did not come true: ${condition.toString()}`;
      const state = [value, await seen?.()].filter((each) => each !== undefined && each !== false);
      throw new Error([`${what} (waited ${timeout} ms)`, ...state.map(toText)].join('\n'));
    }
    await sleep(interval);
  }
}

function toText(state: unknown): string {
  return `It was last: ${typeof state === 'string' ? state : inspect(state, { depth: 4 })}`;
}
