// Of the module, not the global: a test's fake timers must not keep jobs from running.
import { clearTimeout, setTimeout } from 'node:timers';

/** In ms. What is due later, the leader of the function finds in time: it looks once a second. */
const LONGEST = 1000;
/** In ms. Jobs that are due within as much of each other are looked for once. */
const TOGETHER = 10;

/** Looks for jobs when they are due that this worker has put off for less than a second. */
export class ShortDelays {
  private readonly timers = new Map<string, NodeJS.Timeout>();

  /** @param look whether a function has work; sets its wake marker then */
  constructor(private readonly look: (fn: string) => unknown) {}

  /** A job of the function is due in so many milliseconds. */
  expect(fn: string, wait: number): void {
    if (wait >= LONGEST) return;
    const at = Math.ceil((performance.now() + wait) / TOGETHER);
    const key = `${at} ${fn}`;
    if (this.timers.has(key)) return;
    const ring = () => {
      this.timers.delete(key);
      this.look(fn);
    };
    this.timers.set(key, setTimeout(ring, at * TOGETHER - performance.now() + 1).unref());
  }

  close(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }
}
