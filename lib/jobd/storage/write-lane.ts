const MAX_BATCH = 200;

/** Hands items over in batches: what comes up while one is under way goes with the next. */
export class WriteLane<T> {
  private waiting: T[] = [];
  private writing: Promise<void> | undefined;
  /** What is under way. */
  batch: Promise<void> | undefined;

  /**
   * @param write never rejects
   * @param preferred whose batch under way is let pass before each of this lane's
   */
  constructor(
    private readonly write: (batch: readonly T[]) => Promise<void>,
    private readonly preferred?: { readonly batch: Promise<void> | undefined },
  ) {}

  add(item: T): void {
    this.waiting.push(item);
    // What comes up in the same tick goes together.
    this.writing ??= Promise.resolve().then(() => this.writeAll());
  }

  private async writeAll(): Promise<void> {
    while (this.waiting.length > 0) {
      await this.preferred?.batch;
      this.batch = this.write(this.waiting.splice(0, MAX_BATCH));
      await this.batch;
    }
    this.writing = this.batch = undefined;
  }
}
