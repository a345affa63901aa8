import { inChunks } from './chunks.js';
import { idOf } from './row-statements.js';
import type { JobdDatabase, TableNames } from './schema.js';

/**
 * Rows that are not locked, for servers that can skip locked rows. A row that is gone, or has no owner entry, counts as
 * free: the write will show that it is lost.
 */
export async function freeIds(
  queries: JobdDatabase,
  { jobs, owners }: TableNames,
  ids: readonly number[],
): Promise<Set<number>> {
  const rows = (some: readonly number[]) => queries.selectFrom(jobs).select('id').where('id', 'in', some);
  const entries = (some: readonly number[]) =>
    queries.selectFrom(owners).select('job_id as id').where('job_id', 'in', some);
  const freeRows = await inChunks(ids, (some) => rows(some).forUpdate().skipLocked().execute());
  const freeEntries = await inChunks(ids, (some) => entries(some).forUpdate().skipLocked().execute());
  const lockedRows = without(await inChunks(ids, (some) => rows(some).execute()), freeRows);
  const lockedEntries = without(await inChunks(ids, (some) => entries(some).execute()), freeEntries);
  return new Set(ids.filter((id) => !lockedRows.has(id) && !lockedEntries.has(id)));
}

interface HasId {
  readonly id: number;
}

function without(all: readonly HasId[], some: readonly HasId[]): Set<number> {
  const left = new Set(all.map(idOf));
  for (const row of some) left.delete(idOf(row));
  return left;
}
