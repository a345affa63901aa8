import { realNow } from '../../job/real-time.js';
import { repeat, ROUND_MS } from '../../redis/rounds.js';

/** A longer time between two looks is a stall: less than half of the time after which a master gives up a push. */
const STALL_MS = 2 * ROUND_MS;

/** Notices that this process was stopped, or its event loop blocked: what it reads afterwards may be old. */
export class StallWatch {
  private looked = realNow();
  private ended = -Infinity;
  private readonly endLooks = repeat(ROUND_MS, () => this.look());

  /** When the last stall ended, by `realNow`. */
  get lastStall(): number {
    this.look();
    return this.ended;
  }

  close(): void {
    this.endLooks();
  }

  private look(): void {
    const now = realNow();
    if (now - this.looked > STALL_MS) this.ended = now;
    this.looked = now;
  }
}
