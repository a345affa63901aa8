import type { GearMonkeyStore } from '../gearmonkey/features/index.js';
import type { JobKey } from '../gearmonkey/core/wire/protocol.js';
import type { Claim, Outcome, SourceLimit } from '../job/job-source.js';
import type { StepRecords } from '../job/steps.js';

/** A waiting job, and when it may run in ms since 1970; 0 means immediately. */
export interface WaitingJob {
  readonly id: string;
  readonly due: number;
}

/** Keeps the jobs of a test, in this process or in a Redis. It does nothing by itself. */
export interface TestBackend {
  readonly store: GearMonkeyStore;
  /** @throws JobTestingError if it can't be reached */
  reach(): Promise<void>;
  /** Adds a worker of the function, or removes one. */
  count(fn: string, change: 1 | -1): Promise<void>;
  /** Sets what limits a function that gets a handler; undefined if nothing does. */
  setLimit(fn: string, limit: SourceLimit | undefined): Promise<void>;
  /** The waiting jobs in the order workers take them: by time and id, then those without a time. One whose limit lets none start for a time is due then. */
  waiting(fn: string): Promise<Iterable<WaitingJob>>;
  /** Claims this job if it waits, is due, and no limit prevents it. Its lease does not expire by itself. */
  take(fn: string, id: string): Promise<Claim | undefined>;
  /** Writes an outcome. Returns false if the claim was no longer held. */
  settle(outcome: Outcome): Promise<boolean>;
  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean>;
  readonly records: StepRecords;
  /** Ends the lease. The job returns to its queue, or fails if that happened too often. */
  expire(claim: Claim): Promise<void>;
  /** Sets how often a new job was claimed before. */
  setAttempts(fn: string, job: JobKey, attempts: number): Promise<void>;
  /** Removes a waiting job from its queue. */
  discard(fn: string, id: string): Promise<void>;
  /** Forgets the jobs of all unique keys. */
  forgetUnique(fn: string): Promise<void>;
  /** Deletes everything. */
  close(): Promise<void>;
}

/** The waiting jobs of a function. */
export interface WaitingOfFunction {
  readonly fn: string;
  readonly jobs: Iterable<WaitingJob>;
}

/** Asks about all functions at the same time, because a server may be slow. */
export function waitingOf(backend: TestBackend, functions: readonly string[]): Promise<WaitingOfFunction[]> {
  return Promise.all(functions.map(async (fn) => ({ fn, jobs: await backend.waiting(fn) })));
}

/** As `waitingOf`, without paused functions. */
export async function runnableOf(
  backend: TestBackend,
  functions: readonly string[],
): Promise<WaitingOfFunction[]> {
  // Together: between two requests a job might be claimed, and seem neither to wait nor to run.
  const [waiting, paused] = await Promise.all([
    waitingOf(backend, functions),
    Promise.all(functions.map((fn) => backend.store.isPaused(fn))),
  ]);
  return waiting.filter((_, index) => !paused[index]);
}
