import { MAX_TIMER_MS } from '../job/duration.js';
import type { TestClock } from './test-clock.js';
import { JobTestingError } from './testing-errors.js';
import type { FakeTimers } from './testing-options.js';

/** The fake timers of a test runner, which move with the test's clock. */
export class AppTimers {
  constructor(
    private readonly timers: FakeTimers,
    private readonly clock: TestClock,
  ) {}

  /** Sets `Date` to the time of the test's clock, if timers are fake. Returns whether they are. */
  async agree(): Promise<boolean> {
    if (!(await this.areFake())) return false;
    const now = this.clock.now();
    if (Date.now() !== now) this.timers.setSystemTime(new Date(now));
    return true;
  }

  /** @throws JobTestingError unless timers are fake */
  async require(): Promise<void> {
    if (await this.agree()) return;
    throw new JobTestingError(
      'The option `timers` needs fake timers, and setTimeout is not fake now. Call jest.useFakeTimers() or vi.useFakeTimers() ' +
        'first, or leave the option out.',
    );
  }

  /** Moves both clocks to the app's next timer, at most by `ms`. Its callback may enqueue jobs. */
  async step(ms: number): Promise<void> {
    const most = Math.min(ms, MAX_TIMER_MS);
    const begin = Date.now();
    const passed = () => Math.min(most, Math.max(0, Date.now() - begin));
    let isOver = false;
    const end = setTimeout(() => (isOver = true), most);
    this.clock.follow(passed);
    try {
      await this.timers.advanceTimersToNextTimerAsync();
      // Run other timers with the same time, too.
      await this.timers.advanceTimersByTimeAsync(0);
    } finally {
      clearTimeout(end);
      const time = this.clock.now() - passed() + (isOver ? most : passed());
      this.clock.follow(undefined);
      this.clock.moveTo(time);
    }
  }

  private async areFake(): Promise<boolean> {
    let isFake = false;
    const probe = setTimeout(() => (isFake = true));
    try {
      await this.timers.advanceTimersByTimeAsync(0);
    } catch (error) {
      // vitest throws if timers are not fake. Errors that the app's timers throw are ignored here.
      if (isFake) throw error;
    } finally {
      clearTimeout(probe);
    }
    return isFake;
  }
}
