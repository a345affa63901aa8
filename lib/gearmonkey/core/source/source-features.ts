import type { Claim, JobRecords, Outcome, SourceLimit } from '../../../job/job-source.js';
import { keepRules, type Keep, type KeepRules } from '../../../job/keep.js';
import type { Call } from '../../../redis/rights.js';
import type { FunctionKeys, KeysOf } from '../wire/protocol.js';
import type { Looked } from '../wire/scripts.js';
import type { SourceOutcome } from './outbox.js';
import type { Problems } from './problems.js';
import type { RedisSourceOptions, SourceConnections } from './source-options.js';

/** Gives jobs their keys that were enqueued without one. */
export interface JobKeys {
  /** Whether this worker gives keys to jobs of `fn`. */
  has(fn: string): boolean;
  /** What becomes of jobs without a key. */
  file(fn: string, claims: readonly Claim[]): SourceOutcome[];
  /** Stores the rules by which keys count, also again if the server has lost them. @throws ConnectionError after `timeout` milliseconds */
  store(functions: readonly string[], timeout?: number): Promise<void>;
  set(fn: string, limit: SourceLimit): void;
  forget(fn: string): void;
  /** The calls that a worker needs for them. */
  rights(fn: string, k: FunctionKeys): Call[];
}

/** How long ended jobs are kept. */
export interface KeptRules {
  of(fn: string): KeepRules;
  set(fn: string, keep: Keep): void;
}

/** Does something for functions that this worker leads. Never throws. */
export interface LeaderDuty {
  /** A look at `fn` has found this. */
  found(fn: string, looked: Looked): void;
  /** This worker no longer runs jobs of `fn`. */
  forget?(fn: string): void;
  close?(): void;
}

/** What the leader of functions does for them at times of its own, beside looking for jobs. */
export interface Housekeeper {
  /** Does what is due. Never rejects. @param now by `performance.now()` */
  tend(functions: Iterable<string>, now: number): Promise<void>;
  forget(fn: string): void;
}

/** Counts what happens to jobs. */
export interface JobCounting {
  claimed(claims: readonly Claim[]): void;
  /** @param refused claims whose outcomes were not accepted */
  settled(outcomes: readonly Outcome[], refused: readonly Claim[]): void;
  /** Writes what was counted. */
  close(): Promise<void>;
}

/** What features do for a worker. The core calls them. */
export interface SourceFeatures extends JobRecords {
  readonly keys: JobKeys;
  readonly kept: KeptRules;
  readonly duties: readonly LeaderDuty[];
  /** This worker has ended jobs of `fn` that others wait for. Never throws. */
  readonly onAwaited: (fn: string) => void;
  readonly counting?: JobCounting | undefined;
  /** Makes one for each leadership: on a cluster there is one for each slot. */
  housekeeper(): Housekeeper;
}

/** What a worker does without features. */
export const NO_FEATURES: SourceFeatures = {
  keys: {
    has: () => false,
    file: (_, claims) => claims.map((claim) => ({ claim, status: 'released' })),
    store: async () => undefined,
    set: () => undefined,
    forget: () => undefined,
    rights: () => [],
  },
  kept: { of: () => keepRules({}), set: () => undefined },
  duties: [],
  onAwaited: () => undefined,
  housekeeper: () => ({ tend: async () => undefined, forget: () => undefined }),
};

/** The server of a worker, as features see it. */
export interface SourceServer {
  readonly connections: SourceConnections;
  readonly keysOf: KeysOf;
  readonly options: Required<RedisSourceOptions>;
  readonly problems: Problems;
  /** All of them, once they are made. */
  readonly features: SourceFeatures;
}

/** What all features together do for a worker. */
export function featuresOf(
  server: Omit<SourceServer, 'features'>,
  all: readonly { source?(server: SourceServer): Partial<SourceFeatures> }[],
): SourceFeatures {
  const duties: LeaderDuty[] = [];
  const features: SourceFeatures = { ...NO_FEATURES, duties };
  for (const one of all) {
    const { duties: own = [], ...others } = one.source?.({ ...server, features }) ?? {};
    duties.push(...own);
    Object.assign(features, others);
  }
  return features;
}
