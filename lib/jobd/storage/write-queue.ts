import { Batcher } from '../../flow/batcher.js';

/** A slower batch is blocked, for instance by a locked row: others needn't wait for it. */
const SLOW_MS = 250;

/** Writes in batches, one at a time; a second one may run beside a blocked batch. */
export class WriteQueue<T> {
  private readonly batches: Batcher<T, void>;
  private heldUp = 0;

  /**
   * @param write never rejects
   * @param begin calls back when everything of the same tick has been added
   */
  constructor(
    private readonly write: (batch: readonly T[]) => Promise<void>,
    maxBatch: number,
    begin: (callback: () => void) => void,
  ) {
    this.batches = new Batcher({
      maxUnderWay: () => (this.heldUp > 0 ? 2 : 1),
      take: ({ length }) => Math.min(length, maxBatch),
      begin,
      send: (batch) => this.send(batch),
    });
  }

  add(item: T): void {
    void this.batches.add(item);
  }

  private async send(batch: readonly T[]): Promise<undefined[]> {
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      this.heldUp += 1;
      this.batches.flush();
    }, SLOW_MS);
    await this.write(batch);
    clearTimeout(timer);
    if (isSlow) this.heldUp -= 1;
    return batch.map(() => undefined);
  }
}
