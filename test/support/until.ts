import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { onThisMachine } from './machine.js';

const POLL_MS = 5;
/** A wait that goes on is looked at less often: by this part of it late, but not by more than this. */
const PART_LATE = 0.04;
const MOST_LATE_MS = 50;
/** Less than Jest's limit for a test, so that this error appears, which says what was waited for. */
const MAX_WAIT_MS = 120_000;

export interface UntilOptions {
  /** In milliseconds, of a machine with nothing else to do. @default 20_000 */
  timeout?: number;
  /** When to give up, however busy the machine is: in the time of `performance.now()`. */
  deadline?: number;
  /** Milliseconds between the first looks: more for those that cost something. @default 5 */
  interval?: number;
  /** What was waited for; the error begins with it. @default for `until`, the condition's source */
  message?: string;
  /** What else the error shows, read when time is up. */
  seen?: () => unknown;
}

/**
 * Calls `condition` every few milliseconds until it returns something truthy, and returns that. Its errors pass
 * through. For a condition that compares, `eventually` says more when it fails.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeout = 20_000, deadline: latest = Infinity, interval = POLL_MS, message, seen }: UntilOptions = {},
): Promise<Exclude<T, false | 0 | '' | null | undefined>> {
  const began = performance.now();
  const deadline = Math.min(deadlineAfter(timeout), latest);
  for (;;) {
    const value = await condition();
    if (value) return value as Exclude<T, false | 0 | '' | null | undefined>;
    if (performance.now() > deadline) {
      const what = message ?? `The condition did not come true: ${condition.toString()}`;
      const state = [value, await seen?.()].filter((each) => each !== undefined && each !== false);
      throw new Error([`${what} (waited ${timeout} ms)`, ...state.map(toText)].join('\n'));
    }
    await sleep(pause(began, interval));
  }
}

/**
 * Makes the assertion every few milliseconds until it passes. When time is up, its last failure is the error, which
 * shows what was expected and what was seen. Other errors pass through.
 */
export async function eventually(
  assertion: () => void | Promise<void>,
  { timeout = 20_000, interval = POLL_MS, message }: Omit<UntilOptions, 'seen' | 'deadline'> = {},
): Promise<void> {
  const began = performance.now();
  const deadline = deadlineAfter(timeout);
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (!isAssertionError(error)) throw error;
      if (performance.now() > deadline) {
        error.message = `${message ?? 'The assertion did not pass'} (waited ${timeout} ms)\n${error.message}`;
        throw error;
      }
    }
    await sleep(pause(began, interval));
  }
}

function pause(began: number, interval: number): number {
  return Math.max(interval, Math.min((performance.now() - began) * PART_LATE, MOST_LATE_MS));
}

function deadlineAfter(timeout: number): number {
  return performance.now() + patience(timeout);
}

/** `onThisMachine`, for a wait within a test. */
export function patience(ms: number): number {
  return Math.max(ms, Math.min(onThisMachine(ms), MAX_WAIT_MS));
}

/** Jest's `expect` throws errors with a `matcherResult`. */
function isAssertionError(error: unknown): error is Error {
  return error instanceof Error && 'matcherResult' in error;
}

function toText(state: unknown): string {
  return `It was last: ${typeof state === 'string' ? state : inspect(state, { depth: 4 })}`;
}
