import { systemClock, type Clock } from '../job/clock.js';
import { MAX_TIMER_MS } from '../job/duration.js';

/** Calls back for each entry when its deadline passes, with one timer for all entries. */
export class Deadlines<T> {
  private readonly entries = new Map<T, number>();
  private disarm: () => void = () => undefined;
  private armedFor = Infinity;

  constructor(
    private readonly onDue: (entry: T) => void,
    /** Called when the time is needed. */
    private readonly clock: () => Clock = () => systemClock,
  ) {}

  /** Sets the deadline of an entry to `ms` milliseconds from now. */
  set(entry: T, ms: number): void {
    const at = this.clock().elapsed() + ms;
    this.entries.set(entry, at);
    if (at < this.armedFor) this.arm(at);
  }

  /** The timer is not cleared: when it fires, it finds the entries that are due then. */
  delete(entry: T): void {
    this.entries.delete(entry);
  }

  clear(): void {
    this.entries.clear();
    this.disarm();
    this.armedFor = Infinity;
  }

  private arm(at: number): void {
    this.disarm();
    this.armedFor = at;
    const clock = this.clock();
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, Math.ceil(at - clock.elapsed())));
    this.disarm = clock.after(wait, () => this.fire(), true);
  }

  private fire(): void {
    this.armedFor = Infinity;
    const now = this.clock().elapsed();
    const due = [...this.entries].filter(([, at]) => at <= now);
    for (const [entry] of due) {
      this.entries.delete(entry);
      this.onDue(entry);
    }
    const next = Math.min(...this.entries.values());
    if (next < this.armedFor) this.arm(next);
  }
}
