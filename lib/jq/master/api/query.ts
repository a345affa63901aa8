import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { defined } from '../../../job/defined.js';
import type { Place } from '../../engine/administration.js';
import type { JobStatus } from '../../engine/operations.js';
import { InvalidParameterError } from '../../wire/body-errors.js';
import { MAX_NAME_BYTES } from '../../wire/requests.js';

export const DEFAULT_LIMIT = 50;
export const MAX_LIMIT = 100;
export const DEFAULT_CLEARED = 100;
export const MAX_CLEARED = 1000;
const MAX_CURSOR = 2048;
/** In the order in which they are listed. */
export const STATUSES: readonly JobStatus[] = ['running', 'queued', 'retrying', 'error', 'done'];

type Parameters = Readonly<Record<string, unknown>>;

/** The query string, decoded by `read`. */
export const Query = createParamDecorator((read: (query: Parameters) => unknown, context: ExecutionContext) =>
  read(context.switchToHttp().getRequest<{ readonly query: Parameters }>().query),
);

/** Where a list continues; for lists of jobs, within a status. */
export interface Cursor {
  readonly status?: JobStatus;
  readonly after?: Place;
}

export interface ListQuery {
  readonly limit: number;
  readonly cursor?: Cursor;
}

export interface JobsQuery extends ListQuery {
  readonly status?: JobStatus;
  readonly name?: string;
}

export interface ClearQuery {
  readonly limit: number;
  readonly name?: string;
}

/** @throws InvalidParameterError */
export function readListQuery(query: Parameters): ListQuery {
  const text = optionalText(query, 'cursor', MAX_CURSOR);
  return defined({
    limit: readLimit(query, DEFAULT_LIMIT, MAX_LIMIT),
    cursor: text === undefined ? undefined : readCursor(text),
  });
}

/** @throws InvalidParameterError */
export function readJobsQuery(query: Parameters): JobsQuery {
  const list = readListQuery(query);
  const status = optionalText(query, 'status', MAX_NAME_BYTES);
  if (status !== undefined && !isStatus(status)) {
    throw new InvalidParameterError('status', status, `one of ${STATUSES.join(', ')}`);
  }
  if (list.cursor && (!list.cursor.status || (status !== undefined && list.cursor.status !== status))) {
    throw foreignCursor(query['cursor']);
  }
  return defined({ ...list, ...readName(query), status });
}

/** @throws InvalidParameterError */
export function readClearQuery(query: Parameters): ClearQuery {
  return { limit: readLimit(query, DEFAULT_CLEARED, MAX_CLEARED), ...readName(query) };
}

export function writeCursor({ status = '', after }: { status?: JobStatus | ''; after?: Place }): string {
  return Buffer.from(JSON.stringify([status, after?.score ?? '', after?.member ?? ''])).toString('base64url');
}

function readCursor(text: string): Cursor {
  const [status, score, member] = partsOf(text);
  if (!isText(status) || !isText(score) || !isText(member)) throw foreignCursor(text);
  if (status !== '' && !isStatus(status)) throw foreignCursor(text);
  if (!/^\d{0,16}$/.test(score) || (score === '' && status === '')) throw foreignCursor(text);
  return defined({
    status: status === '' ? undefined : status,
    after: score === '' ? undefined : { score, member },
  });
}

function partsOf(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

function readLimit(query: Parameters, absent: number, max: number): number {
  const { limit } = query;
  if (limit === undefined) return absent;
  const value = isText(limit) && /^\d{1,6}$/.test(limit) ? Number(limit) : 0;
  if (value >= 1 && value <= max) return value;
  throw new InvalidParameterError('limit', limit, `an integer from 1 to ${max}`);
}

function readName(query: Parameters): { name?: string } {
  const name = optionalText(query, 'name', MAX_NAME_BYTES);
  return name === undefined ? {} : { name };
}

function optionalText(query: Parameters, parameter: string, maxBytes: number): string | undefined {
  const value = query[parameter];
  if (value === undefined) return undefined;
  if (isText(value) && value !== '' && Buffer.byteLength(value) <= maxBytes) return value;
  throw new InvalidParameterError(parameter, value, `given once, as text of 1 to ${maxBytes} bytes`);
}

function foreignCursor(value: unknown): InvalidParameterError {
  return new InvalidParameterError('cursor', value, 'the one that the page before gave');
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isStatus(text: string): text is JobStatus {
  return STATUSES.some((status) => status === text);
}
