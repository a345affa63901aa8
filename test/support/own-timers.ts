import { AsyncLocalStorage, createHook } from 'node:async_hooks';

interface Timer {
  /** Where this package set it. */
  readonly place: string;
  readonly isWithin: boolean;
}

/** Counts how often timers run that this package has set, and those of its packages: each wakes a process that has nothing to do. */
export class OwnTimers {
  /** Where they were set, for each run. */
  readonly runs: string[] = [];
  /** How many of them are of timers that `within` has led to. */
  runsWithin = 0;
  readonly #context = new AsyncLocalStorage<this>();
  readonly #timers = new Map<number, Timer>();
  readonly #hook = createHook({
    init: (id, type) => {
      const place = type === 'Timeout' && /[/](lib[/].*:\d+):\d+/.exec(new Error().stack ?? '')?.[1];
      if (place) this.#timers.set(id, { place, isWithin: this.#context.getStore() === this });
    },
    before: (id) => {
      const timer = this.#timers.get(id);
      if (timer) this.runs.push(timer.place);
      if (timer?.isWithin) this.runsWithin += 1;
    },
  }).enable();

  /** Other suites of the process may have left something that still runs. */
  within<T>(act: () => T): T {
    return this.#context.run(this, act);
  }

  stop(): void {
    this.#hook.disable();
  }
}
