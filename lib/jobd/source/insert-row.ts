import type { Insertable } from 'kysely';
import { InvalidOptionError, messageOf } from '../../job/errors.js';
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
import { checkRow, type NewTableRow } from './new-row.js';

/** How long an insert is retried while locks are in the way. */
const CONTENTION_MS = 5000;

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
