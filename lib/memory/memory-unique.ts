import type { Payload } from '../job/codec.js';
import type { UniqueRule } from '../job/unique.js';
import type { EnqueuedKey, Placement } from '../gearmonkey/core/client/job-store.js';
import { withExpiry } from './flow-members.js';
import type { MemoryJobs } from './memory-jobs.js';
import type { MemoryQueues } from './memory-queues.js';

/** The job that was created last with a key. Times are in ms since 1970. */
interface Entry {
  readonly id: string;
  readonly created: number;
  /** Until when it counts after its end. */
  readonly until: number;
}

/** The parts of a function that unique jobs need. */
interface Server {
  readonly jobs: MemoryJobs;
  readonly waiting: { readonly queues: MemoryQueues };
  enqueue(input: Payload, placement: Placement, now: number): string;
  expire(id: string, now: number): number;
  wake(): void;
}

/** How many entries are checked when a key is added. */
const CHECKED = 2;

/** The unique jobs of one function. As on Redis, an entry is checked when it is read, so that no end of a job removes any. */
export class MemoryUnique {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly fn: Server) {}

  /** How many keys are kept. */
  get size(): number {
    return this.entries.size;
  }

  /** Creates a job, unless another stands for it. */
  enqueue(key: string, rule: UniqueRule, input: Payload, placement: Placement, now: number): EnqueuedKey {
    const entry = this.entries.get(key);
    if (entry && this.stands(entry, rule, now)) {
      if (rule.kind === 'debounce') this.change(entry, rule, input, placement, now);
      return { id: entry.id, created: false };
    }
    const id = this.fn.enqueue(input, placement, now);
    if (!entry) this.forgetSome(now);
    this.entries.delete(key);
    this.entries.set(key, { id, created: now, until: rule.kind === 'throttle' ? now + rule.span : 0 });
    return { id, created: true };
  }

  /** The job that was created last with a key, unless it is forgotten. */
  idOf(key: string): string | undefined {
    return this.entries.get(key)?.id;
  }

  clear(): void {
    this.entries.clear();
  }

  private stands({ id, created, until }: Entry, rule: UniqueRule, now: number): boolean {
    const { jobs } = this.fn;
    const { queues } = this.fn.waiting;
    if (rule.kind === 'throttle') return now < until && now - created < rule.span;
    if (!jobs.has(id) || this.fn.expire(id, now) === 0) return false;
    if (jobs.text(id, 'status') === 'busy') return rule.kind === 'unfinished';
    return rule.kind !== 'debounce' || (!jobs.isBegun(id) && queues.placeOf(id) === 'scheduled');
  }

  private change(
    { id, created }: Entry,
    { span, longest = Infinity }: Extract<UniqueRule, { kind: 'debounce' }>,
    input: Payload,
    { options = '', expiresIn }: Placement,
    now: number,
  ): void {
    const { jobs } = this.fn;
    const { queues } = this.fn.waiting;
    const due = Math.min(now + span, created + longest);
    const own = expiresIn === undefined ? options : withExpiry(options, due + expiresIn);
    jobs.set(id, { input, options: own, due });
    queues.remove(id);
    queues.schedule(id, due);
    this.fn.wake();
  }

  /** Checks the entries that were not checked for longest, and forgets those that are over. */
  private forgetSome(now: number): void {
    for (let left = CHECKED; left > 0; left--) {
      const [key, entry] = this.entries.entries().next().value ?? [];
      if (key === undefined || entry === undefined) return;
      this.entries.delete(key);
      if (!this.isOver(entry, now)) this.entries.set(key, entry);
    }
  }

  private isOver({ id, until }: Entry, now: number): boolean {
    return until <= now && (!this.fn.jobs.has(id) || this.fn.jobs.isFinal(id));
  }
}
