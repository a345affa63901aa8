import type { Queue } from '../gearmonkey/core/wire/protocol.js';

export type Listed = Exclude<Queue, 'scheduled'>;

/** A waiting job, and when it may run in ms since 1970; 0 means at once. */
export interface WaitingId {
  readonly id: string;
  readonly due: number;
}

export const LISTED: readonly Listed[] = ['high', 'normal', 'low'];

/** The ids of one function's waiting jobs, in the order they run: due scheduled jobs, then high, normal, low. */
export class MemoryQueues {
  private readonly lists: Record<Listed, Set<string>> = {
    high: new Set(),
    normal: new Set(),
    low: new Set(),
  };
  /** Jobs that were given back. They run before those in the list of their queue. */
  private readonly fronts: Record<Listed, string[]> = { high: [], normal: [], low: [] };
  private scheduled: WaitingId[] = [];
  /** Jobs that wait for others. They have no time. */
  private readonly later = new Set<string>();

  /** When the next scheduled job is due, in ms since 1970. */
  get nextDue(): number {
    return this.scheduled[0]?.due ?? Infinity;
  }

  add(id: string, queue: Listed): void {
    this.lists[queue].add(id);
  }

  /** Of two that are due at the same time the older one runs first. */
  schedule(id: string, due: number): void {
    if (due === Infinity) {
      this.later.add(id);
      return;
    }
    const isBefore = (entry: WaitingId) =>
      entry.due < due || (entry.due === due && Number(entry.id) <= Number(id));
    const at = this.scheduled.findLastIndex(isBefore) + 1;
    this.scheduled.splice(at, 0, { id, due });
  }

  /** Puts a job back at the front of its queue. */
  giveBack(id: string, queue: Queue): void {
    if (queue === 'scheduled') this.schedule(id, 0);
    else this.fronts[queue].push(id);
  }

  /** All waiting jobs, in the order they run. Those that are taken meanwhile may be among them. */
  *waiting(): Generator<WaitingId> {
    yield* this.scheduled;
    for (const id of this.later) yield { id, due: Infinity };
    for (const queue of LISTED) {
      for (const id of this.fronts[queue].toReversed()) yield { id, due: 0 };
      for (const id of this.lists[queue]) yield { id, due: 0 };
    }
  }

  /** Removes and returns the job that runs next, or the one named by `only`. */
  next(now: number, only?: string): { id: string; queue: Queue } | undefined {
    if (only !== undefined) return this.pick(only, now);
    const due = this.takeDue(now);
    if (due !== undefined) return { id: due, queue: 'scheduled' };
    for (const queue of LISTED) {
      const id = this.take(queue);
      if (id !== undefined) return { id, queue };
    }
    return undefined;
  }

  /** Removes and returns the first scheduled job that is due. */
  takeDue(now: number): string | undefined {
    const first = this.scheduled[0];
    return first && first.due <= now ? this.scheduled.shift()?.id : undefined;
  }

  /** Removes and returns the first job of a list. */
  take(queue: Listed): string | undefined {
    const id = this.fronts[queue].pop() ?? this.lists[queue].values().next().value;
    if (id !== undefined) this.lists[queue].delete(id);
    return id;
  }

  /** The jobs of a queue, in the order they run. */
  idsIn(queue: Queue): string[] {
    if (queue === 'scheduled') return [...this.scheduled.map(({ id }) => id), ...this.later];
    return [...this.fronts[queue].toReversed(), ...this.lists[queue]];
  }

  /** The queue that a job waits in. */
  placeOf(id: string): Queue | undefined {
    if (this.later.has(id) || this.scheduled.some((entry) => entry.id === id)) return 'scheduled';
    return LISTED.find((queue) => this.lists[queue].has(id) || this.fronts[queue].includes(id));
  }

  private pick(id: string, now: number): { id: string; queue: Queue } | undefined {
    const isDue = this.scheduled.some((entry) => entry.id === id && entry.due <= now);
    const queue = this.placeOf(id);
    if (queue === undefined || (queue === 'scheduled' && !isDue)) return undefined;
    this.remove(id);
    return { id, queue };
  }

  remove(...ids: string[]): void {
    const removed = new Set(ids.filter((id) => !this.later.delete(id)));
    if (removed.size === 0) return;
    this.scheduled = this.scheduled.filter(({ id }) => !removed.has(id));
    for (const queue of LISTED) {
      for (const id of removed) this.lists[queue].delete(id);
      this.fronts[queue] = this.fronts[queue].filter((id) => !removed.has(id));
    }
  }
}

/** The list of a queue: jobs that were scheduled have no other priority than the normal one. */
export function listOf(queue: string): Listed {
  return LISTED.find((listed) => listed === queue) ?? 'normal';
}
