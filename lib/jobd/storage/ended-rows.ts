import type { Ending } from './accepted-job.js';
import { inChunks } from './chunks.js';
import { idOf } from './row-statements.js';
import type { JobdDatabase, TableNames } from './schema.js';

/** The ids of rows that have ended as these say. Those that wait again are taken to do so: they may have been begun since. */
export async function endedAs(
  queries: JobdDatabase,
  { jobs }: TableNames,
  endings: readonly Ending[],
): Promise<Set<number>> {
  const rows = await inChunks(endings.map(idOf), (some) =>
    queries
      .selectFrom(jobs)
      .select(['id', 'status', 'result', 'time_finished'])
      .where('id', 'in', some)
      .execute(),
  );
  const found = new Map(rows.map((row) => [Number(row.id), row]));
  const isAs = ({ id, columns: { status, result, time_finished: finished } }: Ending) => {
    const row = found.get(id);
    if (!row || status !== 'done') return row !== undefined;
    const isSame = finished === undefined || Number(row.time_finished) === finished;
    return row.status === 'done' && row.result === result && isSame;
  };
  return new Set(endings.filter(isAs).map(idOf));
}
