import type { FinalState } from '../job/job-state.js';
import { keepRules, type Keep, type KeepRule, type KeepRules } from '../job/keep.js';
import type { MemoryJobs } from './memory-jobs.js';

/** So many that are kept for others are looked at after each end. */
const FEW_HELD = 50;

/** The jobs of one function that have ended or will be tried again, with the time of that. Ended ones are deleted in time. */
export class MemoryLists {
  /** How long ended jobs are kept, and how many. */
  private keep: KeepRules;
  private readonly ended: Record<FinalState, Map<string, number>> = {
    succeeded: new Map(),
    failed: new Map(),
    cancelled: new Map(),
  };
  private readonly retries = new Map<string, number>();
  /** How many ends it waits for before it looks again past jobs that are kept for others. */
  private readonly pauses: Record<FinalState, number> = { succeeded: 0, failed: 0, cancelled: 0 };

  constructor(
    private readonly jobs: MemoryJobs,
    private readonly usual?: Keep,
    private readonly isHeld: (id: string) => boolean = () => false,
  ) {
    this.keep = keepRules(usual);
  }

  /** What a worker says when it starts holds until the next one does. */
  setKeep(...given: readonly (Keep | undefined)[]): void {
    this.keep = keepRules(this.usual, ...given);
  }

  end(id: string, state: FinalState, now: number): void {
    this.retries.delete(id);
    this.ended[state].set(id, now);
    this.trim(now);
  }

  /** Deletes jobs that ended long ago, and those beyond the number that is kept. */
  trim(now: number): void {
    this.trimList('succeeded', this.keep.success, now);
    for (const state of ['failed', 'cancelled'] as const) this.trimList(state, this.keep.error, now);
  }

  /** A failed or cancelled job is retried or deleted. */
  forget(id: string): void {
    this.ended.failed.delete(id);
    this.ended.cancelled.delete(id);
  }

  retry(id: string, due: number): void {
    this.retries.set(id, due);
  }

  in(state: FinalState): ReadonlyMap<string, number> {
    return this.ended[state];
  }

  /** Retries that are not due yet. */
  retrying(now: number): ReadonlyMap<string, number> {
    for (const [id, due] of this.retries) if (due <= now) this.retries.delete(id);
    return this.retries;
  }

  private trimList(state: FinalState, { age, count }: KeepRule, now: number): void {
    if (this.pauses[state] > 0) {
      this.pauses[state] -= 1;
      return;
    }
    const list = this.ended[state];
    // Jobs that have not ended may read the output of a held one: it stays, and doesn't count.
    let held = 0;
    for (const [id, ended] of list) {
      if (list.size - held <= count && ended + age > now) break;
      if (this.isHeld(id)) {
        held += 1;
        continue;
      }
      list.delete(id);
      this.jobs.delete(id);
    }
    // Otherwise each of very many would be looked at after each end.
    if (held > FEW_HELD) this.pauses[state] = held;
  }
}
