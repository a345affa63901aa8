import { toCause } from '../../job/cause.js';
import { reasonOf } from '../../job/error-info.js';
import { GearMonkeyError, messageOf } from '../../job/errors.js';

/** A database that can't be used as it is set up; raised at startup. */
export class DatabaseSetupError extends GearMonkeyError {
  readonly code = 'JOBD_DATABASE_SETUP';

  constructor(message: string, { cause }: ErrorOptions = {}) {
    super(message, cause === undefined ? {} : { cause: toCause(cause) });
  }
}

/** The database didn't answer, or refused. It may be tried again. */
export class DatabaseError extends GearMonkeyError {
  readonly code = 'JOBD_DATABASE';

  constructor(what: string, cause: unknown) {
    const remedy = 'Check that the database is up, reachable, and lets us in.';
    // One of ours ends with it.
    const why = cause instanceof DatabaseError ? cause.message : `${reasonOf(cause)}. ${remedy}`;
    super(`${what}: ${why}`, { cause: toCause(cause) });
  }
}

/** Locks or deadlocks: the same statement may succeed at once when repeated. */
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

/** Values that a column won't take. */
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
/** Classes of such errors, PostgreSQL's and MySQL's: data exceptions, constraints, program limits, what triggers raise. */
const REFUSED_STATES = /^(?:22|23|44|45|54|P0)[0-9A-Z]{3}$/;
/** MySQL's errors that the driver names differently or not at all: a trigger's SIGNAL in any class, CHECK of both servers. */
const REFUSED_NUMBERS = new Set([1644, 3819, 4025]);

const REFUSED_STATEMENTS = new Set(['ER_PARSE_ERROR', 'ER_NOT_SUPPORTED_YET']);

const FORBIDDEN = new Set([
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_SPECIFIC_ACCESS_DENIED_ERROR',
  '42501', // PostgreSQL
  'SQLITE_READONLY',
]);

/** Whether it failed because of a deadlock or lock. */
export function isContention(error: unknown): boolean {
  return CONTENTION.has(codeOf(error));
}

/** Whether another program has locked a row for longer than we wait. */
export function isHeldByOthers(error: unknown): boolean {
  return HELD_BY_OTHERS.has(codeOf(error));
}

/** Whether the table refused a row's new values, by a column's type, a constraint or a trigger. Repeating doesn't help. */
export function isRefusedRow(error: unknown): boolean {
  const code = codeOf(error);
  if (REFUSED_VALUES.has(code) || REFUSED_STATES.test(code) || code.startsWith('SQLITE_CONSTRAINT'))
    return true;
  if (!(error instanceof Error)) return false;
  const { errno, sqlState } = error as Error & { readonly errno?: number; readonly sqlState?: string };
  return REFUSED_NUMBERS.has(errno ?? 0) || REFUSED_STATES.test(sqlState ?? '');
}

/** Whether the table has no column of a name that the statement has. */
export function isUnknownColumn(error: unknown): boolean {
  if (['ER_BAD_FIELD_ERROR', '42703'].includes(codeOf(error))) return true;
  return codeOf(error).startsWith('SQLITE_') && /no (?:such )?column/.test(messageOf(error));
}

/** Whether the server doesn't support the statement. */
export function isRefusedStatement(error: unknown): boolean {
  return REFUSED_STATEMENTS.has(codeOf(error));
}

/**
 * Whether the statement certainly had no effect: the server refused it, or was not reached. After a broken connection
 * that isn't known.
 */
export function hadNoEffect(error: unknown): boolean {
  if (error instanceof DatabaseError) return hadNoEffect(error.cause);
  if (!(error instanceof Error)) return false;
  const { sqlState, severity, syscall } = error as Error & {
    readonly sqlState?: string;
    readonly severity?: string;
    readonly syscall?: string;
  };
  const isRefusal = Boolean(sqlState ?? severity) || codeOf(error).startsWith('SQLITE_');
  return isRefusal || syscall === 'connect' || syscall === 'getaddrinfo';
}

/** Whether the user of the database isn't allowed to do that. */
export function isForbidden(error: unknown): boolean {
  return FORBIDDEN.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
