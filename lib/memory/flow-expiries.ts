import { Agenda } from './agenda.js';
import { keyOf, type Job } from './flow-members.js';
import type { MemoryFunction } from './memory-function.js';

/** In ms. When to look again at a job that has begun: it may be given back, as if it had not. */
const AGAIN = 1000;

/** When jobs expire that belong to flows or that others wait for: their functions may have no worker that would notice. */
export class FlowExpiries {
  private readonly jobs = new Map<string, Job>();
  private readonly agenda = new Agenda<string>();

  constructor(private readonly server: { function(name: string): MemoryFunction; wake(): void }) {}

  /** The first of them, in ms since 1970, or Infinity. */
  get next(): number {
    return this.agenda.next;
  }

  /** Notes when a job expires, if it does. */
  note(job: Job): void {
    const at = this.server.function(job.fn).jobs.expiryOf(job.id);
    if (at === undefined) return;
    const isFirst = at < this.next;
    this.jobs.set(keyOf(job), job);
    this.agenda.set(keyOf(job), at);
    if (isFirst) this.server.wake();
  }

  forget(job: Job): void {
    if (this.jobs.delete(keyOf(job))) this.agenda.delete(keyOf(job));
  }

  /** Ends those whose time has come and that no worker has begun. */
  end(now: number): void {
    if (this.agenda.next > now) return;
    for (const key of this.agenda.take(now)) {
      const job = this.jobs.get(key);
      if (!job) continue;
      if (this.server.function(job.fn).expire(job.id, now) < 0) this.agenda.set(key, now + AGAIN);
      else this.jobs.delete(key);
    }
  }
}
