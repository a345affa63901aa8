import { Batcher } from '../../flow/batcher.js';

/** A slower batch is blocked, for instance by a locked row: others needn't wait for it. */
const SLOW_MS = 250;

/** Writes in batches, one at a time; a second one may run beside a blocked batch. */
export class WriteQueue<T> {
  private readonly batches: Batcher<T, void>;
  /** Slow batches that are under way. */
  private readonly heldUp = new Set<readonly T[]>();

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
      maxUnderWay: () => (this.heldUp.size > 0 ? 2 : 1),
      take: ({ length }) => Math.min(length, maxBatch),
      begin,
      send: (batch) => this.send(batch),
    });
  }

  add(item: T): void {
    void this.batches.add(item);
  }

  private async send(batch: readonly T[]): Promise<undefined[]> {
    const timer = setTimeout(() => {
      this.heldUp.add(batch);
      this.batches.flush();
    }, SLOW_MS);
    try {
      await this.write(batch);
    } finally {
      clearTimeout(timer);
      this.heldUp.delete(batch);
    }
    return batch.map(() => undefined);
  }
}
