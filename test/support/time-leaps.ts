interface Pending {
  /** By the moved clock. */
  due: number;
  run(): void;
  /** In ms, of an interval. */
  readonly every?: number;
  /** Rings earlier than the timer itself, after a leap that did not reach it. */
  sooner?: NodeJS.Timeout;
}

type Callback = (...args: unknown[]) => void;

const REPLACED = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;

/**
 * Lets time pass for the code under test, as if the process had been stopped: `Date.now()`, `performance.now()` and the
 * global timers move ahead, and go on from there. Timers that are then over ring once, in their order. Not moved are
 * `new Date()` and timers of `node:timers`. A wait of `until` that is under way loses as much of its patience.
 */
export class TimeLeaps {
  private readonly real = {
    now: Date.now,
    elapsed: performance.now.bind(performance),
    globals: REPLACED.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const),
    ...{ setTimeout, clearTimeout, setInterval, clearInterval },
  };
  private readonly pending = new Map<unknown, Pending>();
  /** In whole ms, as the clock of a server that is moved too. */
  private ahead = 0;

  constructor() {
    const { real } = this;
    Date.now = () => real.now() + this.ahead;
    // An own property of the object that `node:perf_hooks` has too: a worker subtracts times of the one from the other's.
    Object.defineProperty(performance, 'now', { value: () => this.elapsed(), configurable: true });
    const replacements: Record<(typeof REPLACED)[number], unknown> = {
      setTimeout: (callback: Callback, ms = 0, ...args: unknown[]) =>
        this.timeout(ms, () => callback(...args)),
      setInterval: (callback: Callback, ms = 0, ...args: unknown[]) =>
        this.interval(ms, () => callback(...args)),
      clearTimeout: (timer: unknown) => this.clear(timer),
      clearInterval: (timer: unknown) => this.clear(timer),
    };
    for (const name of REPLACED)
      Object.defineProperty(globalThis, name, {
        value: replacements[name],
        configurable: true,
        writable: true,
      });
  }

  /** @param ms whole milliseconds */
  leap(ms: number): void {
    this.move(ms);
    this.ring();
  }

  /** Moves the clocks; `ring` has to follow. In between, the clock of a server can be moved as well. */
  move(ms: number): void {
    this.ahead += ms;
  }

  /** Runs the timers that are over by now. */
  ring(): void {
    const now = this.elapsed();
    const due = [...this.pending]
      .filter(([, { due: at }]) => at <= now)
      .sort(([, a], [, b]) => a.due - b.due);
    for (const [timer, one] of due) {
      // One that rang before may have cleared it.
      if (this.pending.get(timer) !== one) continue;
      if (one.every === undefined) this.clear(timer);
      else one.due = now + one.every;
      one.run();
    }
    for (const [timer, one] of this.pending) if (one.every === undefined) this.hasten(timer, one);
  }

  /** Gives the clocks and timers back; those that are set still ring. */
  end(): void {
    Date.now = this.real.now;
    Reflect.deleteProperty(performance, 'now');
    for (const [name, descriptor] of this.real.globals)
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
  }

  private elapsed(): number {
    return this.real.elapsed() + this.ahead;
  }

  private timeout(ms: number, callback: () => void): NodeJS.Timeout {
    const run = () => {
      this.clear(timer);
      callback();
    };
    const timer = this.real.setTimeout(run, ms);
    this.pending.set(timer, { due: this.elapsed() + ms, run: callback });
    return timer;
  }

  private interval(ms: number, run: () => void): NodeJS.Timeout {
    const timer = this.real.setInterval(() => {
      const one = this.pending.get(timer);
      if (one) one.due = this.elapsed() + ms;
      run();
    }, ms);
    this.pending.set(timer, { due: this.elapsed() + ms, run, every: ms });
    return timer;
  }

  /** The timer stays the one that its owner knows, and can clear. */
  private hasten(timer: unknown, one: Pending): void {
    this.real.clearTimeout(one.sooner);
    const ring = () => {
      this.clear(timer);
      one.run();
    };
    one.sooner = this.real.setTimeout(ring, one.due - this.elapsed()).unref();
  }

  private clear(timer: unknown): void {
    this.real.clearTimeout(this.pending.get(timer)?.sooner);
    this.pending.delete(timer);
    this.real.clearTimeout(timer as NodeJS.Timeout);
  }
}
