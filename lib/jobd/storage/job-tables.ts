import {
  ROWS_OF_PAGE,
  toSlice,
  toTable,
  wrongPage,
  type Columns,
  type SourceTable,
  type TableVerb,
} from '../../job/source-tables.js';
import type { Database } from './database.js';
import type { DaemonsTable, JobsTable, TableNames } from './schema.js';
import { readFailures } from './failed-rows.js';
import { readOverview } from './target-overview.js';

export const VIEWS = ['targets', 'rows', 'failed', 'daemons'] as const;

const COLUMNS = [
  ...(['id', 'target', 'status', 'result', 'return_code', 'sig'] as const),
  ...(['time_created', 'time_started', 'time_finished'] as const),
] as const;
type Row = Pick<JobsTable, (typeof COLUMNS)[number]>;

const ROWS: Columns<Row> = {
  id: ({ id }) => id,
  target: ({ target }) => target,
  status: ({ status }) => status,
  result: ({ result }) => result,
  return_code: ({ return_code: code }) => code,
  sig: ({ sig }) => sig,
  created: ({ time_created: time }) => timeOf(time),
  started: ({ time_started: time }) => timeOf(time),
  finished: ({ time_finished: time }) => timeOf(time),
};
const DAEMONS: Columns<DaemonsTable> = {
  name: ({ name }) => name,
  instance: ({ instance }) => instance,
  machine: ({ machine }) => machine,
  process: ({ process }) => process,
  beat: ({ beat }) => Number(beat),
};

/** What can be done to a row as it is. A daemon drops one that is no longer `accepted`. */
export function verbsOf({ status, result }: Pick<JobsTable, 'status' | 'result'>): readonly TableVerb[] {
  if (status === 'manual') return ['run', 'cancel'];
  if (status === 'waiting' || status === 'accepted') return ['cancel'];
  return status === 'ignored' || (status === 'done' && result !== 'ok') ? ['retry'] : [];
}

/** A page of a table, read by its primary key. @param view one of `VIEWS` @throws the database's errors, InvalidOptionError */
export function readTable(
  database: Database,
  names: TableNames,
  view: string,
  page: string,
): Promise<SourceTable> {
  if (view === 'rows') return readRows(database, names, page);
  if (view === 'failed') return readFailed(database, names, page);
  return view === 'daemons' ? readDaemons(database, names, page) : readTargets(database, names, page);
}

async function readTargets(database: Database, names: TableNames, page: string): Promise<SourceTable> {
  const table = toSlice(
    await readOverview(database, names),
    {
      target: ({ fn }) => fn,
      waiting: ({ waiting }) => waiting.normal,
      manual: ({ scheduled }) => scheduled,
      running: ({ running }) => running,
      oldest: ({ oldest }) => oldest,
    },
    page,
  );
  return { ...table, functions: 'target' };
}

/** Among the newest rows: no index has the result. */
async function readFailed(database: Database, names: TableNames, page: string): Promise<SourceTable> {
  const table = toSlice(
    await readFailures(database, names),
    {
      key: ({ key }) => key,
      target: ({ target }) => target,
      return_code: ({ code }) => code,
      sig: ({ sig }) => sig,
      rows: ({ rows }) => rows,
      last: ({ last }) => timeOf(last),
    },
    page,
    () => ['retry'],
  );
  return { ...table, ...{ functions: 'target', key: 'key' } };
}

/** The newest rows first. What processes wrote is not read: it may be large. */
async function readRows(database: Database, { jobs }: TableNames, page: string): Promise<SourceTable> {
  if (!/^\d{0,15}$/.test(page)) throw wrongPage(page);
  const found = await database.attempt((queries) =>
    queries
      .selectFrom(jobs)
      .select(COLUMNS)
      .$if(page !== '', (query) => query.where('id', '<', Number(page)))
      .orderBy('id', 'desc')
      .limit(ROWS_OF_PAGE)
      .execute(),
  );
  const last = found[ROWS_OF_PAGE - 1];
  return {
    ...toTable(found, ROWS, verbsOf),
    ...(last && { next: String(last.id) }),
    ...{ functions: 'target', key: 'id', opens: true },
  };
}

async function readDaemons(database: Database, { daemons }: TableNames, page: string): Promise<SourceTable> {
  if (!/^[\w-]{0,36}$/.test(page)) throw wrongPage(page);
  const found = await database.attempt((queries) =>
    queries
      .selectFrom(daemons)
      .selectAll()
      .where('instance', '>', page)
      .orderBy('instance')
      .limit(ROWS_OF_PAGE)
      .execute(),
  );
  const last = found[ROWS_OF_PAGE - 1];
  return { ...toTable(found, DAEMONS), ...(last && { next: last.instance }) };
}

export function timeOf(seconds: number): Date | undefined {
  return Number(seconds) > 0 ? new Date(Number(seconds) * 1000) : undefined;
}
