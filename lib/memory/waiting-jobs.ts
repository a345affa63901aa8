import { toErrorInfo, type JobErrorInfo } from '../job/errors.js';
import type { Queue } from '../gearmonkey/core/wire/protocol.js';
import type { MemoryJobs } from './memory-jobs.js';
import type { MemoryLimits } from './memory-limits.js';
import { LISTED, MemoryQueues, type Listed, type WaitingId } from './memory-queues.js';

/** Makes the key of a job from its input. */
export type KeyOf = (input: Uint8Array) => string;

/** How many jobs without a key a claim gives one: more would keep the process from other work. */
const FILED_AT_ONCE = 1000;

/** The jobs of one function that wait: those with a key in the lines of their keys, the others in the protocol's queues. */
export class WaitingJobs {
  readonly queues = new MemoryQueues();
  private isFiling = false;

  constructor(
    private readonly jobs: MemoryJobs,
    private readonly limits: MemoryLimits,
  ) {}

  /** When the next job is due, in ms since 1970. */
  get nextDue(): number {
    return this.isFiling ? 0 : Math.min(this.queues.nextDue, this.limits.nextChange);
  }

  add(id: string, queue: Queue, due: number, key: string | undefined, now: number): void {
    if (key !== undefined) this.limits.add(id, key, queue, due, now);
    else if (queue === 'scheduled') this.queues.schedule(id, due);
    else this.queues.add(id, queue);
  }

  /** Puts a job back at the front of its queue. */
  giveBack(id: string, queue: Queue, now: number): void {
    if (this.limits.has(id)) this.limits.giveBack(id, queue, now);
    else this.queues.giveBack(id, queue);
  }

  runLater(id: string, due: number, now: number): void {
    if (this.limits.has(id)) this.limits.runLater(id, due, now);
    else this.queues.schedule(id, due);
  }

  /** Puts a job that had ended behind the others of its queue or key. */
  addAgain(id: string, queue: Listed, key: string | undefined, now: number): void {
    if (key === undefined) this.queues.add(id, queue);
    else this.limits.add(id, key, queue, 0, now, false);
  }

  remove(id: string, now: number): void {
    this.queues.remove(id);
    this.limits.finish(id, now);
  }

  /** The job that runs next, or the one named by `only`. One without a key is removed, one with a key is not. */
  next(now: number, only?: string): { id: string; queue: Queue } | undefined {
    if (only !== undefined) {
      const queue = this.limits.queueOf(only, now);
      return queue ? { id: only, queue } : this.queues.next(now, only);
    }
    const due = this.queues.takeDue(now);
    if (due !== undefined) return { id: due, queue: 'scheduled' };
    for (const queue of LISTED) {
      const id = this.queues.take(queue) ?? this.limits.next(queue);
      if (id !== undefined) return { id, queue };
    }
    return undefined;
  }

  /** Gives jobs keys that were enqueued without one. `refuse` ends one that can't have a key. */
  file(keyOf: KeyOf, refuse: (id: string, error: JobErrorInfo) => void, now: number): void {
    this.isFiling = false;
    for (let filed = 0; ; filed++) {
      this.isFiling = filed === FILED_AT_ONCE;
      const next = this.isFiling ? undefined : this.queues.next(now);
      if (!next) return;
      // It may have been ended for a client that waited for it.
      if (this.jobs.isFinal(next.id)) continue;
      try {
        const key = keyOf(this.jobs.bytes(next.id, 'input') ?? new Uint8Array());
        this.jobs.set(next.id, { key });
        this.limits.add(next.id, key, next.queue, 0, now);
      } catch (error) {
        refuse(next.id, toErrorInfo(error));
      }
    }
  }

  /** All waiting jobs, in the order they run. Those that are taken meanwhile may be among them. */
  *all(now: number): Generator<WaitingId> {
    yield* this.queues.waiting();
    yield* this.limits.waiting(now);
  }
}
