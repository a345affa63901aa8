import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../flow/chunks.js';
import { FunctionIndex } from '../wire/function-index.js';
import { LISTED_MS, type KeysOf } from '../wire/protocol.js';
import { trim } from '../wire/view-scripts.js';

/** How often the lists of a function are trimmed. */
const EVERY_MS = 60_000;
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
    private readonly connect: () => Promise<Redis | Cluster>,
  ) {
    this.index = new FunctionIndex(keysOf);
  }

  /** Does what is due. If it fails, the next time tries again. @param now by `performance.now()` */
  async tend(functions: Iterable<string>, now: number): Promise<void> {
    if (this.busy) return;
    const due = [...functions].filter((fn) => now - (this.trimmedAt.get(fn) ?? -Infinity) >= EVERY_MS);
    if (due.length === 0) return;
    this.busy = true;
    this.index.note(this.connect, ...due);
    for (const fn of due) this.trimmedAt.set(fn, now);
    await Promise.allSettled(chunksOf(due, MOST_FUNCTIONS).map((some) => this.trim(some)));
    this.busy = false;
  }

  forget(fn: string): void {
    this.trimmedAt.delete(fn);
  }

  private async trim(functions: readonly string[]): Promise<void> {
    const keys = functions.flatMap((fn) => {
      const { ended, retrying } = this.keysOf(fn);
      return [`${ended}success`, `${ended}failed`, `${ended}cancelled`, retrying];
    });
    const redis = await this.connect();
    for (let calls = 0; calls < MOST_CALLS; calls++)
      if (!(await trim.run(redis, keys, '', LISTED_MS, STEP))) return;
  }
}
