import { digestOf } from '../../job/digest.js';
import type { Database } from './database.js';
import type { TableNames } from './schema.js';
import { exactTarget } from './target-overview.js';

/** Failed rows that ended alike. */
export interface FailedRows {
  /** The JSON of its target, its code, and a digest of its signal, which programs write. */
  readonly key: string;
  readonly target: string;
  readonly code: number | null;
  readonly sig: string | null;
  readonly rows: number;
  /** When the last of them ended, in seconds since 1970. */
  readonly last: number;
}

/** So many of the newest rows are looked at. */
const NEWEST = 10_000;
const MOST_GROUPS = 1000;
const MOST = 1000;

/** Failed rows among the newest 10,000, by target and by how they ended. @throws the database's errors */
export async function readFailures(database: Database, names: TableNames): Promise<FailedRows[]> {
  const first = await firstOfNewest(database, names);
  const found = await database.attempt((queries) =>
    queries
      .selectFrom(names.jobs)
      .select((row) => [
        row.fn.min('target').as('target'),
        ...(['return_code', 'sig'] as const),
        row.fn.countAll<number>().as('rows'),
        row.fn.max('time_finished').as('last'),
      ])
      .where('id', '>=', first)
      .where('status', '=', 'done')
      .where('result', '=', 'fail')
      .groupBy([exactTarget(database), 'return_code', 'sig'])
      .limit(MOST_GROUPS)
      .execute(),
  );
  return found
    .map(({ target, return_code: code, sig, rows, last }) => ({
      key: JSON.stringify([target, code, sig === null ? null : digestOf(sig)]),
      ...{ target, code, sig, rows: Number(rows), last: Number(last) },
    }))
    .sort((one, other) => other.rows - one.rows);
}

/** The ids of the rows that a key of `readFailures` stands for, newest first, at most 1,000. */
export async function failedIds(database: Database, names: TableNames, key: string): Promise<number[]> {
  const group = (await readFailures(database, names)).find((one) => one.key === key);
  if (!group) return [];
  const first = await firstOfNewest(database, names);
  const { target, code, sig } = group;
  const rows = await database.attempt((queries) =>
    queries
      .selectFrom(names.jobs)
      .select('id')
      .where('id', '>=', first)
      .where('status', '=', 'done')
      .where('result', '=', 'fail')
      .where('target', '=', target)
      .where('return_code', code === null ? 'is' : '=', code)
      .where('sig', sig === null ? 'is' : '=', sig)
      .orderBy('id', 'desc')
      .limit(MOST)
      .execute(),
  );
  return rows.map(({ id }) => Number(id));
}

async function firstOfNewest(database: Database, { jobs }: TableNames): Promise<number> {
  const newest = await database.attempt((queries) =>
    queries.selectFrom(jobs).select('id').orderBy('id', 'desc').limit(1).execute(),
  );
  return Math.max(0, Number(newest[0]?.id ?? 0) - NEWEST);
}
