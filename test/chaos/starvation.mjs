const TICK_MS = 100;

/**
 * Measures how long this process waited for a processor. The machine causes such delays; delays by the process's own
 * work don't count.
 */
export class Starvation {
  #ms = 0;
  #last = performance.now();
  #cpu = process.cpuUsage();

  constructor() {
    setInterval(() => this.#look(), TICK_MS).unref();
  }

  /** Milliseconds since it was made. */
  get ms() {
    this.#look();
    return Math.round(this.#ms);
  }

  #look() {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#ms += Math.max(0, now - this.#last - TICK_MS - (user + system) / 1000);
    this.#last = now;
    this.#cpu = process.cpuUsage();
  }
}
