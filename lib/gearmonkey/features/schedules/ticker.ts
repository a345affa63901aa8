import { MAX_TIMER_MS } from '../../../job/duration.js';
import { messageOf } from '../../../job/errors.js';
import { withoutContext } from '../../../job/without-context.js';
import type { LeaderDuty } from '../../core/source/source-features.js';
import type { Looked } from '../../core/wire/scripts.js';
import type { ScheduleStore } from './schedule-store.js';
import { tickDue, type BrokenSchedule } from './tick.js';

/** How many schedules that can't be computed are logged at once, each in a line. */
const MAX_LOGGED = 5;

/**
 * Creates recurring jobs when they are due. If that fails, the next report of a due tick tries again. Other workers may do
 * the same at the same time.
 */
export class Ticker implements LeaderDuty {
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly ticking = new Set<string>();
  /** Functions of which a tick was reported while others were created. */
  private readonly again = new Set<string>();
  /** Schedules of each function that can't be computed, with the reason that was logged. */
  private readonly broken = new Map<string, ReadonlyMap<string, string>>();
  private closed = false;

  constructor(
    private readonly store: Pick<ScheduleStore, 'due' | 'tick'>,
    /** The same problem has the same `kind`. */
    private readonly onProblem: (kind: string, message: string) => void,
  ) {}

  /** The next tick of `fn` is due in `tick` milliseconds; -1 if none is known. */
  found(fn: string, { tick }: Pick<Looked, 'tick'>): void {
    if (tick >= 0) this.expect(fn, tick);
  }

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

  /** Logs each once, until it is mended or fails for another reason. */
  private logBroken(fn: string, broken: readonly BrokenSchedule[]): void {
    const known = this.broken.get(fn);
    const fresh = broken.filter(({ id, reason }) => known?.get(id) !== reason);
    for (const { id, reason } of fresh.slice(0, MAX_LOGGED))
      this.onProblem(`${fn} ${id}`, `The schedule "${id}" of "${fn}" creates no jobs here: ${reason}`);
    const more = fresh.length - MAX_LOGGED;
    if (more > 0) this.onProblem(`${fn} more`, `${more} more schedules of "${fn}" create no jobs here`);
    if (broken.length === 0) this.broken.delete(fn);
    else this.broken.set(fn, new Map(broken.map(({ id, reason }) => [id, reason])));
  }

  /** Never rejects. */
  private async tick(fn: string): Promise<void> {
    this.ticking.add(fn);
    let wait = -1;
    try {
      const ticked = await tickDue(this.store, fn);
      this.logBroken(fn, ticked.broken);
      wait = ticked.wait;
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
