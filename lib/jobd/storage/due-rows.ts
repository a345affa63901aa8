import { sql, type SelectQueryBuilder } from 'kysely';
import type { Database } from './database.js';
import { EXACT_TARGET } from './row-statements.js';
import type { JobdSchema } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

export type FindRows<T> = SelectQueryBuilder<JobdSchema, 'jobs', T>;

/** Which of the rows that are due: up to `limit`, 0 for all, at a time in seconds since 1970. */
export interface Due {
  readonly limit: number;
  readonly now: number;
  readonly only?: number | undefined;
}

interface Where {
  readonly database: Database;
  readonly columns: ReadonlySet<OptionalColumn>;
}

/** Larger ones are not numbers of ours: another row would be written. */
const SAFE_ID = sql<boolean>`id <= ${sql.raw(String(Number.MAX_SAFE_INTEGER))}`;

/** Waiting rows of the targets, oldest first. */
export function dueRows<T>(
  { database, columns }: Where,
  find: FindRows<T>,
  targets: readonly string[],
  { limit, now, only }: Due,
): FindRows<T> {
  let query = find.where('status', '=', 'waiting').where('target', 'in', targets);
  query = query.where(sql.raw(EXACT_TARGET[database.dialect]), 'in', targets).where(SAFE_ID);
  if (columns.has('time_scheduled'))
    query = query.where((row) =>
      row.or([row('time_scheduled', '<=', now), row('time_scheduled', 'is', null)]),
    );
  if (only !== undefined) query = query.where('id', '=', only);
  if (limit > 0) query = query.limit(limit);
  return query.orderBy('id');
}

/** Locks them, but for those that others hold where the server can pass over them. SQLite has locked the whole file by then. */
export function passingOver<T>({ dialect, traits }: Database, query: FindRows<T>): FindRows<T> {
  if (dialect === 'sqlite') return query;
  return traits.skipLocked ? query.forUpdate().skipLocked() : query.forUpdate();
}

/** Locks them, or fails at once where another holds one: waiting for it would hold up all other fetches. */
export function ifFree<T>({ dialect, traits }: Database, query: FindRows<T>): FindRows<T> {
  if (dialect === 'sqlite') return query;
  return traits.skipLocked ? query.forUpdate().noWait() : query.forUpdate();
}
