import type { Observable } from 'rxjs';
import type { ProgressUpdate } from '../job/job.js';
import type { AnyJobDefinition, RunLimits } from '../job/job-definition.js';
import { toMilliseconds } from '../job/duration.js';
import { InvalidOptionError } from '../job/errors.js';
import { checkRetry, type RetryOptions } from '../job/retry.js';
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

export interface HandlerOptions extends RunLimits {
  /** How many jobs of this function run at the same time in this process. @default 1 */
  concurrency?: number;
}

/** How this handler's jobs are run, checked. */
export interface HandlerLimits {
  readonly concurrency: number;
  readonly retry?: RetryOptions;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** A function, what is known about it, and who runs its jobs. */
export interface HandlerBinding {
  readonly definition: AnyJobDefinition;
  readonly limits: HandlerLimits;
  readonly handle: JobHandler;
}

/** Binds a handler to its function; the handler's options go before the definition's. @throws InvalidOptionError */
export function bindHandler(
  definition: AnyJobDefinition,
  options: HandlerOptions,
  handle: JobHandler,
): HandlerBinding {
  const { concurrency = 1, retry = definition.retry, timeout = definition.timeout } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new InvalidOptionError('concurrency', concurrency, 'a whole number above 0');
  }
  return {
    definition,
    handle,
    limits: {
      concurrency,
      ...(retry === undefined ? {} : { retry: checkRetry(retry) }),
      ...(timeout === undefined ? {} : { timeout: toMilliseconds('timeout', timeout) }),
    },
  };
}
