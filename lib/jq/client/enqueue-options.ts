import { isIdempotencyKey, LONGEST_KEY } from '../wire/idempotency-key.js';
import { checkWhole } from '../../job/check-whole.js';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { AnyJobDefinition } from '../../job/job-definition.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { MAX_INT32, MIN_INT32 } from '../wire/fields.js';

/** Options of one job. They override its definition. */
export interface JqEnqueueOptions {
  /** Smaller numbers run first, from -2³¹ to 2³¹-1. @default 0 */
  priority?: number;
  /** How often it is tried again after a failure. @default the definition's `retry.attempts` - 1, or the master's 10 */
  maxRetry?: number;
  /** Whether to keep the result; otherwise it is null. @default false; `call` keeps it */
  keepResult?: boolean;
  /** How long an attempt may take, rounded up to seconds. @default the definition's `timeout`, or the master's '30s' */
  timeout?: Duration;
  /** Two enqueues with one key make one job, if the master knows keys. @default a new one, so that a retry after a lost reply makes no second job */
  idempotencyKey?: string;
}

const KNOWN = optionNames<JqEnqueueOptions>({
  priority: true,
  maxRetry: true,
  keepResult: true,
  timeout: true,
  idempotencyKey: true,
});

/** The fields of `POST /job` besides name and argument. @throws ConfigurationError, InvalidOptionError */
export function jobFields(options: JqEnqueueOptions, { retry, timeout }: AnyJobDefinition) {
  const { priority, keepResult } = checkOptions('enqueue', options, KNOWN);
  const attempts = retry?.attempts;
  const maxRetry = options.maxRetry ?? (attempts === undefined ? undefined : attempts - 1);
  const limit = options.timeout === undefined ? timeout : options.timeout;
  return {
    priority: checkOptional('priority', priority, MIN_INT32),
    max_retry: checkOptional('maxRetry', maxRetry, 0),
    keep_result: keepResult,
    timeout: limit === undefined ? undefined : Math.ceil(toMilliseconds('timeout', limit) / 1000),
  };
}

/** A header's value. @throws InvalidOptionError */
export function checkKey(key: string): string {
  if (isIdempotencyKey(key)) return key;
  throw new InvalidOptionError('idempotencyKey', key, `1 to ${LONGEST_KEY} visible ASCII characters`);
}

function checkOptional(option: string, value: number | undefined, min: number): number | undefined {
  return value === undefined ? undefined : checkWhole(option, value, min, MAX_INT32);
}
