import { DEFAULT_MAX_PAYLOAD_BYTES } from '../../../job/codec.js';
import type { Keep } from '../../../job/keep.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import type { HeldClaimsConnections } from './held-claims.js';
import { keysOf, type KeysOf } from '../wire/protocol.js';

export interface RedisSourceOptions {
  /** Asks for jobs each so many ms, and makes no call that blocks: for servers that are paid by the command. @default 0: calls block */
  pollInterval?: number;
  /** How long a claim lasts without renewal, in ms. @default 8000, and at least four poll intervals */
  lease?: number;
  /** How long `count:{FN}` includes a worker after its last heartbeat, in ms. @default 10000, and at least five poll intervals */
  presence?: number;
  /** How often a job may lose its worker before it ends as an error. @default 3 */
  maxStalls?: number;
  /** A job with a larger input, which only plain clients can send, ends as an error. @default 1 MiB */
  maxPayloadBytes?: number;
  /** Whether it counts what happens to jobs, for statistics. @default true */
  statistics?: boolean;
  /** How long ended jobs can be read, unless `setKeep` says otherwise. @default 25 hours */
  keep?: Keep;
  /** Whose jobs these are, in events, metrics and spans. @default 'gearmonkey' */
  system?: string;
  /** Makes the keys of a function. @default keysOf */
  keysOf?: KeysOf;
  /** Called with messages about jobs that can't be run and calls that are tried again. */
  onProblem?: (message: string) => void;
  /** Called for an illegal transition of a function's state, which is a bug. @default onProblem */
  onIllegal?: (message: string) => void;
}

/** How many polls fit into a lease at least: of fewer, the server could not tell an outage from the time between two. */
export const POLLS_A_LEASE = 4;
/** The same for a worker's presence. */
const POLLS_A_PRESENCE = 5;

/** The options with what they are where nothing is said. */
export function withDefaults({
  onProblem = () => undefined,
  pollInterval = 0,
  ...given
}: RedisSourceOptions): Required<RedisSourceOptions> {
  return {
    pollInterval,
    lease: Math.max(8000, POLLS_A_LEASE * pollInterval),
    presence: Math.max(10_000, POLLS_A_PRESENCE * pollInterval),
    maxStalls: 3,
    maxPayloadBytes: DEFAULT_MAX_PAYLOAD_BYTES,
    statistics: true,
    keep: {},
    keysOf,
    system: 'gearmonkey',
    onIllegal: onProblem,
    ...given,
    onProblem,
  };
}

export interface SourceConnections extends HeldClaimsConnections {
  /** The connection that waits for work; a cluster needs one per slot, made for any key in it. */
  readonly blocking: RedisConnection | ((key: string) => RedisConnection);
}
