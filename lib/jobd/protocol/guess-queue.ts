/** A guess at a password that is yet to be looked at. */
interface Guess {
  readonly look: () => Promise<boolean>;
  readonly isGone: () => boolean;
  readonly settle: (verdict: boolean) => void;
}

/** So many of one address may wait, and so many in all; further ones are refused unseen. */
const MAX_OF_ADDRESS = 50;
const MAX_WAITING = 1000;

/**
 * Looks at one guess at a time, so that guesses don't take all of the machine's threads and memory; at those of
 * each address in turn, so that no address keeps others out; and at none whose sender has left.
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

  /** Of the address whose turn it is, which goes behind the others then. */
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
