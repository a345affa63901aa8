import type { Insertable } from 'kysely';
import { InvalidOptionError, messageOf } from '../../job/errors.js';
import { MAX_TARGET_LENGTH } from '../protocol/target-lists.js';
import type { Database } from '../storage/database.js';
import {
  DatabaseError,
  hadNoEffect,
  isContention,
  isRefusedRow,
  isUnknownColumn,
} from '../storage/errors.js';
import { nowInSeconds } from '../storage/row-writer.js';
import type { JobsTable, TableNames } from '../storage/schema.js';
import type { TableRow } from './row-input.js';

/** How long an insert is retried while locks are in the way. */
const CONTENTION_MS = 5000;

/** Columns in seconds, also in rows that other programs add. */
const IN_SECONDS = ['time_created', 'time_started', 'time_finished', 'time_scheduled', 'timeout'] as const;
/** The year 5138: a larger number is probably milliseconds. */
const MAX_SECONDS = 1e11;
const EXPECTED =
  'seconds, as the table has it, such as `Math.floor(date.getTime() / 1000)` for a point in time';

/** A new row of a target. */
export interface NewTableRow {
  readonly target: string;
  readonly columns: TableRow;
}

/** @throws InvalidOptionError, before the database is needed */
export function checkRow({ target, columns }: NewTableRow): void {
  if (typeof target !== 'string' || target === '' || target.length > MAX_TARGET_LENGTH)
    throw new InvalidOptionError('target', target, `a name of 1 to ${MAX_TARGET_LENGTH} characters`);
  for (const column of IN_SECONDS) {
    const value = columns[column] ?? 0;
    const seconds = typeof value === 'number' || typeof value === 'bigint' ? Number(value) : Number.NaN;
    if (!(seconds >= 0 && seconds <= MAX_SECONDS)) throw new InvalidOptionError(column, value, EXPECTED);
  }
}

/** The new row's id. @throws DatabaseError, InvalidOptionError */
export async function insertRow(
  database: Database,
  { jobs }: TableNames,
  { target, columns }: NewTableRow,
): Promise<number> {
  checkRow({ target, columns });
  const values = { time_created: nowInSeconds(), ...columns, target } as unknown as Insertable<JobsTable>;
  const insert = () =>
    database.attempt(async (queries) => {
      const query = queries.insertInto(jobs).values(values);
      if (database.dialect === 'postgres') return (await query.returning('id').executeTakeFirstOrThrow()).id;
      return (await query.executeTakeFirstOrThrow()).insertId;
    });
  const signal = AbortSignal.timeout(CONTENTION_MS);
  try {
    return Number(await database.insist(insert, { signal, isFinal: (error) => !isContention(error) }));
  } catch (error) {
    const cause = error instanceof DatabaseError ? error.cause : error;
    if (isUnknownColumn(cause) || isRefusedRow(cause))
      throw new InvalidOptionError('columns', columns, `what the table takes: ${messageOf(cause)}`);
    const what = hadNoEffect(error) ? 'The row was not added' : 'Whether the row was added is unknown';
    throw new DatabaseError(what, error);
  }
}
