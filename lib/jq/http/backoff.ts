import { setTimeout as delay } from 'node:timers/promises';

const FIRST_MS = 100;
const LONGEST_MS = 5000;

/** Waits between attempts: each about twice as long as the one before, and drawn, so that clients don't come together. */
export class Backoff {
  private failures = 0;

  /** @param least milliseconds that the server asked for. @throws when the signal aborts */
  async wait(signal: AbortSignal, least = 0): Promise<void> {
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.failures++);
    await delay(Math.max(least, longest * (0.5 + Math.random() / 2)), undefined, { signal });
  }

  reset(): void {
    this.failures = 0;
  }
}
