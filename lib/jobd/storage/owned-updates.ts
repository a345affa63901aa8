import { sql } from 'kysely';
import type { JobdDatabase, JobsTable, TableNames } from './schema.js';

/** Stands as the owner of rows that this one has ended, until there is time to remove it. */
export function formerly(owner: string): string {
  return `-${owner.slice(1)}`;
}

export interface OwnedUpdate {
  readonly owner: string;
  readonly ids: readonly number[];
  readonly columns: Partial<JobsTable>;
  /** Whose the rows are afterwards. */
  readonly heir: string;
}

/**
 * Writes rows that are their owner's, in one statement where that takes a transaction otherwise. For MySQL:
 * both tables are written, so that both rows are locked and nobody takes one over meanwhile.
 *
 * @returns whether all of them were written; if not, some may have been
 */
export async function updateOwned(
  queries: JobdDatabase,
  names: TableNames,
  { owner, ids, columns, heir }: OwnedUpdate,
): Promise<boolean> {
  const changes = Object.entries(columns).map(([name, value]) => sql`j.${sql.ref(name)} = ${value}`);
  const { numAffectedRows = 0n } = await sql`
    update ${sql.table(names.owners)} as o
    inner join ${sql.table(names.jobs)} as j on j.id = o.job_id
    set o.owner = ${heir}, ${sql.join(changes)}
    where o.owner = ${owner} and o.job_id in (${sql.join(ids)})`.execute(queries);
  // Each row is found in both tables.
  return Number(numAffectedRows) >= 2 * ids.length;
}
