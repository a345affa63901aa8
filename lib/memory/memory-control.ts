/** What holds for a function in all workers: whether it is paused. */
export class MemoryControl {
  /** Called after each change. */
  readonly listeners = new Set<() => void>();
  private paused = false;

  constructor(private readonly onResume: () => void) {}

  get isPaused(): boolean {
    return this.paused;
  }

  /** While the function is paused, none of its jobs is claimed. */
  pause(paused: boolean): void {
    if (this.paused === paused) return;
    this.paused = paused;
    for (const changed of [...this.listeners]) changed();
    if (!paused) this.onResume();
  }
}
