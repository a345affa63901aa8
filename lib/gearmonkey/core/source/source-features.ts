import type { Claim } from '../../../job/job-source.js';
import type { KeepRules } from '../../../job/keep.js';
import type { SourceOutcome } from './outcome-arguments.js';

/** Gives jobs their keys that were enqueued without one. */
export interface JobKeys {
  /** Whether this worker gives keys to jobs of `fn`. */
  has(fn: string): boolean;
  /** What becomes of jobs without a key. */
  file(fn: string, claims: readonly Claim[]): SourceOutcome[];
  /** Stores the rules by which keys count, also again if the server has lost them. */
  store(functions: readonly string[]): Promise<void>;
}

/** How long ended jobs are kept. */
export interface KeptRules {
  of(fn: string): KeepRules;
}

/** Gets to know of jobs that have ended and that others wait for, or that belong to flows. Never throws. */
export interface EndedJobs {
  /** This worker has ended some. */
  settle(fn: string): void;
  /** There may be some that were not reported. */
  review(fn: string): void;
}

/** Creates jobs of schedules. */
export interface Ticks {
  /** The next tick of `fn` is due in so many milliseconds. */
  expect(fn: string, wait: number): void;
  forget(fn: string): void;
  close(): void;
}

/** What the leader of functions does for them beside looking for jobs. */
export interface Housekeeper {
  /** Does what is due. Never rejects. @param now by `performance.now()` */
  tend(functions: Iterable<string>, now: number): Promise<void>;
  forget(fn: string): void;
}

/** What features do for a worker. The core calls them; `lib/gearmonkey/redis-source.ts` brings them. */
export interface SourceFeatures {
  readonly limits: JobKeys;
  readonly keep: KeptRules;
  readonly flows: EndedJobs;
  readonly ticker: Ticks;
  /** Makes one for each leadership: on a cluster there is one for each slot. */
  housekeeper(): Housekeeper;
}
