import { networkOf } from '../../net/network-of.js';

/** A password that is still to be checked. */
interface Guess {
  readonly look: () => boolean | Promise<boolean>;
  readonly isGone: () => boolean;
  readonly settle: (verdict: boolean) => void;
}

/** How many may wait per address, and in all; more are refused unchecked. */
const MAX_OF_ADDRESS = 50;
const MAX_WAITING = 1000;

/**
 * Checks one password at a time, so that guesses don't take all threads and memory; one of each address in turn, so
 * that no address keeps others out; and none whose sender has left. An address that guesses waits longer and longer.
 */
export class GuessQueue {
  private readonly waiting = new Map<string, Guess[]>();
  private isLooking = false;
  private readonly wrong = new WrongGuesses();
  private pausing: NodeJS.Timeout | undefined;

  /** @param onSlowed called with an address whose guesses have to wait from now on */
  constructor(private readonly onSlowed: (address: string) => void = () => undefined) {}

  /** At once if the address has not guessed wrong, and the check takes no time. */
  askAtOnce(address: string, look: () => boolean, isGone: Guess['isGone']): boolean | Promise<boolean> {
    const mustWait = this.waiting.has(address) || this.wrong.pause(address) > 0;
    return mustWait ? this.ask(address, look, isGone) : this.note(address, look());
  }

  ask(address: string, look: Guess['look'], isGone: Guess['isGone']): Promise<boolean> {
    const own = this.waiting.get(address) ?? [];
    if (own.length >= MAX_OF_ADDRESS || this.size >= MAX_WAITING) return Promise.resolve(false);
    return new Promise((settle) => {
      own.push({ look, isGone, settle });
      this.waiting.set(address, own);
      if (!this.isLooking) void this.lookAtAll();
    });
  }

  private get size(): number {
    return [...this.waiting.values()].reduce((sum, guesses) => sum + guesses.length, 0);
  }

  private async lookAtAll(): Promise<void> {
    clearTimeout(this.pausing);
    this.isLooking = true;
    for (let next = this.next(); next; next = this.next()) {
      const { address, guess } = next;
      guess.settle(this.note(address, await this.verdict(guess)));
    }
    this.isLooking = false;
    const pauses = [...this.waiting.keys()].map((address) => this.wrong.pause(address));
    if (pauses.length > 0)
      this.pausing = setTimeout(() => void this.lookAtAll(), Math.min(...pauses)).unref();
  }

  private async verdict({ look }: Guess): Promise<boolean> {
    try {
      return await look();
    } catch {
      return false;
    }
  }

  private note(address: string, isRight: boolean): boolean {
    if (!isRight && this.wrong.note(address)) this.onSlowed(address);
    return isRight;
  }

  /** The next of the first address that needn't wait, which then goes behind the others. */
  private next(): { readonly address: string; readonly guess: Guess } | undefined {
    this.dropGone();
    for (const [address, [guess, ...others]] of this.waiting) {
      if (!guess || this.wrong.pause(address) > 0) continue;
      this.keep(address, others);
      return { address, guess };
    }
    return undefined;
  }

  private dropGone(): void {
    for (const [address, guesses] of [...this.waiting]) {
      const gone = guesses.filter(({ isGone }) => isGone());
      if (gone.length === 0) continue;
      this.keep(
        address,
        guesses.filter((guess) => !gone.includes(guess)),
      );
      for (const { settle } of gone) settle(false);
    }
  }

  /** Behind those of other addresses. */
  private keep(address: string, guesses: Guess[]): void {
    this.waiting.delete(address);
    if (guesses.length > 0) this.waiting.set(address, guesses);
  }
}

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
