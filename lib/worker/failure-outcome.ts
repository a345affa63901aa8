import { toMilliseconds, MAX_SPAN_MS } from '../job/duration.js';
import { isInstance } from '../job/error-info.js';
import { ConfigurationError, toErrorInfo, type ErrorDetail, type JobErrorInfo } from '../job/errors.js';
import type { Claim, Outcome } from '../job/job-source.js';
import { HoldKeyError } from '../job/limit-errors.js';
import { retryDelay, SnoozeError, type RetryOptions } from '../job/retry.js';
import type { SourceCapabilities } from '../job/source-capabilities.js';
import { BatchStoppedError } from './batch.js';

/** What the outcome of a failed attempt depends on. */
export interface FailureRules {
  readonly retry: RetryOptions | undefined;
  readonly attempt: number;
  readonly hasLimit: boolean;
  readonly capabilities: SourceCapabilities;
  readonly errorDetail: ErrorDetail | undefined;
  readonly maxPayloadBytes: number;
}

/** A snoozed job waits in the server, so its delay needs no timer. */
const ANY_DELAY = { least: 0, most: MAX_SPAN_MS };

/** The outcome of a handler that has thrown. A user's backoff function may throw as well; its error becomes the job's. */
export function failureOf(claim: Claim, thrown: unknown, rules: FailureRules): Outcome {
  try {
    if (isInstance(thrown, SnoozeError)) return snoozed(claim, thrown, rules);
    if (isInstance(thrown, HoldKeyError)) return held(claim, thrown, rules);
    if (isInstance(thrown, BatchStoppedError)) return { claim, status: 'released' };
    const delay = retryDelay(rules.retry, rules.attempt, thrown);
    const error = describe(thrown, rules);
    return delay === undefined ? { claim, status: 'error', error } : { claim, status: 'retry', error, delay };
  } catch (error) {
    return { claim, status: 'error', error: describe(error, rules) };
  }
}

/** @throws ConfigurationError if the job's system has no way to do it */
function snoozed(claim: Claim, { delay }: SnoozeError, { capabilities }: FailureRules): Outcome {
  if (capabilities.snooze)
    return { claim, status: 'snoozed', delay: toMilliseconds('delay', delay, ANY_DELAY) };
  throw new ConfigurationError(
    `The handler of "${claim.fn}" threw a SnoozeError, which is for jobs of GearMonkey and memory. Throw a RetryLaterError here.`,
  );
}

/** @throws ConfigurationError if nothing limits the job */
function held(claim: Claim, { delay }: HoldKeyError, { hasLimit }: FailureRules): Outcome {
  if (hasLimit) return { claim, status: 'held', delay };
  throw new ConfigurationError(
    `The handler of "${claim.fn}" called job.holdKey, which is for functions with a \`limit\`. Give its definition one, or throw a SnoozeError.`,
  );
}

/** The message is stored as the job's output, which has a limit. */
function describe(thrown: unknown, { errorDetail = 'stack', maxPayloadBytes }: FailureRules): JobErrorInfo {
  return toErrorInfo(thrown, { detail: errorDetail, maxMessageBytes: maxPayloadBytes });
}
