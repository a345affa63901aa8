import type { JobResult } from './job-result.js';

/** One target's queue, as the `status` request reports it. */
export interface TargetStatus {
  readonly paused: boolean;
  readonly concurrency: number;
  /** Running and queued jobs together. */
  readonly length: number;
}

/** The reply to the `status` request. */
export interface DaemonStatus {
  readonly targets: Record<string, TargetStatus>;
  /** Manual jobs that clients are waiting for. */
  readonly jobPromisesCount: number;
  readonly memoryUsage: NodeJS.MemoryUsage;
}

/** One run of a job, as metrics count it. */
export interface JobRun {
  readonly target: string;
  /** `retry` if it failed and is tried again, `lost` if the row was changed or deleted, or another daemon has taken it. */
  readonly outcome: 'ok' | 'fail' | 'retry' | 'lost';
  /** From the process's start to its end, in milliseconds. */
  readonly duration: number;
}

/** The results of manual jobs: each id is in one of the two. */
export interface ManualResults {
  /** Jobs that ran, failed ones too. */
  readonly jobs: Map<number, JobResult>;
  /** Jobs that didn't run, with the reason. */
  readonly errors: Map<number, string>;
}

/** The operations of a daemon that a worker's requests call. Errors have the wire's texts. */
export interface DaemonOperations {
  /** Polls all targets if none are given. Returns at once. */
  poll(targets?: readonly string[]): void;
  /** Begins no more jobs; running ones continue. A poll doesn't end the pause. */
  pause(targets?: readonly string[]): void;
  /** Ends the pause and polls. */
  continue(targets?: readonly string[]): void;
  status(): DaemonStatus;
  targets(): readonly string[];
  addTarget(target: string, concurrency: number): void;
  /** @throws while jobs of the target run or wait */
  removeTarget(target: string): void;
  setTargetConcurrency(target: string, concurrency: number): void;
  /** Resolves once every job has ended; rejects if the request as a whole can't be served. */
  runManual(ids: readonly number[]): Promise<ManualResults>;
  /** Whether the signal reached the job, by id. `0` only checks. */
  sendSignal(jobs: ReadonlyMap<number, string | number>): Map<number, boolean>;
  /** `listener` is called when targets were added or removed: the worker then registers again. */
  onTargetsChanged(listener: () => void): void;
}
