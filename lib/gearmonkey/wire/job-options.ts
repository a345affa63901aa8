import { toMilliseconds } from '../../job/duration.js';
import type { JobOptions } from '../../job/job-source.js';
import { checkRetryValues, type JobRetryOptions } from '../../job/retry.js';

/** Part of a channel's name. */
const REPLY = /^[\w-]{1,64}$/;
const NO_OPTIONS: JobOptions = Object.freeze({});

/** Decodes the options a job carries as JSON. What this package's clients would not write is ignored. */
export function readJobOptions(json: string): JobOptions {
  if (json === '') return NO_OPTIONS;
  try {
    const { retry, timeout, reply } = JSON.parse(json) as JobOptions;
    return {
      ...(retry === undefined ? {} : { retry: checkRetryValues(retry) as JobRetryOptions }),
      ...(timeout === undefined ? {} : { timeout: toMilliseconds('timeout', timeout) }),
      ...(typeof reply === 'string' && REPLY.test(reply) ? { reply } : {}),
    };
  } catch {
    return NO_OPTIONS;
  }
}
