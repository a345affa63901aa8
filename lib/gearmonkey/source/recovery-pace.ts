/** The part of a lease between two checks for expired jobs. */
const INTERVAL = 1 / 16;

/** When a call of the claim script asks to give expired jobs back: not each of a busy worker. Whether it does, the server decides. */
export class RecoveryPace {
  private askedAt = -Infinity;

  /** @param lease in ms */
  constructor(private readonly lease: number) {}

  /** Whether to ask now; if so, the next time is a while later. @param now by `performance.now()` */
  isDue(now: number): boolean {
    if (now - this.askedAt < this.lease * INTERVAL) return false;
    this.askedAt = now;
    return true;
  }

  /** The server may not have noted that it was asked, as it had nothing to look at: the next call asks again. */
  again(): void {
    this.askedAt = -Infinity;
  }
}
