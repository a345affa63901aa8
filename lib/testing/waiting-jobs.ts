import type { EmbeddedServer } from '../embedded/embedded-server.js';
import type { SortedSet } from '../embedded/store/sorted-set.js';
import { NEVER_SECONDS } from '../job/flows.js';
import type { FunctionKeys } from '../gearmonkey/core/wire/protocol.js';

/** A waiting job, and when it may run in ms since 1970; 0 means immediately. */
export interface WaitingJob {
  readonly id: string;
  readonly due: number;
}

/** Scores up to this one are for a job that is being taken, and for those that it goes before. */
export const TAKEN = 0.001;
/** So many may be passed over each time. */
const MANY = 100;

/**
 * The waiting jobs of a function in the order in which workers take them, read one by one from where they are stored: a test asks
 * again for each job that it runs, and there may be thousands.
 */
export class EmbeddedWaiting {
  private set: SortedSet | undefined;
  /** By time and number; some may be gone, or have another time by now. */
  private order: WaitingJob[] = [];

  constructor(
    private readonly server: EmbeddedServer,
    private readonly keys: Pick<FunctionKeys, 'scheduled' | 'high' | 'normal' | 'low'>,
  ) {}

  *all(): Generator<WaitingJob> {
    const set = this.follow(this.server.sorted(this.keys.scheduled));
    if (set) for (const job of this.order) if (isThere(set, job)) yield job;
    const { high, normal, low } = this.keys;
    for (const key of [high, normal, low]) {
      const list = this.server.list(key);
      // Workers pop from the end of a list.
      for (let i = (list?.length ?? 0) - 1; i >= 0; i--) yield { id: list?.at(i) ?? '', due: 0 };
    }
  }

  /** Brings the order up to date. */
  private follow(set: SortedSet | undefined): SortedSet | undefined {
    if (set !== this.set) {
      this.set = set;
      if (set) set.isWatched = true;
      this.order = (set?.all() ?? [])
        .map(({ member, score }) => ({ id: member, due: dueOf(score) }))
        .sort(inOrder);
    } else if (set) {
      for (const id of set.changed) this.insert(id, set.score(id));
      this.forget(set);
    }
    if (set) set.changed.length = 0;
    return set;
  }

  /** Removes those that are gone, if they are many. */
  private forget(set: SortedSet): void {
    let gone = 0;
    while (gone < this.order.length && !isThere(set, this.order[gone] as WaitingJob)) gone += 1;
    if (gone > MANY) this.order.splice(0, gone);
    if (this.order.length > 2 * set.size + MANY) this.order = this.order.filter((job) => isThere(set, job));
  }

  private insert(id: string, score: number | undefined): void {
    if (score === undefined) return;
    const job = { id, due: dueOf(score) };
    let [low, high] = [0, this.order.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (inOrder(this.order[middle] as WaitingJob, job) < 0) low = middle + 1;
      else high = middle;
    }
    const known = this.order[low];
    if (known?.id !== id || known.due !== job.due) this.order.splice(low, 0, job);
  }
}

function isThere(set: SortedSet, { id, due }: WaitingJob): boolean {
  const score = set.score(id);
  return score !== undefined && dueOf(score) === due;
}

/** Sorts by time and then by number: a server sorts ids with the same time as text, and with a test's clock many have the same. */
export function inOrder(one: WaitingJob, other: WaitingJob): number {
  return one.due - other.due || Number(one.id) - Number(other.id);
}

/** Jobs that wait for others have a score that never comes. */
export function dueOf(score: number): number {
  return score === NEVER_SECONDS ? Infinity : Math.round(score * 1000);
}
