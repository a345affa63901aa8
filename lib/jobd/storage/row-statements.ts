import type { CompiledQuery } from 'kysely';
import { chunksOf, inChunks } from './chunks.js';
import type { AcceptedJob } from './accepted-job.js';
import { groupByAttempts } from './row-groups.js';
import type { Database } from './database.js';
import type { JobdDatabase, JobsTable, JobStatus, TableNames } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

/** Compares targets exactly: columns may ignore case or trailing spaces, but those rows are for other daemons. */
export const EXACT_TARGET = {
  mysql: 'cast(convert(target using utf8mb4) as binary)',
  postgres: 'target::text collate "C"',
  sqlite: 'target collate binary',
} as const;

/** The states of a row that has not ended. One that is to begin says `running` if a try without an answer has begun it. */
export const OPEN: readonly JobStatus[] = ['accepted', 'running'];
/** The state of a row that may end. */
export const BEGUN: readonly JobStatus[] = ['running'];

/** Rows that are written only in one of these states: in others they were changed by hand, and stay so. */
export interface FencedRows {
  readonly ids: readonly number[];
  readonly states: readonly JobStatus[];
}

/** Writes the same values to them. @returns the ids of the rows written */
export async function updateFenced(
  queries: JobdDatabase,
  { names: { jobs }, database: { dialect } }: { names: TableNames; database: Pick<Database, 'dialect'> },
  { ids, states }: FencedRows,
  columns: Partial<JobsTable>,
): Promise<number[]> {
  const rows = await inChunks(ids, async (some) => {
    const update = queries.updateTable(jobs).set(columns);
    const fenced = update.where('id', 'in', some).where('status', 'in', states);
    if (dialect !== 'mysql') return fenced.returning('id').execute();
    // It has no RETURNING.
    const look = queries.selectFrom(jobs).select('id').where('id', 'in', some).where('status', 'in', states);
    const found = await look.forUpdate().execute();
    if (found.length > 0) await update.where('id', 'in', found.map(idOf)).execute();
    return found;
  });
  return rows.map(idOf);
}

/** Statements that write the same values to any number of rows. */
export function rowUpdates(
  queries: JobdDatabase,
  { jobs }: TableNames,
  ids: readonly number[],
  columns: Partial<JobsTable>,
): CompiledQuery[] {
  return chunksOf(ids).map((some) =>
    queries.updateTable(jobs).set(columns).where('id', 'in', some).compile(),
  );
}

/** A row's columns when its job begins after `attempts` attempts, counted if the table counts them. */
export function beginning(
  attempts: number,
  now: number,
  columns: ReadonlySet<OptionalColumn>,
): Partial<JobsTable> {
  const counted = columns.has('attempts') ? { attempts: attempts + 1 } : {};
  return { status: 'running', result: null, time_started: now, ...counted };
}

/** Statements that mark rows as running. */
export function begunUpdates(
  queries: JobdDatabase,
  names: TableNames,
  begun: readonly AcceptedJob[],
  { now, columns }: { now: number; columns: ReadonlySet<OptionalColumn> },
): CompiledQuery[] {
  return [...groupByAttempts(begun)].flatMap(([attempts, ids]) =>
    rowUpdates(queries, names, ids, beginning(attempts, now, columns)),
  );
}

/** PostgreSQL's driver returns large integers as text. */
export function idOf({ id }: { readonly id: number }): number {
  return Number(id);
}
