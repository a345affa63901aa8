import { checkWhole } from '../job/check-whole.js';
import { millisecondsOr, type Duration } from '../job/duration.js';
import { InvalidOptionError } from '../job/errors.js';
import type { GivenHeaders } from '../job/headers.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { MAX_ATTEMPTS } from '../job/retry.js';
import type { JobStep } from './job-records.js';

/** How long a test waits in real time: shorter than the default timeout of test runners. */
const PATIENCE = '4s';

/** Options of `perform`. */
export interface PerformOptions {
  /** The number of the attempt, as in `job.attempts`; it also decides whether this is the last one. @default 1 */
  attempt?: number;
  /** Headers of the job. They go before those of the module with the same names. */
  headers?: GivenHeaders;
  /** How much real time it may take. @default '4s' */
  timeout?: Duration;
}

/** Options of `drain`. */
export interface DrainOptions {
  /** Also runs jobs that are due later, including retries, until all have ended; the clock moves for each. @default false */
  scheduled?: boolean;
  /** Also runs jobs that these jobs enqueue. @default false */
  recursive?: boolean;
  /** How much real time it may take. @default '4s' */
  timeout?: Duration;
}

/** Options of `advance` and `setTime`. */
export interface AdvanceOptions {
  /** How much real time it may take. @default '4s' */
  timeout?: Duration;
}

/** Options of `until`. */
export interface UntilOptions {
  /** How much real time it may take. @default '4s' */
  timeout?: Duration;
}

const PERFORM = optionNames<Required<PerformOptions>>({ attempt: true, headers: true, timeout: true });
const DRAIN = optionNames<Required<DrainOptions>>({ scheduled: true, recursive: true, timeout: true });
const ADVANCE = optionNames<Required<AdvanceOptions>>({ timeout: true });
const UNTIL = optionNames<Required<UntilOptions>>({ timeout: true });
const STEPS: ReadonlySet<unknown> = new Set<JobStep>(['enqueued', 'started', 'retried', 'done', 'failed']);

/** @throws ConfigurationError, InvalidOptionError */
export function checkPerform(options: PerformOptions): {
  attempt: number;
  headers: GivenHeaders | undefined;
  timeout: number;
} {
  const { attempt = 1, headers, timeout } = checkOptions('perform', options, PERFORM);
  return {
    attempt: checkWhole('attempt', attempt, 1, MAX_ATTEMPTS),
    headers,
    timeout: millisecondsOr(PATIENCE, 'timeout', timeout),
  };
}

/** @throws ConfigurationError, InvalidOptionError */
export function checkDrain(options: DrainOptions): {
  scheduled: boolean;
  recursive: boolean;
  timeout: number;
} {
  const { scheduled = false, recursive = false, timeout } = checkOptions('drain', options, DRAIN);
  for (const [name, value] of Object.entries({ scheduled, recursive }))
    if (typeof value !== 'boolean') throw new InvalidOptionError(name, value, 'true or false');
  return { scheduled, recursive, timeout: millisecondsOr(PATIENCE, 'timeout', timeout) };
}

/** Milliseconds. @throws ConfigurationError, InvalidOptionError */
export function checkAdvance(user: string, options: AdvanceOptions): number {
  return millisecondsOr(PATIENCE, 'timeout', checkOptions(user, options, ADVANCE).timeout);
}

/** Milliseconds. @throws ConfigurationError, InvalidOptionError */
export function checkUntil(step: JobStep, options: UntilOptions): number {
  if (!STEPS.has(step))
    throw new InvalidOptionError('step', step, "'enqueued', 'started', 'retried', 'done' or 'failed'");
  return millisecondsOr(PATIENCE, 'timeout', checkOptions('until', options, UNTIL).timeout);
}
