/** Runs at most `max` tasks at a time; the others wait in order. */
export class Semaphore {
  private waiting: (() => void)[] = [];
  private next = 0;
  private running = 0;

  constructor(private readonly max: number) {}

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.running === this.max) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      return await task();
    } finally {
      this.leave();
    }
  }

  /** Lets the next waiting task run. */
  private leave(): void {
    const start = this.waiting[this.next];
    if (start) {
      this.next += 1;
      start();
    } else {
      this.running -= 1;
      this.waiting = [];
      this.next = 0;
    }
  }
}
