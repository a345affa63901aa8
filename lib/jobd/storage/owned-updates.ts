import { sql, type CompiledQuery } from 'kysely';
import type { JobdDatabase, JobsTable, TableNames } from './schema.js';

/** Stands as the owner of rows that this one has ended, until there is time to remove it. */
export function formerly(owner: string): string {
  return `-${owner.slice(1)}`;
}

/** What is written to some rows of one owner. */
export interface RowChange {
  readonly ids: readonly number[];
  readonly columns: Partial<JobsTable>;
  /** Whose the rows are afterwards. */
  readonly heir: string;
}

/**
 * Writes rows as far as they are their owner's, without asking first. For MySQL, in one transaction: the
 * first statement locks the owners' rows, so that nobody takes one over meanwhile.
 *
 * @returns two statements; the second finds the rows that were written
 */
export function ownedUpdates(
  queries: JobdDatabase,
  { jobs, owners }: TableNames,
  owner: string,
  { ids, columns, heir }: RowChange,
): readonly [CompiledQuery, CompiledQuery] {
  const handOver = queries
    .updateTable(owners)
    .set({ owner: heir })
    .where('owner', '=', owner)
    .where('job_id', 'in', ids);
  // What the statement before found is known at once; which rows those were has to be looked up.
  const isOurs =
    ids.length === 1
      ? sql<boolean>`row_count() = 1`
      : sql<boolean>`exists (select 1 from ${sql.table(owners)} as o where o.job_id = ${sql.ref(`${jobs}.id`)} and o.owner = ${heir})`;
  const write = queries.updateTable(jobs).set(columns).where('id', 'in', ids).where(isOurs);
  return [handOver.compile(), write.compile()];
}
