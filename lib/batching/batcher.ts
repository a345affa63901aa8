export interface BatcherOptions<T, R> {
  /** Sends a batch. Returns a result for each item, in order; items without a result go into the next batch. */
  readonly send: (items: readonly T[]) => Promise<readonly (R | PromiseLike<R>)[]>;
  /** How many batches may be under way at the same time. @default 1 */
  readonly maxUnderWay?: number | (() => number);
  /** How many of the waiting items the next batch takes, at least one. @default all */
  readonly take?: (waiting: readonly T[]) => number;
  /** Delays a batch until the items that belong together have been added. @default queueMicrotask */
  readonly begin?: (callback: () => void) => void;
}

interface Pending<R> {
  resolve(result: R | PromiseLike<R>): void;
  reject(error: unknown): void;
}

/**
 * Collects items while a round trip is under way and sends them together: under load an item costs fewer calls.
 * Order is kept. When a batch fails, each of its items rejects.
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

  /** Adds an item; resolves with its result. */
  add(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.items.push(item);
      this.pending.push({ resolve, reject });
      this.schedule();
    });
  }

  /** Sends waiting items now, up to `maxUnderWay`, without waiting for the rest of the tick. */
  flush(): void {
    const { take } = this.options;
    while (this.items.length > 0 && this.hasRoom()) {
      const count = take ? Math.max(1, take(this.items)) : this.items.length;
      this.begin(this.items.splice(0, count), this.pending.splice(0, count));
    }
  }

  /** Resolves when no item waits or is under way. Never rejects. */
  async settled(): Promise<void> {
    this.flush();
    while (this.calls.size > 0) await Promise.all(this.calls);
  }

  /** Resolves when the batches have ended that are under way now; where nothing bounds them, all that was added. */
  async answered(): Promise<void> {
    this.flush();
    await Promise.all(this.calls);
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
