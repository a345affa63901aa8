import { Line } from './line.js';
import { LISTED, type Listed } from './memory-queues.js';

/** The jobs of one function that have the same key. */
export class LimitedKey {
  private readonly lines: Partial<Record<Listed, Line<string>>> = {};
  /** Jobs that are not due yet. */
  readonly later = new Set<string>();
  readonly running = new Set<string>();
  /** With a strict order: the job that has begun and not ended. */
  holder: string | undefined;

  constructor(readonly name: string) {}

  /** Jobs that may run as soon as the key has its turn. */
  line(queue: Listed): Line<string> {
    return (this.lines[queue] ??= new Line());
  }

  get waiting(): number {
    return LISTED.reduce((sum, queue) => sum + (this.lines[queue]?.size ?? 0), 0);
  }

  get isIdle(): boolean {
    return this.waiting + this.later.size + this.running.size === 0;
  }

  /** With a strict order: whether a job that has begun keeps others from starting. */
  get isTaken(): boolean {
    return this.running.size > 0 || (this.holder !== undefined && this.later.has(this.holder));
  }

  /** The job that starts next. One that has begun goes before the others. */
  next(queue: Listed): string | undefined {
    const line = this.lines[queue];
    if (this.holder === undefined) return line?.first;
    return line?.has(this.holder) ? this.holder : undefined;
  }

  mayStart(id: string, queue: Listed): boolean {
    return this.lines[queue]?.has(id) === true && (this.holder ?? id) === id;
  }

  start(id: string, queue: Listed, holds: boolean): void {
    this.lines[queue]?.delete(id);
    this.running.add(id);
    if (holds) this.holder = id;
  }

  /** Returns whether it ran. */
  remove(id: string): boolean {
    for (const queue of LISTED) this.lines[queue]?.delete(id);
    this.later.delete(id);
    if (this.holder === id) this.holder = undefined;
    return this.running.delete(id);
  }

  jobs(which: 'waiting' | 'running'): string[] {
    if (which === 'running') return [...this.running];
    return [...LISTED.flatMap((queue) => [...(this.lines[queue] ?? [])]), ...this.later];
  }
}
