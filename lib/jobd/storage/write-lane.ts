/** What takes longer is held up, by a row that somebody has locked for instance: others needn't wait for it. */
const SLOW_MS = 250;

/**
 * Hands items over in batches: what comes up while one is under way goes with the next. A batch that is
 * held up doesn't hold up the others; then there are two at a time.
 */
export class WriteLane<T> {
  private waiting: T[] = [];
  private isWriting = false;
  private heldUp: Promise<void> | undefined;

  /**
   * @param write never rejects
   * @param begin calls back when what comes up in the same tick is there
   */
  constructor(
    private readonly write: (batch: readonly T[]) => Promise<void>,
    private readonly maxBatch: number,
    private readonly begin: (callback: () => void) => void,
  ) {}

  add(item: T): void {
    this.waiting.push(item);
    if (this.isWriting) return;
    this.isWriting = true;
    this.begin(() => void this.writeAll());
  }

  private async writeAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.write(this.waiting.splice(0, this.maxBatch));
      if (await isSlow(batch)) await this.besides(batch);
    }
    this.isWriting = false;
  }

  /** Resolves when there is one such batch at most. */
  private async besides(batch: Promise<void>): Promise<void> {
    await Promise.race([this.heldUp, batch]);
    this.heldUp ??= batch.then(() => (this.heldUp = undefined));
  }
}

/** With a bare timer: this is asked for every batch. */
function isSlow(batch: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), SLOW_MS);
    void batch.then(() => {
      clearTimeout(timer);
      resolve(false);
    });
  });
}
