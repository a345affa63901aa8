import { sql, type SelectQueryBuilder } from 'kysely';
import type { Database } from './database.js';
import { EXACT_TARGET } from './row-statements.js';
import type { JobdSchema } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

export type FindRows<T> = SelectQueryBuilder<JobdSchema, 'jobs', T>;

/** Which due rows: up to `limit`, 0 for all; `now` is in seconds since 1970. */
export interface Due {
  readonly limit: number;
  readonly now: number;
  readonly only?: number | undefined;
}

interface Where {
  readonly database: Database;
  readonly columns: ReadonlySet<OptionalColumn>;
}

/** A number can't hold larger ids: another row would be written. */
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

/** Locks rows, skipping locked ones if the server can. SQLite has locked the whole file already. */
export function passingOver<T>({ dialect, traits }: Database, query: FindRows<T>): FindRows<T> {
  if (dialect === 'sqlite') return query;
  return traits.skipLocked ? query.forUpdate().skipLocked() : query.forUpdate();
}

/** Locks rows, or fails at once if one is locked: waiting for it would delay all other fetches. */
export function ifFree<T>({ dialect, traits }: Database, query: FindRows<T>): FindRows<T> {
  if (dialect === 'sqlite') return query;
  return traits.skipLocked ? query.forUpdate().noWait() : query.forUpdate();
}
