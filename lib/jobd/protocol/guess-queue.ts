/** A password that is still to be checked. */
interface Guess {
  readonly look: () => Promise<boolean>;
  readonly isGone: () => boolean;
  readonly settle: (verdict: boolean) => void;
}

/** How many may wait per address, and in all; more are refused unchecked. */
const MAX_OF_ADDRESS = 50;
const MAX_WAITING = 1000;

/**
 * Checks one password at a time, so that guesses don't take all threads and memory; one of each address in turn, so
 * that no address keeps others out; and none whose sender has left.
 */
export class GuessQueue {
  private readonly waiting = new Map<string, Guess[]>();
  private size = 0;
  private isLooking = false;

  ask(address: string, look: Guess['look'], isGone: Guess['isGone']): Promise<boolean> {
    const own = this.waiting.get(address) ?? [];
    if (own.length >= MAX_OF_ADDRESS || this.size >= MAX_WAITING) return Promise.resolve(false);
    return new Promise((settle) => {
      own.push({ look, isGone, settle });
      this.waiting.set(address, own);
      this.size++;
      if (!this.isLooking) void this.lookAtAll();
    });
  }

  private async lookAtAll(): Promise<void> {
    this.isLooking = true;
    for (let guess = this.next(); guess; guess = this.next())
      guess.settle(!guess.isGone() && (await guess.look().catch(() => false)));
    this.isLooking = false;
  }

  /** The next of the first address, which then goes behind the others. */
  private next(): Guess | undefined {
    const [first] = this.waiting;
    if (!first) return undefined;
    const [address, guesses] = first;
    const guess = guesses.shift();
    this.size--;
    this.waiting.delete(address);
    if (guesses.length > 0) this.waiting.set(address, guesses);
    return guess;
  }
}
