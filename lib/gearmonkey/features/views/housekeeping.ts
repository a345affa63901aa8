import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import type { KeepRule } from '../../../job/keep.js';
import { FunctionIndex } from '../../core/wire/function-index.js';
import type { KeysOf } from '../../core/wire/protocol.js';
import { trim } from './view-scripts.js';
import type { KeptRules } from '../../core/source/source-features.js';

/** How often the lists of a function are trimmed. */
const EVERY_MS = 60_000;
/** The same for a function of which only a number of jobs is kept. */
const EVERY_MS_BY_COUNT = 1000;
/** Most entries that one call removes of each list: more would block the server. */
const STEP = 500;
/** Most functions of a call. */
const MOST_FUNCTIONS = 25;
/** Most calls in a row. */
const MOST_CALLS = 1000;

/** What the leader of a function does for those who look at its jobs: it trims their lists, and notes that there is such a function. */
export class Housekeeping {
  private readonly index: FunctionIndex;
  private readonly trimmedAt = new Map<string, number>();
  private busy = false;

  constructor(
    private readonly keysOf: KeysOf,
    private readonly kept: KeptRules,
    private readonly connect: () => Promise<Redis | Cluster>,
  ) {
    this.index = new FunctionIndex(keysOf);
  }

  /** Does what is due. If it fails, the next time tries again. @param now by `performance.now()` */
  async tend(functions: Iterable<string>, now: number): Promise<void> {
    if (this.busy) return;
    const led = [...functions];
    this.index.note(this.connect, led, now);
    const due = this.takeDue(led, now);
    if (due.length === 0) return;
    this.busy = true;
    await Promise.allSettled(chunksOf(due, MOST_FUNCTIONS).map((some) => this.trim(some)));
    this.busy = false;
  }

  forget(fn: string): void {
    this.trimmedAt.delete(fn);
  }

  private pauseOf(fn: string): number {
    const { success, error } = this.kept.of(fn);
    return Math.min(success.count, error.count) < Infinity ? EVERY_MS_BY_COUNT : EVERY_MS;
  }

  /** The functions that were last trimmed longer ago than their pause; they count as trimmed now. */
  private takeDue(functions: readonly string[], now: number): string[] {
    const due = functions.filter((fn) => now - (this.trimmedAt.get(fn) ?? -Infinity) >= this.pauseOf(fn));
    for (const fn of due) this.trimmedAt.set(fn, now);
    return due;
  }

  private async trim(functions: readonly string[]): Promise<void> {
    const keys = functions.flatMap((fn) => {
      const { jobs, ended, retrying } = this.keysOf(fn);
      return [jobs, `${ended}success`, `${ended}failed`, `${ended}cancelled`, retrying];
    });
    const rules = functions.flatMap((fn) => {
      const { success, error } = this.kept.of(fn);
      return [success.age, error.age, countOf(success), countOf(error)];
    });
    const redis = await this.connect();
    for (let calls = 0; calls < MOST_CALLS; calls++)
      if (!(await trim.run(redis, keys, '', STEP, rules))) return;
  }
}

function countOf({ count }: KeepRule): number | '' {
  return count === Infinity ? '' : count;
}
