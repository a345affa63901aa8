import { setTimeout as delay } from 'node:timers/promises';
import { realNow } from '../../job/real-time.js';

const FIRST_MS = 100;
const LONGEST_MS = 5000;
/** A long poll that brings nothing takes longer than this, unless its master holds none, as while it shuts down. */
const EARLY_MS = 1000;

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

  /** Waits after a long poll that has brought nothing, if it ended at once. @param begun by `realNow` */
  async afterPoll(begun: number, signal: AbortSignal): Promise<void> {
    if (realNow() - begun < EARLY_MS) await this.wait(signal);
    else this.reset();
  }

  reset(): void {
    this.failures = 0;
  }
}
