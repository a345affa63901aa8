import { MAX_TIMER_MS } from '../job/duration.js';

/** Calls back for each entry whose time has come, with one timer for all of them. */
export class Deadlines<T> {
  private readonly entries = new Map<T, number>();
  private timer?: NodeJS.Timeout;
  private armedFor = Infinity;

  constructor(private readonly onDue: (entry: T) => void) {}

  /** `at` in milliseconds of `performance.now()`. */
  set(entry: T, at: number): void {
    this.entries.set(entry, at);
    if (at < this.armedFor) this.arm(at);
  }

  /** The timer stays: when it fires, it calls back what is due. */
  delete(entry: T): void {
    this.entries.delete(entry);
  }

  clear(): void {
    this.entries.clear();
    clearTimeout(this.timer);
    this.armedFor = Infinity;
  }

  private arm(at: number): void {
    clearTimeout(this.timer);
    this.armedFor = at;
    this.timer = setTimeout(
      () => this.fire(),
      Math.min(MAX_TIMER_MS, Math.max(0, Math.ceil(at - performance.now()))),
    );
    this.timer.unref();
  }

  private fire(): void {
    this.armedFor = Infinity;
    const now = performance.now();
    const due = [...this.entries].filter(([, at]) => at <= now);
    for (const [entry] of due) {
      this.entries.delete(entry);
      this.onDue(entry);
    }
    const next = Math.min(...this.entries.values());
    if (next < this.armedFor) this.arm(next);
  }
}
