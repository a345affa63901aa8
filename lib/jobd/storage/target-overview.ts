import { sql, type RawBuilder } from 'kysely';
import { defined } from '../../job/defined.js';
import type { QueueOverview } from '../../job/job-views.js';
import type { Database } from './database.js';
import type { JobStatus, TableNames } from './schema.js';

/** The states of rows that have not ended; those that have are not counted, since no index is as small as they are many. */
const OPEN: readonly JobStatus[] = ['waiting', 'manual', 'accepted', 'running'];
/** Most pairs of target and state that are read. */
const MOST = 4000;

interface Count {
  readonly target: string;
  readonly status: JobStatus;
  readonly rows: number | string | bigint;
  readonly first: number | string | null;
}

/** Counts the rows of each target that have not ended, by an index of the table. @throws the database's errors */
export async function readOverview(database: Database, { jobs }: TableNames): Promise<QueueOverview[]> {
  const counts = await database.attempt((queries) =>
    queries
      .selectFrom(jobs)
      .select((row) => [
        row.fn.min('target').as('target'),
        'status',
        row.fn.countAll<number>().as('rows'),
        row.fn.min('id').as('first'),
      ])
      .where('status', 'in', OPEN)
      .groupBy([exactTarget(database), 'status'])
      .limit(MOST)
      .execute(),
  );
  const created = await createdOf(database, jobs, counts);
  return [...new Set(counts.map(({ target }) => target))].sort().map((target) => {
    const of = counts.filter((count) => count.target === target);
    return toOverview(target, of, created);
  });
}

/** Tells targets apart that a column compares as equal, such as in another case: they are no less different functions. */
export function exactTarget({ dialect }: Database): RawBuilder<string> {
  if (dialect === 'mysql') return sql`cast(target as binary)`;
  return dialect === 'sqlite' ? sql`target collate binary` : sql`target`;
}

/** When the oldest waiting row of each target was created, by its id. */
async function createdOf(
  database: Database,
  jobs: TableNames['jobs'],
  counts: readonly Count[],
): Promise<ReadonlyMap<string, number>> {
  const ids = counts
    .filter(({ status, first }) => status === 'waiting' && first !== null)
    .map((count) => Number(count.first));
  if (ids.length === 0) return new Map();
  const rows = await database.attempt((queries) =>
    queries.selectFrom(jobs).select(['id', 'time_created']).where('id', 'in', ids).execute(),
  );
  return new Map(rows.map(({ id, time_created }) => [String(id), Number(time_created)]));
}

function toOverview(
  target: string,
  counts: readonly Count[],
  created: ReadonlyMap<string, number>,
): QueueOverview {
  const rowsIn = (status: JobStatus) => Number(counts.find((count) => count.status === status)?.rows ?? 0);
  const first = counts.find(({ status }) => status === 'waiting')?.first;
  const seconds = created.get(String(first)) ?? 0;
  return defined({
    fn: target,
    waiting: { high: 0, normal: rowsIn('waiting'), low: 0 },
    scheduled: rowsIn('manual'),
    running: rowsIn('accepted') + rowsIn('running'),
    oldest: seconds > 0 ? new Date(seconds * 1000) : undefined,
  });
}
