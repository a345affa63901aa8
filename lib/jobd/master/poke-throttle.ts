/** Passes a first poke on at once; pokes within the interval are merged and passed on at its end. */
export class PokeThrottle {
  private readonly waiting = new Set<string>();
  private timer?: NodeJS.Timeout;

  /** `interval` in milliseconds; 0 lets everything through. */
  constructor(
    private readonly interval: number,
    private readonly poke: (targets: readonly string[]) => void,
  ) {}

  add(targets: readonly string[]): void {
    if (this.timer) for (const target of targets) this.waiting.add(target);
    else this.pass(targets);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.waiting.clear();
  }

  private pass(targets: readonly string[]): void {
    if (this.interval > 0) this.timer = setTimeout(() => this.elapsed(), this.interval).unref();
    this.poke(targets);
  }

  private elapsed(): void {
    this.timer = undefined;
    if (this.waiting.size === 0) return;
    const targets = [...this.waiting];
    this.waiting.clear();
    this.pass(targets);
  }
}
