import { isPromise } from 'node:util/types';
import { MAX_SPAN_MS, toMilliseconds, type Duration } from './duration.js';
import { describe, messageOf } from './error-info.js';
import { GearMonkeyError } from './gearmonkey-error.js';

/** Longest key of a limit, in bytes of UTF-8. */
export const MAX_LIMIT_KEY_BYTES = 255;

/** The `key` of a function's limit returned what can't be a key, or threw: `cause` has what. Nothing was written. */
export class LimitKeyError extends GearMonkeyError {
  readonly code = 'LIMIT_KEY';

  constructor(
    readonly fn: string,
    reason: string,
    options?: ErrorOptions,
  ) {
    super(
      `\`limit.key\` of "${fn}" ${reason}. Return text of 1 to ${MAX_LIMIT_KEY_BYTES} bytes for every valid input.`,
      options,
    );
  }
}

/** A limit with `onFull: 'refuse'` is reached. No job of the call was created. */
export class LimitFullError extends GearMonkeyError {
  readonly code = 'LIMIT_FULL';
  /** When the limit will take the next job, if that is known. */
  readonly until?: Date;

  constructor(
    readonly fn: string,
    /** The key of the job; '' if the limit counts all jobs of the function together. */
    readonly key: string,
    until?: Date,
  ) {
    const whose = key === '' ? `"${fn}"` : `the key ${JSON.stringify(key)} of "${fn}"`;
    const when = until ? `after ${until.toISOString()}` : 'when others have finished';
    super(
      `The limit of ${whose} is reached. Enqueue the job again ${when}, or let it wait: \`onFull: 'wait'\`.`,
    );
    if (until) this.until = until;
  }
}

/** The server knows no limit of this function: none of its workers and clients has one. */
export class LimitUnknownError extends GearMonkeyError {
  readonly code = 'LIMIT_UNKNOWN';

  constructor(readonly fn: string) {
    super(
      `"${fn}" has no limit that could be changed. Give its definition or handler a \`limit\`, and start its worker once.`,
    );
  }
}

/**
 * Thrown by `job.holdKey(span)`, which a handler must not catch: no job of the key starts for that time, and this one goes
 * back to the front, without an attempt.
 */
export class HoldKeyError extends GearMonkeyError {
  readonly code = 'HOLD_KEY';
  /** Milliseconds. */
  readonly delay: number;

  /** @throws InvalidOptionError */
  constructor(span: Duration) {
    super('the key of this job is held');
    this.delay = toMilliseconds('span', span, { least: 0, most: MAX_SPAN_MS });
  }
}

/** Returns a key that a function of an app has made. @throws LimitKeyError */
export function checkLimitKey(fn: string, key: unknown): string {
  const problem = keyProblem(key);
  if (problem === undefined) return key as string;
  // An async function may also fail, and an unhandled rejection would end the process.
  if (isPromise(key)) key.catch(() => undefined);
  throw new LimitKeyError(fn, `returned ${problem}`);
}

/** What `limit.key` threw becomes the cause. */
export function keyNotMade(fn: string, cause: unknown): LimitKeyError {
  return new LimitKeyError(fn, `threw: ${messageOf(cause)}`, { cause });
}

/** Why a value is no key of a job, for the middle of a sentence. */
export function keyProblem(key: unknown): string | undefined {
  if (isPromise(key)) return 'a Promise: it must not be async';
  if (typeof key !== 'string') return describe(key);
  if (key === '') return 'an empty text';
  if (!key.isWellFormed()) return 'text that is not well-formed Unicode';
  const bytes = Buffer.byteLength(key);
  return bytes > MAX_LIMIT_KEY_BYTES ? `text of ${bytes} bytes` : undefined;
}
