import { createHook } from 'node:async_hooks';

/** Counts how often timers run that this package has set, and those of its packages: each wakes a process that has nothing to do. */
export class OwnTimers {
  runs = 0;
  readonly #own = new Set<number>();
  readonly #hook = createHook({
    init: (id, type) => {
      if (type === 'Timeout' && /[/]lib[/]/.test(new Error().stack ?? '')) this.#own.add(id);
    },
    before: (id) => void (this.runs += this.#own.has(id) ? 1 : 0),
  }).enable();

  stop(): void {
    this.#hook.disable();
  }
}
