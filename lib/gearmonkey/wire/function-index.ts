import type { Cluster, Redis } from 'ioredis';
import { FUNCTION_INDEX, type KeysOf } from './protocol.js';
import { noteFunctions } from './view-scripts.js';
import { nameFromWire, wireName } from './wire-names.js';

/** How often a process notes a function again. */
const AGAIN_MS = 60 * 60 * 1000;
/** A function that was not seen for so long is forgotten. */
const FORGOTTEN_MS = 30 * 24 * 60 * 60 * 1000;
/** Most functions that are read. */
const MOST = 1000;

/** The functions of a database, as this package's clients and workers see them. */
export class FunctionIndex {
  private readonly noted = new Map<string, number>();

  private readonly key: string;

  /** @param prefix what `keysOf` puts before names; the index's own key begins with it too */
  constructor(
    private readonly keysOf: KeysOf,
    private readonly prefix = '',
  ) {
    this.key = prefix + FUNCTION_INDEX;
  }

  /**
   * Notes functions, unless this process did so within the hour. A user without a right to the index only leaves its
   * functions out of it.
   */
  note(redis: () => Promise<Redis | Cluster>, ...functions: readonly string[]): void {
    const now = performance.now();
    const fresh = functions.filter((fn) => now - (this.noted.get(fn) ?? -Infinity) >= AGAIN_MS);
    if (fresh.length === 0) return;
    for (const fn of fresh) this.noted.set(fn, now);
    void this.write(redis, fresh).catch(() => {
      for (const fn of fresh) this.noted.set(fn, now - AGAIN_MS + AGAIN_MS / 60);
    });
  }

  /** @param most -1 for all of them */
  async read(redis: Redis | Cluster, most = MOST): Promise<string[]> {
    const names = await redis.zrevrange(this.key, 0, most < 0 ? most : most - 1);
    return names.flatMap((name) => nameFromWire(this.keysOf, name, this.prefix) ?? []).sort();
  }

  private async write(redis: () => Promise<Redis | Cluster>, functions: readonly string[]) {
    const names = functions.map((fn) => wireName(this.keysOf, fn));
    await noteFunctions.run(await redis(), [this.key], '', FORGOTTEN_MS, names);
  }
}
