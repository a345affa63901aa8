import type { CompiledQuery } from 'kysely';
import { chunksOf } from './chunks.js';
import type { AcceptedJob } from './accepted-job.js';
import { groupByAttempts } from './row-groups.js';
import type { JobdDatabase, JobsTable, TableNames } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

/** Compares targets exactly: columns may ignore case or trailing spaces, but those rows are for other daemons. */
export const EXACT_TARGET = {
  mysql: 'cast(convert(target using utf8mb4) as binary)',
  postgres: 'target::text collate "C"',
  sqlite: 'target collate binary',
} as const;

/** Writes the same values to any number of rows. */
export async function updateRows(
  queries: JobdDatabase,
  names: TableNames,
  ids: readonly number[],
  columns: Partial<JobsTable>,
): Promise<void> {
  for (const update of rowUpdates(queries, names, ids, columns)) await queries.executeQuery(update);
}

/** The statements for that. */
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
