import type { JobErrorInfo } from './errors.js';
import type { JobHeaders } from './headers.js';
import type { JobState } from './job-state.js';
import type { RecurringTick } from './recurring.js';
import type { RecordedStep } from './steps.js';

/** How far a job is: `dividend` of `divisor` parts are done. */
export interface Progress {
  readonly dividend: number;
  readonly divisor: number;
}

/** When a job was created, started and finished. Plain clients and workers record none of them. */
export interface JobTimes {
  readonly created?: Date;
  /** When it is due, or when its next attempt is. */
  readonly scheduled?: Date;
  /** When it ends as an error unless it was begun before. */
  readonly expires?: Date;
  readonly started?: Date;
  readonly finished?: Date;
  /** When it goes on without a signal that it waits for. */
  readonly waitsUntil?: Date;
}

/** Why an attempt failed. */
export interface AttemptError extends JobErrorInfo {
  /** The claim it belongs to, counted from 1. */
  readonly attempt: number;
}

/** A snapshot of a job. */
export interface Job<Input = unknown, Output = unknown> {
  readonly id: string;
  readonly fn: string;
  readonly state: JobState;
  readonly input: Input;
  /** Only of a job that has succeeded. */
  readonly output?: Output;
  /** Only of a job that has failed or was cancelled. Of a job that a plain worker ran, only the message is known. */
  readonly error?: JobErrorInfo;
  readonly progress?: Progress;
  /** The error of every attempt that failed, the last included, oldest first. */
  readonly errors: readonly AttemptError[];
  /** How often a worker of this package claimed the job, without claims that were released. */
  readonly attempts: number;
  /** How many of these ended because the worker was lost, if any did. */
  readonly stalls?: number;
  /** How often its handler postponed it with a SnoozeError, or waited for a signal. */
  readonly snoozes: number;
  /** The signals that it waits for, until the time in `times.waitsUntil`: the first one of them wakes it. */
  readonly waitsFor?: readonly string[];
  /** How many jobs it waits for that have not ended. */
  readonly waitsForJobs?: number;
  readonly times: JobTimes;
  /** The id of the worker that runs it, or ran it last. On Redis only, once it has run for a quarter of a lease. */
  readonly worker?: string;
  /** Text that its client sent with it. */
  readonly headers: JobHeaders;
  /** What it is found by. */
  readonly tags?: readonly string[];
  /** The steps of it that are recorded. Absent if it has none. */
  readonly steps?: readonly RecordedStep[];
  /** The schedule that created it. */
  readonly recurring?: RecurringTick;
}

/** An event that the protocol publishes on `channel:{FN}`. */
export interface JobEvent {
  readonly type: 'create' | 'start' | 'finish';
  readonly fn: string;
  readonly id: string;
}

/** A progress update of a running job. */
export interface JobProgress extends Progress {
  readonly fn: string;
  readonly id: string;
}

/** Yielded or emitted by a handler to report progress: `yield progress(3, 10)`. */
export class ProgressUpdate implements Progress {
  constructor(
    readonly dividend: number,
    readonly divisor: number,
  ) {}
}

/** A progress report for generators and observables: `dividend` of `divisor` parts are done. */
export function progress(dividend: number, divisor: number): ProgressUpdate {
  return new ProgressUpdate(dividend, divisor);
}
