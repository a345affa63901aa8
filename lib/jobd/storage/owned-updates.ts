import { CompiledQuery } from 'kysely';
import type { JobsTable, TableNames } from './schema.js';

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
 * first statement locks the owners' rows, so that nobody takes one over meanwhile. Put together by hand,
 * since every job waits for it twice.
 *
 * @returns two statements; the second finds the rows that were written
 */
export function ownedUpdates(
  names: TableNames,
  owner: string,
  { ids, columns, heir }: RowChange,
): readonly [CompiledQuery, CompiledQuery] {
  const [jobs, owners] = [quoted(names.jobs), quoted(names.owners)];
  const list = ids.map(() => '?').join();
  const assignments = Object.keys(columns).map((column) => `${column} = ?`);
  // What the statement before found is known at once; which rows those were has to be looked up.
  const [isOurs, of] =
    ids.length === 1
      ? ['row_count() = 1', []]
      : [`exists (select 1 from ${owners} as o where o.job_id = ${jobs}.id and o.owner = ?)`, [heir]];
  return [
    CompiledQuery.raw(`update ${owners} set owner = ? where owner = ? and job_id in (${list})`, [
      heir,
      owner,
      ...ids,
    ]),
    CompiledQuery.raw(`update ${jobs} set ${assignments.join()} where id in (${list}) and ${isOurs}`, [
      ...Object.values(columns),
      ...ids,
      ...of,
    ]),
  ];
}

/** A table's name, perhaps with its schema's: letters, digits, _, $ and -. */
function quoted(name: string): string {
  return name.replaceAll(/[^.]+/g, '`$&`');
}
