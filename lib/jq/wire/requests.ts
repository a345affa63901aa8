import { defined } from '../../job/defined.js';
import { Raw } from '../message-pack/raw.js';
import { textOf } from '../message-pack/unpack.js';
import { MAX_INT32, MIN_INT32, type FieldName, type Fields } from './fields.js';

/** A name's most bytes: it is part of keys. */
export const MAX_NAME_BYTES = 255;
const MAX_URL_BYTES = 2048;
export const MAX_NAMES = 1000;

export const DEFAULT_MAX_RETRY = 10;
export const DEFAULT_TIMEOUT_SECONDS = 30;

const NOT_NEGATIVE = { min: 0, max: MAX_INT32 };
const POSITIVE = { min: 1, max: MAX_INT32 };

/** `POST /job`. */
export interface EnqueueRequest {
  readonly name: string;
  readonly argument: Raw;
  readonly priority: number;
  readonly maxRetry: number;
  readonly keepResult: boolean;
  /** Seconds. */
  readonly timeout: number;
}

/** @throws InvalidFieldError */
export function readEnqueue(fields: Fields): EnqueueRequest {
  return {
    name: readName(fields, 'name'),
    argument: fields.map('argument'),
    priority: fields.integer('priority', { default: 0, min: MIN_INT32, max: MAX_INT32 }),
    maxRetry: fields.integer('max_retry', { default: DEFAULT_MAX_RETRY, ...NOT_NEGATIVE }),
    keepResult: fields.boolean('keep_result', false),
    timeout: fields.integer('timeout', { default: DEFAULT_TIMEOUT_SECONDS, ...POSITIVE }),
  };
}

/** `POST /worker`; `url`, `names` and `batch` are ours. */
export interface RegisterRequest {
  readonly name: string;
  readonly maxJobs: number;
  /** Where jobs are pushed to, without a trailing slash. A worker without it pulls. */
  readonly url?: string;
  /** The only names that it takes. */
  readonly names?: readonly string[];
  /** How many jobs it takes in one push; absent if it doesn't know batches. */
  readonly batch?: number;
}

/** @throws InvalidFieldError */
export function readRegister(fields: Fields): RegisterRequest {
  const url = readUrl(fields);
  const names = fields.optionalList('names', MAX_NAMES, 'names')?.map((raw) => {
    const name = textOf(raw);
    return name && isName(name) ? name : fields.fail('names', `names of 1 to ${MAX_NAME_BYTES} bytes`);
  });
  if (names?.length === 0) fields.fail('names', 'one name at least, or left out for jobs of all names');
  return defined({
    name: readName(fields, 'name'),
    maxJobs: fields.integer('max_jobs', POSITIVE),
    url,
    names,
    batch: fields.has('batch') ? fields.integer('batch', POSITIVE) : undefined,
  });
}

/** `POST /done`. */
export type DoneRequest = {
  readonly jobId: string;
  /** The attempt that came with the job. Without it the report is for the worker's current attempt. */
  readonly attempt?: number;
  /** ISO 8601, in the worker's own text. */
  readonly finishedAt?: string;
} & (
  | { readonly type: 'success'; readonly result: Raw }
  | {
      readonly type: 'failure';
      readonly reason: 'timeout' | 'other';
      readonly shouldRetry: boolean;
      readonly message: string;
      readonly error: Raw;
    }
);

/** @throws InvalidFieldError */
export function readDone(fields: Fields): DoneRequest {
  const finishedAt = readTime(fields, 'finished_at');
  const common = defined({
    jobId: fields.text('job_id'),
    attempt: fields.has('attempt') ? fields.integer('attempt', POSITIVE) : undefined,
    finishedAt,
  });
  const type = fields.text('type');
  if (type === 'success') return { ...common, type, result: fields.raw('result') ?? Raw.NIL };
  if (type !== 'failure') return fields.fail('type', '"success" or "failure"');
  const reason = fields.text('reason');
  if (reason !== 'timeout' && reason !== 'other') return fields.fail('reason', '"timeout" or "other"');
  return {
    ...common,
    type,
    reason,
    shouldRetry: fields.boolean('should_retry'),
    message: fields.text('message'),
    error: fields.raw('error') ?? Raw.NIL,
  };
}

/** How a worker counts its pulls, which it sends one after the other. */
export interface PullCount {
  /** The number of this one; 0 from a worker that does not count. */
  readonly pull: number;
  /** The number of the last one that has brought a job; 0 if none has. */
  readonly got: number;
}

/** `POST /worker/release` and `POST /worker/confirm`: ours. */
export interface HandOut {
  readonly jobId: string;
  /** The attempt that came with the job. */
  readonly attempt: number;
}

/** @throws InvalidFieldError */
export function readHandOut(fields: Fields): HandOut {
  return { jobId: fields.text('job_id'), attempt: fields.integer('attempt', POSITIVE) };
}

function readName(fields: Fields, field: FieldName): string {
  const name = fields.text(field);
  return isName(name) ? name : fields.fail(field, `text of 1 to ${MAX_NAME_BYTES} bytes`);
}

function isName(name: string): boolean {
  return name !== '' && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}

function readUrl(fields: Fields): string | undefined {
  const text = fields.optionalText('url');
  if (text === undefined) return undefined;
  const expected = 'a URL like http://host:port/path, without query, fragment or credentials';
  const url = Buffer.byteLength(text) <= MAX_URL_BYTES && URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return fields.fail('url', expected);
  if (url.search || url.hash || url.username || url.password) return fields.fail('url', expected);
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Date and time with an offset, as in RFC 3339; seconds and fractions are optional. */
const ISO_8601 =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)([.,]\d{1,9})?)?(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)?$/i;

function readTime(fields: Fields, field: FieldName): string | undefined {
  const text = fields.optionalText(field);
  if (text === undefined || ISO_8601.test(text)) return text;
  return fields.fail(field, 'a time of ISO 8601');
}
