/** Calls back once, at the earliest of the given times. */
export class SweepTimer {
  private timer: NodeJS.Timeout | undefined;
  private at = Infinity;

  constructor(private readonly onDue: () => void) {}

  /** @param ms from now */
  within(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.at) return;
    this.clear();
    this.at = at;
    this.timer = setTimeout(this.onDue, ms);
  }

  clear(): void {
    clearTimeout(this.timer);
    this.at = Infinity;
  }
}
