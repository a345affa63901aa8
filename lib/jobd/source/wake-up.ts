/** Wakes a waiting worker. */
export class WakeUp {
  private rung = 0;
  private resume: () => void = () => undefined;

  ring(): void {
    this.rung++;
    this.resume();
  }

  /** How many wake-ups there were. Read it before looking for work. */
  get count(): number {
    return this.rung;
  }

  /** Resolves when there were more than `count` wake-ups, or `signal` aborts. */
  async next(count: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.rung !== count) return;
    await new Promise<void>((resolve) => {
      const resume = () => {
        signal.removeEventListener('abort', resume);
        resolve();
      };
      this.resume = resume;
      signal.addEventListener('abort', resume, { once: true });
    });
  }
}
