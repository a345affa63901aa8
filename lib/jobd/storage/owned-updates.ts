import { sql, type RawBuilder } from 'kysely';
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
 * Writes rows that are their owner's, in one statement where that takes a transaction otherwise. For MySQL:
 * both tables are written, so that both rows are locked and nobody takes one over meanwhile.
 *
 * @returns whether all of them were written; if not, some may have been
 */
export async function updateOwned(
  queries: JobdDatabase,
  names: TableNames,
  owner: string,
  changes: readonly RowChange[],
): Promise<boolean> {
  const ids = changes.flatMap((change) => change.ids);
  const { numAffectedRows = 0n } = await sql`
    update ${sql.table(names.owners)} as o
    inner join ${sql.table(names.jobs)} as j on j.id = o.job_id
    set ${sql.join(assignments(changes))}
    where o.owner = ${owner} and o.job_id in (${sql.join(ids)})`.execute(queries);
  // Each row is found in both tables.
  return Number(numAffectedRows) >= 2 * ids.length;
}

function assignments(changes: readonly RowChange[]): RawBuilder<unknown>[] {
  const names = new Set(changes.flatMap(({ columns }) => Object.keys(columns)));
  const heirs = changes.map(({ ids, heir }) => [ids, heir] as const);
  return [
    assignment('o.owner', heirs),
    ...[...names].map((name) =>
      assignment(
        `j.${name}`,
        changes.map(({ ids, columns }) => [ids, new Map(Object.entries(columns)).get(name)] as const),
      ),
    ),
  ];
}

/** @param values of which rows; undefined where a row's stays as it is */
function assignment(column: string, values: readonly (readonly [readonly number[], unknown])[]) {
  const target = sql.ref(column);
  const [[, first] = []] = values;
  if (values.every(([, value]) => value === first)) return sql`${target} = ${first}`;
  const cases = values
    .filter(([, value]) => value !== undefined)
    .map(([ids, value]) => sql`when o.job_id in (${sql.join(ids)}) then ${value}`);
  return sql`${target} = case ${sql.join(cases, sql` `)} else ${target} end`;
}
