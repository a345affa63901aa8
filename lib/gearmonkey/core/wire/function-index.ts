import type { Cluster, Redis } from 'ioredis';
import { scriptsIn } from '../../../redis/script.js';
import { LUA } from './lua.embedded.js';
import { FUNCTION_INDEX, type KeysOf } from './protocol.js';
import { nameFromWire, wireName } from './wire-names.js';

const defineScript = scriptsIn(LUA);

/** Returns undefined if the index has another type. */
const noteFunctions = defineScript<
  [forgottenMs: number, aheadMs: number, names: readonly string[]],
  true | undefined
>('note-functions', (reply) => (reply === 1 ? true : undefined));

/** Returns names as they are in keys, or undefined if the index has another type. */
export const readFunctions = defineScript<[aheadMs: number, most: number], string[] | undefined>(
  'read-functions',
  (reply) => (reply === 0 ? undefined : (reply as Buffer[]).map(String)),
);

/** How often a process notes a function again: a program with rights to the index may have removed it. */
const AGAIN_MS = 60 * 1000;
/** A function that was not seen for so long is forgotten. */
const FORGOTTEN_MS = 30 * 24 * 60 * 60 * 1000;
/** How far ahead a clock may be that an entry was made by. Entries further ahead are ignored and removed. */
export const AHEAD_MS = 60 * 60 * 1000;
/** Most functions that are read. */
const MOST = 1000;

/** The functions of a database, as this package's clients and workers see them. */
export class FunctionIndex {
  private readonly noted = new Map<string, number>();
  private readonly key: string;
  private isForeign = false;

  /**
   * @param prefix what `keysOf` puts before names; the index's own key begins with it too
   * @param onProblem gets a message for the operator if another program's data is in the key
   */
  constructor(
    private readonly keysOf: KeysOf,
    private readonly prefix = '',
    private readonly onProblem: (message: string) => void = () => undefined,
  ) {
    this.key = prefix + FUNCTION_INDEX;
  }

  /**
   * Notes functions, unless this process did so within the minute. A user without a right to the index only leaves its
   * functions out of it.
   *
   * @param now by `performance.now()`
   */
  note(
    redis: () => Promise<Redis | Cluster>,
    functions: readonly string[],
    now: number = performance.now(),
  ): void {
    const fresh = functions.filter((fn) => now - (this.noted.get(fn) ?? -Infinity) >= AGAIN_MS);
    if (fresh.length === 0) return;
    for (const fn of fresh) this.noted.set(fn, now);
    void this.write(redis, fresh).catch(() => undefined);
  }

  /**
   * The names that were noted last, in order; none if the key has another type.
   *
   * @param most -1 for all of them
   */
  async read(redis: Redis | Cluster, most = MOST): Promise<string[]> {
    const names = this.checked(await readFunctions.run(redis, [this.key], AHEAD_MS, most));
    return (names ?? []).flatMap((name) => nameFromWire(this.keysOf, name, this.prefix) ?? []).sort();
  }

  private async write(redis: () => Promise<Redis | Cluster>, functions: readonly string[]): Promise<void> {
    const names = functions.map((fn) => wireName(this.keysOf, fn));
    this.checked(await noteFunctions.run(await redis(), [this.key], FORGOTTEN_MS, AHEAD_MS, names));
  }

  /** Passes on a reply; undefined says that the key has another type. */
  private checked<T>(reply: T | undefined): T | undefined {
    const isForeign = reply === undefined;
    if (isForeign && !this.isForeign)
      this.onProblem(
        `The key "${this.key}", in which GearMonkey keeps the names of all functions, is no sorted set: overviews ` +
          "show only this program's own functions. Delete or rename the key; workers then make it anew.",
      );
    this.isForeign = isForeign;
    return reply;
  }
}
