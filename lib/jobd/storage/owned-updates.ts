import { CompiledQuery } from 'kysely';
import { BEGUN, EXACT_TARGET, OPEN } from './row-statements.js';
import type { JobsTable, JobStatus, TableNames } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

/** Replaces the owner of an ended row until the entry is removed. */
export function tombstoneOf(owner: string): string {
  return `-${owner.slice(1)}`;
}

/** A change to rows of one owner. */
export interface RowChange {
  readonly ids: readonly number[];
  readonly columns: Partial<JobsTable>;
  /** How often the rows may have been begun already, if the table counts that. */
  readonly attempts?: readonly number[] | undefined;
}

/**
 * Begins rows as far as they are their owner's and nothing has changed them, without asking first. For MySQL: the owners' rows are locked
 * with it, so that no other daemon takes one over meanwhile. Written by hand, since every job waits for it.
 */
export function updateKept(
  names: TableNames,
  owner: string,
  { ids, columns, attempts = [] }: RowChange,
): CompiledQuery {
  const { of, values: asked } = ownerOf(names, ids);
  const { assignments, values } = written(columns);
  const isNext = attempts.length > 0 ? `and coalesce(attempts, 0) in (${places(attempts)})` : '';
  return CompiledQuery.raw(
    `update ${quoted(names.jobs)} set ${assignments} where id in (${places(ids)}) and ${isIn(OPEN)} ${isNext} and (${of} lock in share mode) = ?`,
    [...values, ...ids, ...attempts, ...asked, owner],
  );
}

/**
 * Ends running rows, which have no owner afterwards, in one transaction. No statement may use what the server remembers
 * of the one before (`row_count()`): if the connection breaks between two of them, the server continues and commits, but
 * has forgotten that.
 *
 * @returns statements; the last one's count is that of the rows written
 */
export function updateDisowned(
  names: TableNames,
  owner: string,
  { ids, columns }: RowChange,
): readonly CompiledQuery[] {
  const tombstone = tombstoneOf(owner);
  const { of, values: asked } = ownerOf(names, ids);
  const { assignments, values } = written(columns);
  return [
    CompiledQuery.raw(
      `update ${quoted(names.owners)} set owner = ? where owner = ? and job_id in (${places(ids)})`,
      [tombstone, owner, ...ids],
    ),
    CompiledQuery.raw(
      `update ${quoted(names.jobs)} set ${assignments} where id in (${places(ids)}) and ${isIn(BEGUN)} and (${of}) = ?`,
      [...values, ...ids, ...asked, tombstone],
    ),
  ];
}

/** A row that may begin if its target is one of these. */
export interface ManualBeginning {
  readonly id: number;
  readonly targets: readonly string[];
  readonly now: number;
  readonly columns: ReadonlySet<OptionalColumn>;
}

/**
 * Reads a row; if it is manual and of one of the targets, takes it for the owner and begins it, as long as that daemon
 * is entered. For one transaction, which fails at once if another has locked the row.
 *
 * @returns statements; the first reads the row as it was, and the last begins it
 */
export function beginManual(
  names: TableNames,
  owner: string,
  { id, targets, now, columns }: ManualBeginning,
): readonly CompiledQuery[] {
  const [jobs, owners, daemons] = [quoted(names.jobs), quoted(names.owners), quoted(names.daemons)];
  const counted = columns.has('attempts') ? ', attempts = coalesce(attempts, 0) + 1' : '';
  const isToBegin = `id = ? and status = 'manual' and ${EXACT_TARGET.mysql} in (${places(targets)})`;
  const isEntered = `(select d.instance from ${daemons} as d where d.instance = ? lock in share mode) = ?`;
  const { of, values: asked } = ownerOf(names, [id]);
  return [
    CompiledQuery.raw(`select * from ${jobs} where id = ? for update nowait`, [id]),
    // An owner may be left over from a row that was reset by hand.
    CompiledQuery.raw(
      `insert into ${owners} (job_id, owner, origin) select id, ?, 'manual' from ${jobs} where ${isToBegin} and ${isEntered}
        on duplicate key update owner = values(owner), origin = values(origin)`,
      [owner, id, ...targets, owner, owner],
    ),
    CompiledQuery.raw(
      `update ${jobs} set status = 'running', result = null, time_started = ?${counted} where ${isToBegin} and (${of}) = ?`,
      [now, id, ...targets, ...asked, owner],
    ),
  ];
}

/** The owner of a row: for one row a constant subquery, for several one that is evaluated for each. */
function ownerOf(names: TableNames, ids: readonly number[]): { of: string; values: readonly number[] } {
  const [job, values] = ids.length === 1 ? ['?', ids] : [`${quoted(names.jobs)}.id`, []];
  return { of: `select o.owner from ${quoted(names.owners)} as o where o.job_id = ${job}`, values };
}

/** Undefined columns don't change. */
function written(columns: Partial<JobsTable>): { assignments: string; values: readonly unknown[] } {
  const given = Object.entries(columns).filter(([, value]) => value !== undefined);
  return {
    assignments: given.map(([column]) => `${column} = ?`).join(),
    values: given.map(([, value]) => value),
  };
}

function isIn(states: readonly JobStatus[]): string {
  return `status in (${states.map((state) => `'${state}'`).join()})`;
}

function places(values: readonly unknown[]): string {
  return values.map(() => '?').join();
}

/** Quotes a table's name, perhaps with its schema: letters, digits, _, $ and -. */
function quoted(name: string): string {
  return name.replaceAll(/[^.]+/g, '`$&`');
}
