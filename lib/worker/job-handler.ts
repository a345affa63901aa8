import type { Observable } from 'rxjs';
import type { ProgressUpdate } from '../job/job.js';
import type { AnyJobDefinition } from '../job/job-definition.js';
import type { RunningJob } from './running-job.js';

/**
 * What a handler may return: the output, a Promise of it, an async generator that yields progress and
 * returns it, or an Observable of progress whose last other value is the output.
 */
export type HandlerResult<Output> =
  | Output
  | Promise<Output>
  | AsyncGenerator<ProgressUpdate, Output, unknown>
  | Observable<ProgressUpdate | Output>;

/** Runs one job. */
export type JobHandler = (input: unknown, job: RunningJob) => unknown;

export interface HandlerOptions {
  /** How many jobs of this function run at the same time in this process. @default 1 */
  concurrency?: number;
}

/** A function, what is known about it, and who runs its jobs. */
export interface HandlerBinding {
  readonly definition: AnyJobDefinition;
  readonly options: HandlerOptions;
  readonly handle: JobHandler;
}
