import type { JobResult } from './job-result.js';

/** One target's queue, as the `status` request reports it. */
export interface TargetStatus {
  readonly paused: boolean;
  readonly concurrency: number;
  /** Running and queued jobs together. */
  readonly length: number;
}

/** What the `status` request answers. */
export interface DaemonStatus {
  readonly targets: Record<string, TargetStatus>;
  /** Manual jobs a client is waiting for. */
  readonly jobPromisesCount: number;
  readonly memoryUsage: NodeJS.MemoryUsage;
}

/** One run of a job, as metrics count it. */
export interface JobRun {
  readonly target: string;
  /** `retry` where it failed and is tried again, `lost` where the row was another daemon's by then. */
  readonly outcome: 'ok' | 'fail' | 'retry' | 'lost';
  /** From the process's start to its end, in milliseconds. */
  readonly duration: number;
}

/** What became of manual jobs: each id is in one of the two. */
export interface ManualResults {
  /** Jobs that ran, failed ones too. */
  readonly jobs: Map<number, JobResult>;
  /** Jobs that didn't run, with the reason. */
  readonly errors: Map<number, string>;
}

/** What the worker's requests ask of the daemon. Errors thrown carry the wire's texts. */
export interface DaemonOperations {
  /** All targets where none are given. Returns at once. */
  poll(targets?: readonly string[]): void;
  /** Running jobs go on; a poll doesn't end the pause. */
  pause(targets?: readonly string[]): void;
  /** Ends the pause and polls. */
  continue(targets?: readonly string[]): void;
  status(): DaemonStatus;
  targets(): readonly string[];
  addTarget(target: string, concurrency: number): void;
  /** Refused while jobs of the target run or wait. */
  removeTarget(target: string): void;
  setTargetConcurrency(target: string, concurrency: number): void;
  /** Resolves once every job has ended; rejects where the request as a whole can't be served. */
  runManual(ids: readonly number[]): Promise<ManualResults>;
  /** Whether the signal reached the job, per id. `0` probes. */
  sendSignal(jobs: ReadonlyMap<number, string | number>): Map<number, boolean>;
  /** Called when targets were added or removed: the worker registers anew with its master. */
  onTargetsChanged(listener: () => void): void;
}
