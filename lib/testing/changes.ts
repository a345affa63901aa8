/** Notifies waiting code that something has changed. It then checks its own condition. */
export class Changes {
  private count = 0;
  private waiting: (() => void)[] = [];

  /** The number of changes so far. */
  get version(): number {
    return this.count;
  }

  readonly tell = (): void => {
    this.count += 1;
    for (const resolve of this.waiting.splice(0)) resolve();
  };

  /** Resolves at the first change after `version` was read. */
  since(version: number): Promise<void> {
    if (this.count !== version) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
