import type { Clock } from '../../../job/clock.js';
import { MAX_TIMER_MS } from '../../../job/duration.js';

/** The pause after a failed call. */
const AGAIN_MS = 1000;

/** Ends a job when it expires, for a client that waits for it: workers only notice when its turn comes. */
export class ExpiryTimer {
  private cancel: (() => void) | undefined;
  private stopped = false;

  /** @param expire asks the server, whose clock decides: it ends the job if it has expired; returns the milliseconds until then, or 0 or less if there is nothing to do */
  constructor(
    private readonly expire: () => Promise<number>,
    private readonly clock: Clock,
  ) {}

  /** Starts, unless it runs already. @param ms when it asks first, at once by default */
  start(ms = 0): void {
    if (!this.cancel) this.wait(ms);
  }

  stop(): void {
    this.stopped = true;
    this.cancel?.();
  }

  private wait(ms: number): void {
    if (this.stopped) return;
    this.cancel = this.clock.after(Math.min(Math.max(ms, 0), MAX_TIMER_MS), () => void this.end(), true);
  }

  private async end(): Promise<void> {
    const left = await this.expire().catch(() => AGAIN_MS);
    if (left > 0) this.wait(left);
  }
}
