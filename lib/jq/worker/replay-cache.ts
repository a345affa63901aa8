/** Remembers values for at least a given time, in two generations, so that forgetting is cheap. */
export class ReplayCache {
  private current = new Set<string>();
  private former = new Set<string>();
  private turned = 0;

  /** @param time milliseconds */
  constructor(private readonly time: number) {}

  has(key: string, now: number): boolean {
    this.turn(now);
    return this.current.has(key) || this.former.has(key);
  }

  add(key: string, now: number): void {
    this.turn(now);
    this.current.add(key);
  }

  private turn(now: number): void {
    if (now - this.turned < this.time) return;
    this.former = now - this.turned < 2 * this.time ? this.current : new Set();
    this.current = new Set();
    this.turned = now;
  }
}
