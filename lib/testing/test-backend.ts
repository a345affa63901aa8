import type { JobStore } from '../gearmonkey/client/job-store.js';
import type { JobKey } from '../gearmonkey/wire/protocol.js';
import type { Claim, Outcome } from '../job/job-source.js';

/** A job that waits, and from when it may run: in ms since 1970, 0 for at once. */
export interface WaitingJob {
  readonly id: string;
  readonly due: number;
}

/** The server of a test's jobs: this process, or a Redis. It does what it is told and nothing by itself. */
export interface TestBackend {
  readonly store: JobStore;
  /** @throws JobTestingError if it can't be reached */
  reach(): Promise<void>;
  /** Counts a worker of the function, or one less. */
  count(fn: string, change: 1 | -1): Promise<void>;
  /** In the order in which workers take them: by their time, those of one time by id, and then those without. */
  waiting(fn: string): Promise<Iterable<WaitingJob>>;
  /** Claims this one, if it waits and is due. Its lease does not end by itself. */
  take(fn: string, id: string): Promise<Claim | undefined>;
  /** False where the claim was no longer held. */
  settle(outcome: Outcome): Promise<boolean>;
  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean>;
  /** Ends the lease: the job goes back to its queue, or has failed if that came too often. */
  expire(claim: Claim): Promise<void>;
  /** Says how often a new job has been claimed. */
  setAttempts(fn: string, job: JobKey, attempts: number): Promise<void>;
  /** Takes a job that waits out of its queue. */
  discard(fn: string, id: string): Promise<void>;
  /** Leaves nothing behind. */
  close(): Promise<void>;
}

/** The waiting jobs of a function. */
export interface WaitingOfFunction {
  readonly fn: string;
  readonly jobs: Iterable<WaitingJob>;
}

/** Asks for all functions at once: a server may be far away. */
export function waitingOf(backend: TestBackend, functions: readonly string[]): Promise<WaitingOfFunction[]> {
  return Promise.all(functions.map(async (fn) => ({ fn, jobs: await backend.waiting(fn) })));
}
