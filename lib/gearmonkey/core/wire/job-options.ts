import { defined } from '../../../job/defined.js';
import { toMilliseconds } from '../../../job/duration.js';
import { readHeaders } from '../../../job/headers.js';
import { readTick } from '../../../job/recurring.js';
import type { JobOptions } from '../../../job/job-source.js';
import { readTags } from '../../../job/tags.js';
import { checkRetryValues, type JobRetryOptions } from '../../../job/retry.js';

/** In place of options that all jobs of a call share: each input is followed by its job's own. */
export const OWN_OPTIONS = '*';
/** The client's name, which becomes part of a channel's name. */
const REPLY = /^[\w-]{1,64}$/;
/** Those of a job without any. */
export const NO_OPTIONS: JobOptions = Object.freeze({});

/** Decodes the options that a job carries as JSON. Values that no client of this package writes are ignored. */
export function readJobOptions(json: string): JobOptions {
  if (json === '') return NO_OPTIONS;
  try {
    const { retry, timeout, reply, headers, tags, expires, recurring } = JSON.parse(json) as JobOptions;
    return defined({
      retry: retry === undefined ? undefined : (checkRetryValues(retry) as JobRetryOptions),
      timeout: timeout === undefined ? undefined : toMilliseconds('timeout', timeout),
      reply: typeof reply === 'string' && REPLY.test(reply) ? reply : undefined,
      headers: headers === undefined ? undefined : readHeaders(headers),
      tags: tags === undefined ? undefined : readTags(tags),
      recurring: recurring === undefined ? undefined : readTick(recurring),
      expires: Number.isSafeInteger(expires) ? expires : undefined,
    });
  } catch {
    return NO_OPTIONS;
  }
}
