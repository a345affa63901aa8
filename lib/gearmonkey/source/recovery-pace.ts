/** After an outage, other workers get this part of a lease to renew theirs before expired jobs are recovered. */
const GRACE = 1 / 4;
/** The part of a lease between two checks for expired jobs. */
const INTERVAL = 1 / 16;

/** When a call of the claim script gives expired jobs back: not each of a busy worker, and not before others had time to come back. */
export class RecoveryPace {
  private lookedAt = -Infinity;

  /**
   * @param lease in ms
   * @param uptime how long the connection has been up, in ms
   */
  constructor(
    private readonly lease: number,
    private readonly uptime: () => number,
  ) {}

  /** Whether to check now; if so, the next check is due a while later. @param now by `performance.now()` */
  isDue(now: number): boolean {
    if (this.uptime() <= this.lease * GRACE || now - this.lookedAt < this.lease * INTERVAL) return false;
    this.lookedAt = now;
    return true;
  }
}
