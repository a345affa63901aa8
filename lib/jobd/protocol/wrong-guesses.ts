import { networkOf } from '../../net/network-of.js';

interface Wrong {
  count: number;
  /** When the last one was found, by `performance.now`. */
  last: number;
}

/** People mistype. */
const FREE = 5;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;
const FORGOTTEN_AFTER_MS = 600_000;
const MAX_ADDRESSES = 10_000;

/** Wrong passwords by address. After five, the next is checked after a pause, which doubles with each, up to ten seconds. */
export class WrongGuesses {
  /** The oldest first. */
  private readonly byAddress = new Map<string, Wrong>();

  /** Milliseconds until a password from this address may be checked. */
  pause(address: string): number {
    const wrong = this.byAddress.get(networkOf(address));
    if (!wrong || wrong.count < FREE) return 0;
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (wrong.count - FREE));
    return Math.max(0, wrong.last + pause - performance.now());
  }

  /** @returns whether further ones from this address have to wait from now on */
  note(address: string): boolean {
    const key = networkOf(address);
    const now = performance.now();
    const count = 1 + (this.byAddress.get(key)?.count ?? 0);
    this.byAddress.delete(key);
    for (const [one, { last }] of this.byAddress) {
      if (this.byAddress.size < MAX_ADDRESSES && now - last < FORGOTTEN_AFTER_MS) break;
      this.byAddress.delete(one);
    }
    this.byAddress.set(key, { count, last: now });
    return count === FREE;
  }
}
