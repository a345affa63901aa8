import { checkWhole } from './check-whole.js';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from './duration.js';
import {
  GearMonkeyError,
  InvalidOptionError,
  NotSerializableError,
  PayloadTooLargeError,
  UnreadablePayloadError,
  ValidationError,
} from './errors.js';
import { isInstance } from './error-info.js';
import { checkOptions, optionNames } from './known-options.js';
import { SignalTimeoutError } from './step-errors.js';

/** How the wait before the next attempt is computed: a named rule, or a function of the attempt's number. */
export type Backoff = 'fixed' | 'exponential' | ((attempt: number, error: unknown) => Duration);

/** What happens when a handler fails. */
export interface RetryOptions {
  /** How many attempts there are in all. @default 1, no retry */
  attempts?: number;
  /** @default 'exponential' */
  backoff?: Backoff;
  /** The first wait. @default '1s' */
  delay?: Duration;
  /** The longest wait. @default '1h' */
  max?: Duration;
  /** The random part of a wait, 0 to 1: it spreads retries of jobs that failed together. @default 0.2 */
  jitter?: number;
}

/** Retry options of a single job. They are sent as JSON, so `backoff` can't be a function. */
export type JobRetryOptions = RetryOptions & { backoff?: 'fixed' | 'exponential' };

const DEFAULT_DELAY = '1s';
const DEFAULT_MAX = '1h';
const DEFAULT_JITTER = 0.2;
export const MAX_ATTEMPTS = 1000;

const KNOWN = optionNames<Required<RetryOptions>>({
  attempts: true,
  backoff: true,
  delay: true,
  max: true,
  jitter: true,
});

/** Checks and returns retry options. @throws ConfigurationError, InvalidOptionError */
export function checkRetry(retry: RetryOptions): RetryOptions {
  return checkRetryValues(checkOptions('retry', retry, KNOWN));
}

/** The same for received options, where unknown names are allowed: a later version may have more. @throws InvalidOptionError */
export function checkRetryValues(retry: RetryOptions): RetryOptions {
  const {
    attempts = 1,
    backoff = 'exponential',
    delay = DEFAULT_DELAY,
    max = DEFAULT_MAX,
    jitter = DEFAULT_JITTER,
  } = retry;
  checkWhole('retry.attempts', attempts, 1, MAX_ATTEMPTS);
  if (typeof backoff !== 'function' && backoff !== 'fixed' && backoff !== 'exponential') {
    throw new InvalidOptionError('retry.backoff', backoff, "'fixed', 'exponential' or a function");
  }
  toMilliseconds('retry.delay', delay);
  toMilliseconds('retry.max', max);
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1)) {
    throw new InvalidOptionError('retry.jitter', jitter, 'a number from 0 to 1');
  }
  return retry;
}

/** Thrown by a handler to fail the job at once, with any retry options. */
export class UnrecoverableError extends GearMonkeyError {
  readonly code = 'UNRECOVERABLE';
}

/** Thrown by a handler to try again after a delay, even without retry options. It counts as one attempt. */
export class RetryLaterError extends GearMonkeyError {
  readonly code = 'RETRY_LATER';
  /** Milliseconds. */
  readonly delay: number;

  /** @throws InvalidOptionError */
  constructor(delay: Duration, message = 'not now', options?: ErrorOptions) {
    super(message, options);
    this.delay = toMilliseconds('delay', delay);
  }
}

/**
 * Thrown by a handler to run the job again after a delay, any number of times: neither an attempt nor an error is recorded,
 * and `job.snoozes` counts. For jobs of GearMonkey and `memory:`; elsewhere the attempt fails.
 */
export class SnoozeError extends GearMonkeyError {
  readonly code = 'SNOOZE';
  /** Milliseconds. */
  readonly delay: number;

  /** @throws InvalidOptionError */
  constructor(delay: Duration, message = 'later', options?: ErrorOptions) {
    super(message, options);
    this.delay = toMilliseconds('delay', delay, { least: 0, most: MAX_SPAN_MS });
  }
}

/** Whether a job whose attempt with this number fails is not tried again. */
export function isLast(retry: RetryOptions | undefined, attempt: number): boolean {
  return attempt >= (retry?.attempts ?? 1);
}

/** Milliseconds to wait after a failed attempt (the first is 1), or undefined when the job has failed for good. */
export function retryDelay(
  retry: RetryOptions | undefined,
  attempt: number,
  error: unknown,
  random: () => number = Math.random,
): number | undefined {
  if (isHopeless(error)) return undefined;
  if (isInstance(error, RetryLaterError))
    return attempt < (retry?.attempts ?? MAX_ATTEMPTS) ? toMilliseconds('delay', error.delay) : undefined;
  return !isLast(retry, attempt) ? backoffDelay(retry ?? {}, attempt, error, random) : undefined;
}

/** Errors that another attempt would only repeat: an invalid input, an output that can't be stored, a signal that came too late. */
function isHopeless(error: unknown): boolean {
  const unstorable = isInstance(error, NotSerializableError) || isInstance(error, PayloadTooLargeError);
  if (unstorable) return error.what === 'output';
  return (
    isInstance(error, UnrecoverableError) ||
    isInstance(error, SignalTimeoutError) ||
    isInstance(error, ValidationError) ||
    isInstance(error, UnreadablePayloadError)
  );
}

function backoffDelay(retry: RetryOptions, attempt: number, error: unknown, random: () => number): number {
  const { backoff = 'exponential', delay = DEFAULT_DELAY, jitter = DEFAULT_JITTER } = retry;
  const max = toMilliseconds('retry.max', retry.max ?? DEFAULT_MAX);
  if (typeof backoff === 'function') return Math.min(max, delayOf(backoff(attempt, error)));
  const first = toMilliseconds('retry.delay', delay);
  const wait = Math.min(max, backoff === 'fixed' ? first : first * 2 ** (attempt - 1));
  return wait * (1 - jitter * random());
}

/** A computed number may be arbitrarily large: `retry.max` limits it afterwards. */
function delayOf(result: Duration): number {
  if (typeof result === 'number' && result >= 0) return result;
  return toMilliseconds('the result of retry.backoff', result, { least: 0, most: MAX_SPAN_MS });
}
