import type { Cluster, Redis } from 'ioredis';
import { messageOf } from '../job/errors.js';
import { isReply, isTransientReply } from '../redis/redis-errors.js';
import type { Skipped } from './finding.js';

/** A connection to examine, and what could not be read on it. */
export class Examination {
  readonly #skipped = new Map<string, string>();

  constructor(readonly redis: Redis | Cluster) {}

  get skipped(): Skipped[] {
    return [...this.#skipped].map(([what, why]) => ({ what, why }));
  }

  skip(what: string, why: string): void {
    if (!this.#skipped.has(what)) this.#skipped.set(what, why);
  }

  /** Asks; if the server refuses, records that and returns undefined. @throws ConnectionError and the like */
  async look<T>(what: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      return await ask();
    } catch (error) {
      if (!isReply(error) || isTransientReply(error)) throw error;
      this.skip(what, messageOf(error));
      return undefined;
    }
  }
}
