import { MAX_TIMER_MS } from '../../job/duration.js';
import { messageOf } from '../../job/errors.js';
import { withoutContext } from '../../job/without-context.js';
import type { ScheduleStore } from './schedule-store.js';
import { tickDue } from './tick.js';

/** After this time a worker tries again what it could not do. */
const PAUSE_MS = 1000;

/**
 * Creates recurring jobs when they are due. If that fails, the next report of a due tick tries again. Other workers may do
 * the same at the same time.
 */
export class Ticker {
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly ticking = new Set<string>();
  /** Functions of which a tick was reported while others were created. */
  private readonly again = new Set<string>();
  private closed = false;

  constructor(
    private readonly store: Pick<ScheduleStore, 'due' | 'tick'>,
    /** The same problem has the same `kind`. */
    private readonly onProblem: (kind: string, message: string) => void,
  ) {}

  /** The next tick of `fn` is due in `wait` milliseconds; -1 for none. */
  expect(fn: string, wait: number): void {
    if (this.ticking.has(fn)) {
      if (wait >= 0) this.again.add(fn);
      return;
    }
    this.forget(fn);
    if (this.closed || wait < 0) return;
    const timer = withoutContext(() => setTimeout(() => void this.tick(fn), Math.min(wait, MAX_TIMER_MS)));
    this.timers.set(fn, timer.unref());
  }

  forget(fn: string): void {
    clearTimeout(this.timers.get(fn));
    this.timers.delete(fn);
  }

  close(): void {
    this.closed = true;
    for (const fn of [...this.timers.keys()]) this.forget(fn);
  }

  /** Never rejects. */
  private async tick(fn: string): Promise<void> {
    this.ticking.add(fn);
    let wait = -1;
    try {
      const { broken, ...ticked } = await tickDue(this.store, fn);
      for (const { id, reason } of broken)
        this.onProblem(`${fn} ${id}`, `The schedule "${id}" of "${fn}" creates no jobs here: ${reason}`);
      // Those stay due: without a pause this worker would do nothing else.
      wait = broken.length > 0 && ticked.wait >= 0 ? Math.max(PAUSE_MS, ticked.wait) : ticked.wait;
    } catch (error) {
      if (!this.closed)
        this.onProblem(
          fn,
          `Creating recurring jobs of "${fn}" failed and is tried again: ${messageOf(error)}`,
        );
    } finally {
      this.ticking.delete(fn);
    }
    this.expect(fn, this.again.delete(fn) ? 0 : wait);
  }
}
