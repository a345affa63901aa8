import { toCause } from '../../job/cause.js';
import { sql, type RawBuilder } from 'kysely';
import { reasonOf } from '../../job/error-info.js';
import type { Database } from './database.js';
import { DatabaseSetupError, isContention, isForbidden } from './errors.js';
import type { JobdDatabase, JobsTable, TableNames } from './schema.js';

/** Optional columns of a table; each enables a feature. */
const OPTIONAL_COLUMNS = ['time_scheduled', 'attempts', 'max_attempts', 'timeout'] as const;
export type OptionalColumn = (typeof OPTIONAL_COLUMNS)[number];

const NEEDED_COLUMNS = [
  'id',
  'target',
  'time_created',
  'time_started',
  'time_finished',
  'status',
  'result',
  'return_code',
  'sig',
  'stdout',
  'stderr',
] as const satisfies readonly (keyof JobsTable)[];

/** How long to retry while locks are in the way. */
const CONTENTION_MS = 10_000;
const NO_SUCH_TABLE = new Set(['ER_NO_SUCH_TABLE', '42P01']);
const DUPLICATE_INDEX = new Set(['ER_DUP_KEYNAME']);
const NO_SUCH_COLUMN = new Set(['ER_BAD_FIELD_ERROR', '42703']);

/** Creates the table of jobs with all optional columns if it is missing. True if it did. */
export async function createJobsTable(database: Database, names: TableNames): Promise<boolean> {
  if (await hasTable(database, names.jobs)) return false;
  await create(database, names.jobs, jobsStatements(database, names));
  return true;
}

/**
 * Checks the table of jobs, creates our own tables if they are missing, and returns the optional columns that exist.
 *
 * @throws DatabaseSetupError
 */
export async function prepareTables(database: Database, names: TableNames): Promise<Set<OptionalColumn>> {
  if (!(await hasTable(database, names.jobs))) {
    throw new DatabaseSetupError(
      `The table '${names.jobs}' doesn't exist. Create it with --init, or name the right one in the config.`,
    );
  }
  for (const column of NEEDED_COLUMNS) {
    if (!(await hasColumn(database, names, column)))
      throw new DatabaseSetupError(`The table '${names.jobs}' has no column '${column}'. Add it.`);
  }
  await createOwnTables(database, names);
  const found = new Set<OptionalColumn>();
  for (const column of OPTIONAL_COLUMNS) {
    if (await hasColumn(database, names, column)) found.add(column);
  }
  return found;
}

/** Creates the tables of owners and daemons if they are missing. */
async function createOwnTables(database: Database, names: TableNames): Promise<void> {
  for (const [name, statements] of [
    [names.owners, ownersStatements(database, names)],
    [names.daemons, [daemonsStatement(database, names)]],
  ] as const) {
    if (!(await hasTable(database, name))) await create(database, name, statements);
  }
}

/** Adds the index by owner to a table that was created without it. */
export async function ensureOwnerIndex(database: Database, names: TableNames): Promise<void> {
  try {
    await unlessInTheWay(database, (queries) => ownerIndex(database, names).execute(queries));
  } catch (error) {
    // It is only for speed: without the right to add it, do without.
    if (!hasCode(error, DUPLICATE_INDEX) && !isForbidden(error)) throw failed(names.owners, error);
  }
}

type Statement = RawBuilder<unknown>;

async function create(database: Database, name: string, statements: readonly Statement[]): Promise<void> {
  const creation = () =>
    database.transaction(async (queries) => {
      for (const statement of statements) await statement.execute(queries);
    });
  try {
    await database.insist(creation, { isFinal: (error) => !isContention(error) });
  } catch (error) {
    // Another daemon may have created it first, which some servers report as an error.
    if (await hasTable(database, name)) return;
    if (!isForbidden(error)) throw failed(name, error);
    throw new DatabaseSetupError(
      `The table '${name}' is missing and this user may not create it. Grant CREATE for once, or run --init as a user who may. ` +
        `The daemons then need SELECT, INSERT, UPDATE and DELETE on it.`,
      { cause: toCause(error) },
    );
  }
}

async function hasTable(database: Database, name: string): Promise<boolean> {
  // All columns: the driver refuses some names, whatever the row.
  const probe = (queries: JobdDatabase) => sql`select * from ${sql.table(name)} limit 0`.execute(queries);
  try {
    await unlessInTheWay(database, probe);
    return true;
  } catch (error) {
    if (isMissing(error, NO_SUCH_TABLE, 'no such table')) return false;
    throw failed(name, error);
  }
}

export async function hasColumn(database: Database, { jobs }: TableNames, column: string): Promise<boolean> {
  // Qualified: SQLite reads an unknown name in double quotes as a string.
  const probe = (queries: JobdDatabase) =>
    sql`select t.${sql.id(column)} from ${sql.table(jobs)} as t limit 0`.execute(queries);
  try {
    await unlessInTheWay(database, probe);
    return true;
  } catch (error) {
    if (isMissing(error, NO_SUCH_COLUMN, 'no such column')) return false;
    throw failed(jobs, error);
  }
}

/** Retries on contention: others that start at the same time may have locked a file. */
async function unlessInTheWay(
  database: Database,
  question: (queries: JobdDatabase) => Promise<unknown>,
): Promise<void> {
  const isFinal = (error: unknown) => !isContention(error);
  const signal = AbortSignal.timeout(CONTENTION_MS);
  await database.insist(() => database.attempt(question), { signal, isFinal });
}

function isMissing(error: unknown, codes: ReadonlySet<string>, text: string): boolean {
  return hasCode(error, codes) || (error instanceof Error && error.message.includes(text));
}

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  return error instanceof Error && 'code' in error && codes.has(String(error.code));
}

function failed(name: string, cause: unknown): DatabaseSetupError {
  return new DatabaseSetupError(`The table '${name}' can't be used: ${reasonOf(cause)}.`, {
    cause: toCause(cause),
  });
}

function jobsStatements(database: Database, { jobs }: TableNames): Statement[] {
  const table = sql.table(jobs);
  if (database.dialect === 'mysql') return [mysqlJobs(table)];
  const isPostgres = database.dialect === 'postgres';
  const id = isPostgres
    ? sql`bigint generated by default as identity primary key`
    : sql`integer primary key autoincrement`;
  const index = sql.id(`${jobs.split('.').at(-1)}_status_target_idx`);
  return [
    sql`create table if not exists ${table} (
      id ${id},
      target varchar(128) not null,
      time_created integer not null,
      time_started integer not null default 0,
      time_finished integer not null default 0,
      status varchar(8) not null default 'waiting'
        check (status in ('waiting', 'manual', 'accepted', 'running', 'done', 'ignored')),
      result varchar(4) default null check (result in ('ok', 'fail')),
      return_code integer default null,
      sig varchar(10) default null,
      stdout text default null,
      stderr text default null,
      time_scheduled integer not null default 0,
      attempts integer not null default 0,
      max_attempts integer default null,
      timeout integer default null
    )`,
    sql`create index if not exists ${index} on ${table} (status, target, id)`,
  ];
}

function mysqlJobs(table: Statement): Statement {
  return sql`create table if not exists ${table} (
    id int unsigned not null auto_increment,
    target varchar(128) character set utf8mb4 collate utf8mb4_bin not null,
    time_created int unsigned not null,
    time_started int unsigned not null default 0,
    time_finished int unsigned not null default 0,
    status enum('waiting', 'manual', 'accepted', 'running', 'done', 'ignored') not null default 'waiting',
    result enum('ok', 'fail') default null,
    return_code tinyint unsigned default null,
    sig char(10) default null,
    stdout mediumtext default null,
    stderr mediumtext default null,
    time_scheduled int unsigned not null default 0,
    attempts int unsigned not null default 0,
    max_attempts int unsigned default null,
    timeout int unsigned default null,
    primary key (id),
    key status_target_idx (status, target, id)
  ) engine=InnoDB default charset=utf8mb4`;
}

function ownersStatements(database: Database, names: TableNames): Statement[] {
  const isMysql = database.dialect === 'mysql';
  // In the same statement, since creating it later takes another privilege.
  const key = isMysql ? sql`, key ${sql.id(ownerIndexName(database, names))} (owner, job_id)` : sql``;
  const table = sql`create table if not exists ${sql.table(names.owners)} (
    job_id bigint not null primary key,
    owner char(36) not null,
    origin varchar(8) not null${key}
  )${engine(database)}`;
  return isMysql ? [table] : [table, ownerIndex(database, names)];
}

/** For each beat, which reads the rows of one owner. */
function ownerIndex(database: Database, names: TableNames): Statement {
  const unlessThere = database.dialect === 'mysql' ? sql`` : sql`if not exists`;
  const index = sql.id(ownerIndexName(database, names));
  return sql`create index ${unlessThere} ${index} on ${sql.table(names.owners)} (owner, job_id)`;
}

/** In other dialects index names are shared by all tables. */
function ownerIndexName({ dialect }: Database, { jobs }: TableNames): string {
  return dialect === 'mysql' ? 'owner_idx' : `${jobs.split('.').at(-1)}_owner_idx`;
}

function daemonsStatement(database: Database, { daemons }: TableNames): Statement {
  return sql`create table if not exists ${sql.table(daemons)} (
    instance char(36) not null primary key,
    name varchar(190) not null,
    machine varchar(64) not null,
    process varchar(64) not null,
    beat bigint not null
  )${engine(database)}`;
}

function engine({ dialect }: Database): Statement {
  return dialect === 'mysql' ? sql` engine=InnoDB default charset=utf8mb4` : sql``;
}
