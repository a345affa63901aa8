import type { Observable } from 'rxjs';
import { checkLimit } from '../job/check-limit.js';
import { checkWhole } from '../job/check-whole.js';
import { ConfigurationError } from '../job/errors.js';
import { defined } from '../job/defined.js';
import type { ProgressUpdate } from '../job/job.js';
import type { AnyJobDefinition, RunLimits } from '../job/job-definition.js';
import { toMilliseconds, type Duration } from '../job/duration.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { Limit, WithLimit } from '../job/limit.js';
import { MAX_ATTEMPTS, checkRetry, type RetryOptions } from '../job/retry.js';
import { checkBatch, type BatchOptions, type BatchOutcome } from './batch.js';
import { BatchCollector, type BatchHandler } from './batch-collector.js';
import type { OutputChunk } from '../job/streams.js';
import type { RunningJob } from './running-job.js';

/**
 * What a handler may return: the output; a Promise of it; a generator or async generator that yields progress and
 * chunks and returns the output; or an Observable that emits progress and chunks, whose last other value is the output.
 */
export type HandlerResult<Output, Chunk = unknown> =
  | Output
  | Promise<Output>
  | AsyncGenerator<ProgressUpdate | OutputChunk<Chunk>, Output, unknown>
  | Generator<ProgressUpdate | OutputChunk<Chunk>, Output, unknown>
  | Observable<ProgressUpdate | OutputChunk<Chunk> | Output>;

/** What a batch handler returns: for each job, in their order, `ok(output)`, `fail(error)` or `later(delay)`. */
export type BatchResult<Output> = readonly BatchOutcome<Output>[] | Promise<readonly BatchOutcome<Output>[]>;

/** Upper limits of a job's own options; larger values are reduced to these. */
export interface JobLimits {
  /** Largest `retry.attempts`. @default 1000 */
  attempts?: number;
  /** Longest `jobTimeout`. @default 24 days */
  timeout?: Duration;
}

/** Runs one job. */
export type JobHandler = (input: unknown, job: RunningJob) => unknown;

/** How a handler's jobs are run. */
export interface HandlerOptions<Input = unknown> extends RunLimits, WithLimit<Input> {
  /** How many jobs of this function run at the same time in this process; with `batch`, how many batches. @default 1 */
  concurrency?: number;
  /** The handler gets the inputs and RunningJobs of many jobs at once, and returns an outcome for each. */
  batch?: BatchOptions;
  /** Upper limits of a job's own options, which override these. @default the module's `jobLimits` */
  jobLimits?: JobLimits;
}

/** How this handler's jobs are run, checked. */
export interface HandlerLimits {
  readonly concurrency: number;
  readonly retry?: RetryOptions;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly jobLimits?: CheckedJobLimits;
  readonly limit?: Limit;
}

interface CheckedJobLimits {
  readonly attempts: number;
  /** Milliseconds. */
  readonly timeout: number;
}

/** A function, its definition, and its handler. */
export interface HandlerBinding {
  readonly definition: AnyJobDefinition;
  readonly limits: HandlerLimits;
  readonly handle: JobHandler;
  /** Collects the jobs of a handler that runs many at once. */
  readonly batch?: BatchCollector;
}

/** Binds a handler to its function; the handler's options override the definition's. @throws ConfigurationError, InvalidOptionError */
export function bindHandler(
  definition: AnyJobDefinition,
  options: HandlerOptions,
  handle: JobHandler | BatchHandler,
): HandlerBinding {
  const { concurrency = 1, retry = definition.retry, timeout = definition.timeout, jobLimits } = options;
  checkWhole('concurrency', concurrency, 1);
  const limit =
    options.limit === undefined
      ? definition.limit
      : checkLimit(definition.name, options.limit, definition.limit);
  const { batch } = options;
  const most = timeout === undefined ? undefined : toMilliseconds('timeout', timeout);
  const batchLimits = batch && checkBatch(batch);
  if (batchLimits && batchLimits.wait >= (most ?? Infinity))
    throw new ConfigurationError(
      `The \`batch.wait\` of "${definition.name}" is not shorter than its \`timeout\`, which counts from when a job begins to wait for its batch: make \`timeout\` longer.`,
    );
  const collector = batchLimits && new BatchCollector(definition.name, batchLimits, handle as BatchHandler);
  return {
    definition,
    ...(collector
      ? { batch: collector, handle: (input, job) => collector.add(input, job) }
      : { handle: handle as JobHandler }),
    limits: defined({
      concurrency,
      retry: retry === undefined ? undefined : checkRetry(retry),
      timeout: most,
      jobLimits: jobLimits === undefined ? undefined : checkJobLimits(jobLimits),
      limit,
    }),
  };
}

const LIMITS = optionNames<Required<JobLimits>>({ attempts: true, timeout: true });

/** @throws ConfigurationError, InvalidOptionError */
export function checkJobLimits(limits: JobLimits): CheckedJobLimits {
  const { attempts = MAX_ATTEMPTS, timeout } = checkOptions('jobLimits', limits, LIMITS);
  checkWhole('jobLimits.attempts', attempts, 1);
  return {
    attempts,
    timeout: timeout === undefined ? Infinity : toMilliseconds('jobLimits.timeout', timeout),
  };
}
