import { setTimeout as delay } from 'node:timers/promises';
import { realNow } from '../../job/real-time.js';

const FIRST_MS = 100;
const LONGEST_MS = 5000;

/** Milliseconds before the next attempt: doubled each time, with jitter, so that clients don't retry together. */
export function backoffDelay(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
}

/** Waits between attempts. */
export class Backoff {
  private failures = 0;
  private last = -Infinity;

  /** @throws when the signal aborts */
  async wait(signal: AbortSignal): Promise<void> {
    await delay(backoffDelay(++this.failures), undefined, { signal });
  }

  /** Waits before what comes again soon only if something is wrong: not if it last came more than `steady` milliseconds ago. */
  async pace(steady: number, signal: AbortSignal): Promise<void> {
    if (realNow() - this.last > steady) this.reset();
    else await this.wait(signal);
    this.last = realNow();
  }

  reset(): void {
    this.failures = 0;
  }
}
