import { InvalidOptionError } from '../../job/errors.js';
import { MAX_TARGET_LENGTH } from '../protocol/target-lists.js';
import type { JobsTable } from '../storage/schema.js';
import type { TableRow } from './row-input.js';

/** A new row of a target. */
export interface NewTableRow {
  readonly target: string;
  readonly columns: TableRow;
}

/** What a column takes beside NULL. */
interface Values {
  readonly has: (value: unknown) => boolean;
  readonly expected: string;
}

/** The year 5138: a larger number is probably milliseconds. */
const MAX_SECONDS = 1e11;
const MAX_INTEGER = 2 ** 31 - 1;

/** Also in rows that other programs add. */
const SECONDS: Values = {
  has: (value) => isNumber(value) && value >= 0 && value <= MAX_SECONDS,
  expected: 'seconds, as the table has it, such as `Math.floor(date.getTime() / 1000)` for a point in time',
};
const TEXT: Values = { has: (value) => typeof value === 'string', expected: 'text or null' };
const COUNT: Values = {
  has: (value) => isNumber(value) && Number.isInteger(Number(value)) && value >= 0 && value <= MAX_INTEGER,
  expected: `a whole number from 0 to ${MAX_INTEGER}, or null`,
};
/** Drivers make SQL of objects and arrays, or fail at them. */
const PLAIN: Values = {
  has: (value) =>
    ['string', 'boolean'].includes(typeof value) ||
    Number.isFinite(value) ||
    (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) ||
    Buffer.isBuffer(value),
  expected: 'text, a number, true or false, a Buffer, or null',
};

const COLUMNS = {
  status: {
    has: (value) => value === 'waiting' || value === 'manual',
    expected: 'waiting or manual: no other row of a new job ever ends',
  },
  time_created: SECONDS,
  time_scheduled: SECONDS,
  timeout: SECONDS,
  attempts: COUNT,
  max_attempts: COUNT,
  time_started: SECONDS,
  time_finished: SECONDS,
  result: { has: (value) => value === 'ok' || value === 'fail', expected: 'ok, fail or null' },
  return_code: COUNT,
  sig: TEXT,
  stdout: TEXT,
  stderr: TEXT,
} as const satisfies Record<Exclude<keyof JobsTable, 'id' | 'target'>, Values>;

/** Names of the id in SQLite, which has the last three for every table. */
const IDS = ['id', 'rowid', '_rowid_', 'oid'];
const TAKEN = [...IDS, 'target', ...Object.keys(COLUMNS)];
const OWN_NAME = /^\P{Cc}{1,64}$/u;

/**
 * Checks columns of a new row by their exact names. All others are the user's own, unless a database takes their names
 * for one of these, as SQLite and MySQL do with names in another case.
 *
 * @throws InvalidOptionError, before the database is needed
 */
export function checkRow({ target, columns }: NewTableRow): void {
  if (!isTarget(target))
    throw new InvalidOptionError(
      'target',
      target,
      `a name of 1 to ${MAX_TARGET_LENGTH} characters, without control characters and without white space at its ends`,
    );
  if (typeof columns !== 'object' || columns === null || Array.isArray(columns))
    throw new InvalidOptionError('columns', columns, 'an object of columns and their values');
  for (const [name, value] of Object.entries(columns)) {
    const { has, expected } = valuesOf(name, columns);
    const isNone = value === undefined || (value === null && name !== 'status');
    if (!isNone && !has(value)) throw new InvalidOptionError(name, value, expected);
  }
}

function valuesOf(name: string, columns: TableRow): Values {
  if (Object.hasOwn(COLUMNS, name)) return COLUMNS[name as keyof typeof COLUMNS];
  if (OWN_NAME.test(name) && !TAKEN.some((taken) => isSameName(taken, name))) return PLAIN;
  throw new InvalidOptionError(
    'columns',
    columns,
    `an object without ${JSON.stringify(name.slice(0, 64))}: a new row may have ${Object.keys(COLUMNS).join(', ')}, ` +
      'spelled like this, and columns of your own',
  );
}

/** Some columns drop spaces at the end: such a row would be another target's. */
function isTarget(target: unknown): boolean {
  return (
    typeof target === 'string' &&
    target !== '' &&
    target.length <= MAX_TARGET_LENGTH &&
    target === target.trim() &&
    !/\p{Cc}/u.test(target)
  );
}

const { compare } = new Intl.Collator('en', { sensitivity: 'base' });

/** Whether a database may take one name for the other. MySQL also has these two letters for those of ASCII. */
function isSameName(taken: string, name: string): boolean {
  return compare(taken, name.replaceAll('ı', 'i').replaceAll('ß', 's')) === 0;
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}
