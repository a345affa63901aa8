import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import { Changes } from './changes.js';
import { RealTime, turnOfEventLoop } from './real-time.js';
import { Permit, Permits, type Drained } from './run-permits.js';
import { TestClock } from './test-clock.js';
import type { TestSource } from './test-source.js';
import { JobTestTimeoutError, JobTestingError } from './testing-errors.js';
import type { CheckedTestingOptions } from './testing-options.js';

/** Everything is permitted. */
const ALL = () => true;

/** What runs in a test, and when: one clock and one set of permits for all instances of an app. */
export class TestRun {
  readonly clock: TestClock;
  readonly changes = new Changes();
  readonly permits = new Permits(this.changes.tell);
  private readonly sources = new Map<string, TestSource>();
  private isStarted = false;
  private isClosed = false;
  /** Running jobs that were given time to end, and did not: they wait for the clock. */
  private readonly waiting = new Set<string>();
  /** Moves of the clock, one after the other. */
  private moving: Promise<unknown> = Promise.resolve();

  constructor(readonly options: CheckedTestingOptions) {
    this.clock = new TestClock(options.now);
    if (options.isAuto) this.permits.grant(new Permit(ALL));
  }

  add(instance: string, source: TestSource): void {
    this.sources.set(instance, source);
  }

  started(): void {
    this.isStarted = true;
  }

  close(): void {
    this.isClosed = true;
    this.changes.tell();
  }

  readonly hasClosed = (): boolean => this.isClosed;

  /** @throws JobTestingError before the app runs, and after */
  require(what: string): void {
    if (this.isClosed) throw new JobTestingError(`${what}: the app is closed. Call it before app.close().`);
    if (!this.isStarted)
      throw new JobTestingError(
        `${what}: the app has not started, so no worker runs. Await module.init(), or app.init(), first.`,
      );
  }

  /** Permits jobs to run while `work` waits for them, and says how they ended. */
  private async whileAllowed(permit: Permit, work: () => Promise<void>): Promise<Drained> {
    this.permits.grant(permit);
    try {
      await work();
      return permit.drained;
    } finally {
      this.permits.withdraw(permit);
    }
  }

  /** Resolves when nothing runs that this permits and nothing of it is due. @throws what `late` says when the time is over */
  private async untilIdle(permit: Permit, time: RealTime, late: () => Error): Promise<void> {
    while (!(await this.isIdle(permit, time))) {
      if (this.isClosed) throw new JobTestingError('The app was closed while jobs of its test ran.');
      if (time.isOver) throw late();
    }
  }

  /**
   * Runs what this permits until none of it is due; with `scheduled`, until none of it waits, the clock moved to each.
   *
   * @param timeout milliseconds of real time
   * @throws JobTestTimeoutError that names what still runs
   */
  async runPermitted(permit: Permit, what: string, timeout: number, scheduled = false): Promise<Drained> {
    const time = new RealTime(timeout);
    const late = () => lateError(what, timeout, this.running(permit).join(', '));
    try {
      return await this.whileAllowed(permit, async () => {
        for (;;) {
          await this.untilIdle(permit, time, late);
          const next = scheduled ? await this.nextDue(permit) : Infinity;
          if (next === Infinity) return;
          await this.inTurn(() => this.moveTo(next));
        }
      });
    } finally {
      time.clear();
    }
  }

  /** Lets so many milliseconds pass, and runs what falls due on the way, each in its time. */
  advanceBy(ms: number): Promise<Drained> {
    return this.inTurn(() => this.advanceTo(this.clock.now() + ms));
  }

  /** To a time before, nothing falls due. */
  setTime(time: number): Promise<Drained> {
    return this.inTurn(async () => {
      if (time >= this.clock.now()) return this.advanceTo(time);
      this.clock.setBack(time);
      this.options.timers?.setSystemTime(new Date(time));
      return new Permit(ALL).drained;
    });
  }

  private advanceTo(target: number): Promise<Drained> {
    const permit = new Permit(ALL);
    return this.whileAllowed(permit, async () => {
      for (;;) {
        await this.giveTime(permit);
        const next = Math.min(this.clock.nextAlarm, await this.nextDue(permit));
        if (next > target) break;
        await this.moveTo(next);
      }
      await this.moveTo(target);
    });
  }

  /** When the first job that is permitted falls due, of those that are not due now. */
  private async nextDue({ allows }: Permit): Promise<number> {
    const now = this.clock.now();
    let next = Infinity;
    for (const [instance, source] of this.sources)
      for (const { fn, id, due } of await source.waiting())
        if (due > now && due < next && allows(instance, fn, id)) next = due;
    return next;
  }

  private async moveTo(now: number): Promise<void> {
    const { timers } = this.options;
    const ms = now - this.clock.now();
    // First, so that what runs at this time finds it on every clock.
    if (timers && ms > 0) await timers.advanceTimersByTimeAsync(ms);
    this.clock.moveTo(now);
    this.changes.tell();
  }

  private inTurn<T>(move: () => Promise<T>): Promise<T> {
    const moved = this.moving.then(move);
    this.moving = moved.catch(() => undefined);
    return moved;
  }

  /** Handlers that wait for the clock would never end before it moves: those that are known to are given less time. */
  private async giveTime(permit: Permit): Promise<void> {
    const { patience } = this.options;
    for (;;) {
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

  /** Looks once, and waits for a change if there is work. */
  private async isIdle(permit: Permit, time: RealTime): Promise<boolean> {
    // What handlers enqueue without waiting for it is there then, and a chain of jobs leaves room for timers.
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
    return [...this.sources].flatMap(([instance, source]) =>
      source
        .running()
        .filter(({ fn, id }) => allows(instance, fn, id))
        .map(({ fn, id }) =>
          instance === DEFAULT_INSTANCE ? `${fn} ${id}` : `${fn} ${id} of "${instance}"`,
        ),
    );
  }
}

function lateError(what: string, timeout: number, running: string): JobTestTimeoutError {
  const why = running ? `${running} still runs` : 'no handler was free for what waits';
  return new JobTestTimeoutError(
    `${what} waited ${timeout} ms, and ${why}. If that may take so long, pass a \`timeout\`. If a handler waits for the ` +
      "clock, call advance() meanwhile; if it waits for another job, use drain({ recursive: true }) or mode: 'auto'.",
    timeout,
  );
}
