/** Lets so many through at a time; the others wait, in their order. */
export class Turnstile {
  private waiting: (() => void)[] = [];
  private next = 0;
  private inside = 0;

  constructor(private readonly max: number) {}

  async pass<T>(task: () => Promise<T>): Promise<T> {
    if (this.inside === this.max) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.inside += 1;
    try {
      return await task();
    } finally {
      this.leave();
    }
  }

  /** Whoever is next takes the place. */
  private leave(): void {
    const letIn = this.waiting[this.next];
    if (letIn) {
      this.next += 1;
      letIn();
    } else {
      this.inside -= 1;
      this.waiting = [];
      this.next = 0;
    }
  }
}
