import { InvalidOptionError } from '../job/errors.js';
import { AppTimers } from './app-timers.js';
import { Changes } from './changes.js';
import { nameOf } from './held-jobs.js';
import { RealTime, turnOfEventLoop } from './real-time.js';
import { Permit, Permits, type Drained } from './run-permits.js';
import { TestClock } from './test-clock.js';
import { tickAll } from './test-ticks.js';
import type { TestSource } from './test-source.js';
import { lateError, TimeLimit } from './time-limit.js';
import { JobTestingError, type JobTestTimeoutError } from './testing-errors.js';
import { LAST_TIME, type CheckedTestingOptions } from './testing-options.js';

const ALL = () => true;

/** Decides which jobs of a test run, and when. All instances of an app share its clock and permits. */
export class TestRun {
  readonly clock: TestClock;
  readonly changes = new Changes();
  readonly permits = new Permits(this.changes.tell);
  private readonly sources = new Map<string, TestSource>();
  private isStarted = false;
  private isClosed = false;
  /** Running jobs that did not end in the time they were given: they wait for the clock. */
  private readonly waiting = new Set<string>();
  /** Moves of the clock happen one after the other. */
  private moving: Promise<unknown> = Promise.resolve();
  private readonly timers: AppTimers | undefined;

  constructor(readonly options: CheckedTestingOptions) {
    this.clock = new TestClock(options.now);
    this.timers = options.timers && new AppTimers(options.timers, this.clock);
    if (options.isAuto) this.permits.grant(new Permit(ALL));
  }

  add(instance: string, source: TestSource): void {
    this.sources.set(instance, source);
  }

  /** Called before the app starts. */
  async begin(): Promise<void> {
    if (this.options.isSet) await this.timers?.agree();
  }

  started(): void {
    this.isStarted = true;
  }

  get hasStarted(): boolean {
    return this.isStarted;
  }

  close(): void {
    this.isClosed = true;
    this.changes.tell();
  }

  readonly hasClosed = (): boolean => this.isClosed;

  /** @throws JobTestingError before the app runs, and after */
  require(what: string): void {
    this.requireOpen(what);
    if (!this.isStarted)
      throw new JobTestingError(
        `${what}: the app has not started, so no worker runs. Await module.init(), or app.init(), first.`,
      );
  }

  /** @throws JobTestingError after the app was closed */
  requireOpen(what: string): void {
    if (this.isClosed) throw new JobTestingError(`${what}: the app is closed. Call it before app.close().`);
  }

  /** Allows jobs to run during `work`, and returns how they ended. */
  private async whileAllowed(
    permit: Permit,
    what: string,
    timeout: number,
    work: (limit: TimeLimit) => Promise<void>,
  ): Promise<Drained> {
    const limit = new TimeLimit(timeout, () => this.late(permit, what, timeout));
    this.permits.grant(permit);
    try {
      await work(limit);
      return permit.drained;
    } finally {
      this.permits.withdraw(permit);
      limit.time.clear();
    }
  }

  /** Resolves when no job that this permit allows runs or is due. */
  private async untilIdle(permit: Permit, limit: TimeLimit): Promise<void> {
    for (;;) {
      const isIdle = await this.isIdle(permit, limit.time);
      this.checkOpen();
      if (isIdle) return;
      await limit.check();
    }
  }

  /**
   * Runs the jobs that this permit allows until none is due; with `scheduled`, moves the clock from job to job until none waits.
   *
   * @param timeout milliseconds of real time
   * @throws JobTestTimeoutError that names the jobs that still run
   */
  runPermitted(permit: Permit, what: string, timeout: number, scheduled = false): Promise<Drained> {
    return this.whileAllowed(permit, what, timeout, async (limit) => {
      if (scheduled) await this.timers?.require();
      for (;;) {
        await this.untilIdle(permit, limit);
        const next = scheduled ? await this.nextDue(permit) : Infinity;
        if (next === Infinity) return;
        await limit.check();
        await this.inTurn(() => this.moveTowards(next, limit));
      }
    });
  }

  /** Moves the clock forward and runs each job at the time it falls due. */
  advanceBy(ms: number, timeout: number): Promise<Drained> {
    return this.inTurn(async () => {
      const target = this.clock.now() + ms;
      if (target > LAST_TIME)
        throw new InvalidOptionError('span', ms, 'a time that ends before the year 9999');
      return this.advanceTo(target, 'advance', timeout);
    });
  }

  /** Sets an earlier time, at which no job falls due. */
  setTime(time: number, timeout: number): Promise<Drained> {
    return this.inTurn(async () => {
      if (time >= this.clock.now()) return this.advanceTo(time, 'setTime', timeout);
      this.clock.setBack(time);
      await this.timers?.require();
      return new Permit(ALL).drained;
    });
  }

  private advanceTo(target: number, what: string, timeout: number): Promise<Drained> {
    const permit = new Permit(ALL);
    return this.whileAllowed(permit, what, timeout, async (limit) => {
      await this.timers?.require();
      for (;;) {
        await this.giveTime(permit, limit);
        this.checkOpen();
        const tick = await tickAll(this.sources.values());
        if (tick.created > 0) continue;
        const next = Math.min(this.clock.nextAlarm, tick.next, await this.nextDue(permit));
        const isThere = this.clock.now() >= target;
        if (next > target && isThere) return;
        await this.moveTowards(Math.min(next, target), limit);
        // On the last stretch only timers of the app run.
        if (next > target && !this.timers) return;
      }
    });
  }

  private checkOpen(): void {
    if (this.isClosed) throw new JobTestingError('The app was closed while jobs of its test ran.');
  }

  /** When the next allowed job falls due that is not due yet. */
  private async nextDue(permit: Permit): Promise<number> {
    let next = Infinity;
    for (const source of this.sources.values()) next = Math.min(next, await source.nextDue(permit));
    return next;
  }

  /** Moves the clock to a time; with fake timers only until something happens. */
  private async moveTowards(time: number, limit: TimeLimit): Promise<void> {
    const { clock, timers, changes } = this;
    if (!timers) {
      clock.moveTo(time);
      return changes.tell();
    }
    const seen = changes.version;
    do {
      await limit.check();
      if (time > clock.now()) await timers.step(time - clock.now());
      else clock.moveTo(time);
      await turnOfEventLoop();
    } while (clock.now() < time && changes.version === seen && !this.isClosed);
    changes.tell();
  }

  private inTurn<T>(move: () => Promise<T>): Promise<T> {
    const moved = this.moving.then(move);
    this.moving = moved.catch(() => undefined);
    return moved;
  }

  /** Handlers that wait for the clock don't end before it moves. Those known to do so get less real time. */
  private async giveTime(permit: Permit, limit: TimeLimit): Promise<void> {
    const { patience } = this.options;
    for (;;) {
      await limit.check();
      const seen = this.changes.version;
      const running = new Set(this.running(permit));
      for (const name of this.waiting) if (!running.has(name)) this.waiting.delete(name);
      const time = new RealTime(this.waiting.size === running.size ? patience / 10 : patience);
      try {
        if (this.isClosed || (await this.isIdle(permit, time))) return;
      } finally {
        time.clear();
      }
      const isAsking = [...this.sources.values()].some((source) => source.isAsking);
      if (!time.isOver || this.changes.version !== seen || isAsking) continue;
      for (const name of running) this.waiting.add(name);
      return;
    }
  }

  /** Checks once, and waits for a change if there is work. */
  private async isIdle(permit: Permit, time: RealTime): Promise<boolean> {
    // By then, jobs that handlers enqueued without awaiting have arrived, and timers had a chance to run.
    await turnOfEventLoop();
    const seen = this.changes.version;
    for (const source of this.sources.values()) {
      if (!(await source.hasWork(permit))) continue;
      await Promise.race([this.changes.since(seen), time.over]);
      return false;
    }
    return this.changes.version === seen;
  }

  private running({ allows }: Permit): string[] {
    return [...this.sources].flatMap(([instance, source]) => {
      const permitted = source.running().filter(({ fn, id }) => allows(instance, fn, id));
      return permitted.map((job) => nameOf(instance, job));
    });
  }

  private async late(permit: Permit, what: string, timeout: number): Promise<JobTestTimeoutError> {
    const running = this.running(permit);
    const waiting = running.length > 0 ? [] : await this.due(permit);
    return lateError({ what, timeout, running, waiting, ended: permit.drained, now: this.clock.now() });
  }

  /** Some jobs that are due and allowed. */
  private async due({ allows }: Permit): Promise<string[]> {
    const found: string[] = [];
    for (const [instance, source] of this.sources)
      for (const job of await source.waiting())
        if (job.due <= this.clock.now() && allows(instance, job.fn, job.id))
          found.push(nameOf(instance, job));
    return found;
  }
}
