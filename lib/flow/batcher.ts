export interface BatcherOptions<T, R> {
  /** One call: a result for each item, in their order. Items without one go with the next batch. */
  readonly send: (items: readonly T[]) => Promise<readonly (R | PromiseLike<R>)[]>;
  /** Batches under way at most. @default 1 */
  readonly maxUnderWay?: number | (() => number);
  /** How many of the items that wait make the next batch: one or more. @default all */
  readonly take?: (waiting: readonly T[]) => number;
  /** Calls back when everything that belongs with a first item has been added. @default queueMicrotask */
  readonly begin?: (callback: () => void) => void;
}

interface Pending<R> {
  resolve(result: R | PromiseLike<R>): void;
  reject(error: unknown): void;
}

/**
 * Collects items while a round trip is under way and sends them together: the busier, the fewer calls an item
 * costs. Order is kept. When a batch fails, each of its items rejects.
 */
export class Batcher<T, R> {
  private readonly items: T[] = [];
  private readonly pending: Pending<R>[] = [];
  private readonly calls = new Set<Promise<void>>();
  private isScheduled = false;

  constructor(private readonly options: BatcherOptions<T, R>) {}

  /** How many batches are under way. */
  get underWay(): number {
    return this.calls.size;
  }

  /** What became of the item. */
  add(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.items.push(item);
      this.pending.push({ resolve, reject });
      this.schedule();
    });
  }

  /** Sends what waits, as far as there is room, without waiting for the rest of the tick. */
  flush(): void {
    const { take } = this.options;
    while (this.items.length > 0 && this.hasRoom()) {
      const count = take ? Math.max(1, take(this.items)) : this.items.length;
      this.begin(this.items.splice(0, count), this.pending.splice(0, count));
    }
  }

  /** Resolves when nothing waits or is under way. Never rejects. */
  async settled(): Promise<void> {
    this.flush();
    while (this.calls.size > 0) await Promise.all(this.calls);
  }

  private hasRoom(): boolean {
    const { maxUnderWay = 1 } = this.options;
    return this.calls.size < (typeof maxUnderWay === 'number' ? maxUnderWay : maxUnderWay());
  }

  private schedule(): void {
    if (this.isScheduled || !this.hasRoom()) return;
    this.isScheduled = true;
    (this.options.begin ?? queueMicrotask)(() => {
      this.isScheduled = false;
      this.flush();
    });
  }

  private begin(items: readonly T[], pending: readonly Pending<R>[]): void {
    const call = this.send(items, pending);
    this.calls.add(call);
    void call.then(() => {
      this.calls.delete(call);
      this.flush();
    });
  }

  private async send(items: readonly T[], pending: readonly Pending<R>[]): Promise<void> {
    try {
      const results = await this.options.send(items);
      this.items.unshift(...items.slice(results.length));
      this.pending.unshift(...pending.slice(results.length));
      results.forEach((result, index) => pending[index]?.resolve(result));
    } catch (error) {
      for (const { reject } of pending) reject(error);
    }
  }
}
