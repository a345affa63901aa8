import type { FreeSlots } from '../job/job-source.js';

/** The free slots of a worker's functions, which a source reads before it claims. */
export class SlotTable implements FreeSlots {
  private readonly free = new Map<string, number>();
  private readonly listeners = new Set<(fn: string) => void>();

  constructor(free: Iterable<readonly [fn: string, count: number]> = []) {
    for (const [fn, count] of free) this.set(fn, count);
  }

  /** Whether no function has a free slot. */
  get isEmpty(): boolean {
    return this.free.size === 0;
  }

  of(fn: string): number {
    return this.free.get(fn) ?? 0;
  }

  functions(): readonly string[] {
    return [...this.free.keys()];
  }

  onFree(listener: (fn: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(fn: string, count: number): void {
    if (count === 0) return void this.free.delete(fn);
    const hadNone = !this.free.has(fn);
    this.free.set(fn, count);
    if (hadNone) for (const listener of this.listeners) listener(fn);
  }
}
