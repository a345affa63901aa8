import { toCause } from '../../job/cause.js';
import { GearMonkeyError, messageOf } from '../../job/errors.js';

/** A database that can't be used as it is set up; raised at startup. */
export class DatabaseSetupError extends GearMonkeyError {
  readonly code = 'JOBD_DATABASE_SETUP';
}

/** The database didn't answer, or refused. What was asked may be asked again. */
export class DatabaseError extends GearMonkeyError {
  readonly code = 'JOBD_DATABASE';

  constructor(what: string, cause: unknown) {
    super(`${what}: ${messageOf(cause)}. Check that the database is up, reachable, and lets us in.`, {
      cause: toCause(cause),
    });
  }
}

/** Others were in the way; the same again may well succeed at once. */
const CONTENTION = new Set([
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_LOCK_NOWAIT',
  'ER_CHECKREAD',
  '40001', // PostgreSQL: serialization failure
  '40P01', // PostgreSQL: deadlock
  '55P03', // PostgreSQL: lock not available
  'SQLITE_BUSY',
  'SQLITE_BUSY_SNAPSHOT',
  'SQLITE_LOCKED',
]);

const HELD_BY_OTHERS = new Set(['ER_LOCK_WAIT_TIMEOUT', '55P03']);

/** A value that the column won't take: it would be refused again and again. */
const REFUSED_VALUES = new Set([
  'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
  'ER_TRUNCATED_WRONG_VALUE',
  'ER_DATA_TOO_LONG',
  'ER_WARN_DATA_OUT_OF_RANGE',
  'WARN_DATA_TRUNCATED',
  'ER_CANNOT_CONVERT_CHARACTER',
  'ER_CANNOT_CONVERT_STRING',
  'ER_INVALID_CHARACTER_STRING',
  'ER_NET_PACKET_TOO_LARGE',
  'ER_CANT_AGGREGATE_2COLLATIONS',
  'ER_CANT_AGGREGATE_3COLLATIONS',
  'ER_CANT_AGGREGATE_NCOLLATIONS',
  'ER_TOO_BIG_ROWSIZE',
  'SQLITE_TOOBIG',
  'SQLITE_MISMATCH',
]);
/** PostgreSQL's classes of such errors: data exceptions, integrity violations, program limits. */
const REFUSED_VALUE_STATES = /^(22|23|54)[0-9A-Z]{3}$/;

const REFUSED_STATEMENTS = new Set(['ER_PARSE_ERROR', 'ER_NOT_SUPPORTED_YET']);

const FORBIDDEN = new Set([
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_SPECIFIC_ACCESS_DENIED_ERROR',
  '42501', // PostgreSQL
  'SQLITE_READONLY',
]);

/** Whether others were in the way, by deadlock or lock. */
export function isContention(error: unknown): boolean {
  return CONTENTION.has(codeOf(error));
}

/** Whether somebody holds a row for longer than is waited for it. */
export function isHeldByOthers(error: unknown): boolean {
  return HELD_BY_OTHERS.has(codeOf(error));
}

/** Whether a column refused what it was to hold. */
export function isRefusedValue(error: unknown): boolean {
  const code = codeOf(error);
  return REFUSED_VALUES.has(code) || REFUSED_VALUE_STATES.test(code);
}

/** Whether the server doesn't take such a statement at all. */
export function isRefusedStatement(error: unknown): boolean {
  return REFUSED_STATEMENTS.has(codeOf(error));
}

/** Whether the user of the database isn't allowed to do that. */
export function isForbidden(error: unknown): boolean {
  return FORBIDDEN.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
