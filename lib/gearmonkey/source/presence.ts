import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../flow/chunks.js';
import { slotOf } from '../../redis/cluster-slots.js';
import { byFunction } from './by-function.js';
import type { KeysOf } from '../wire/protocol.js';
import * as scripts from '../wire/scripts.js';

/** Most functions whose presence one call signs: it blocks the server meanwhile. */
const MAX_SIGNED = 100;

export interface PresenceOptions {
  /** This worker's name among all. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  /** Whether a call may only name keys of one slot, as on a cluster. */
  readonly bySlot: boolean;
}

/** Signs a worker on and off. */
export class Presence {
  constructor(private readonly options: PresenceOptions) {}

  /** Signs this worker on for `hold` milliseconds; 0 signs off. */
  sign(
    redis: Redis | Cluster,
    functions: readonly string[],
    hold: number,
    beat: 0 | 1 = 0,
  ): Promise<unknown> {
    const calls = this.signedTogether(functions).map((keys) =>
      scripts.presence.run(redis, keys, '', this.options.worker, hold, beat),
    );
    return Promise.all(calls);
  }

  /** The keys for each call. */
  signedTogether(functions: readonly string[]): string[][] {
    const { keysOf, bySlot } = this.options;
    const groups = byFunction(functions, (fn) => (bySlot ? String(slotOf(keysOf(fn).count)) : ''));
    const calls = [...groups.values()].flatMap((group) => chunksOf(group, MAX_SIGNED));
    return calls.map((some) => some.map(keysOf).flatMap(({ count, workers }) => [count, workers]));
  }
}
