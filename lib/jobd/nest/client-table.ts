import type { Insertable } from 'kysely';
import { defined } from '../../job/defined.js';
import type { Duration } from '../../job/duration.js';
import { InvalidOptionError } from '../../job/errors.js';
import type { QueueOverview } from '../../job/job-views.js';
import { ping, type Health } from '../../job/health.js';
import type { JobdLog } from '../vocabulary/log.js';
import { MAX_TARGET_LENGTH } from '../protocol/target-lists.js';
import { plainRow, type TableRow } from '../source/row-input.js';
import { databaseAddress, toLocation, type DatabaseLocation } from '../storage/database-location.js';
import { Database } from '../storage/database.js';
import { inChunks } from '../storage/chunks.js';
import { DatabaseError, hadNoEffect, isContention } from '../storage/errors.js';
import { nowInSeconds } from '../storage/row-writer.js';
import { tableNames, type JobsTable, type TableNames } from '../storage/schema.js';
import { readOverview } from '../storage/target-overview.js';

/** How long an insert is retried while locks are in the way. */
const CONTENTION_MS = 5000;

/** Columns in seconds, also in rows that other programs add. */
const IN_SECONDS = ['time_created', 'time_started', 'time_finished', 'time_scheduled', 'timeout'] as const;
/** The year 5138: a larger number is probably milliseconds. */
const MAX_SECONDS = 1e11;
const EXPECTED =
  'seconds, as the table has it, such as `Math.floor(date.getTime() / 1000)` for a point in time';

/** The table as clients use it; connections are opened when first needed. */
export class ClientTable {
  private readonly location: DatabaseLocation;
  private readonly names: TableNames;
  private opening: Promise<Database> | undefined;

  /** @throws DatabaseSetupError */
  constructor(
    database: string | DatabaseLocation,
    table: string,
    private readonly log: JobdLog,
  ) {
    this.location = toLocation(database);
    this.names = tableNames(table);
  }

  /** Where the table is, without credentials. */
  get address(): string {
    return `${databaseAddress(this.location)} ${this.names.jobs}`;
  }

  /** The new row's id. @throws DatabaseError, InvalidOptionError */
  async add(target: string, columns: TableRow): Promise<number> {
    if (typeof target !== 'string' || target === '' || target.length > MAX_TARGET_LENGTH)
      throw new InvalidOptionError('target', target, `a name of 1 to ${MAX_TARGET_LENGTH} characters`);
    checkTimes(columns);
    const values = { time_created: nowInSeconds(), ...columns, target } as unknown as Insertable<JobsTable>;
    const database = await this.open();
    const insert = () =>
      database.attempt(async (queries) => {
        const query = queries.insertInto(this.names.jobs).values(values);
        if (database.dialect === 'postgres')
          return (await query.returning('id').executeTakeFirstOrThrow()).id;
        return (await query.executeTakeFirstOrThrow()).insertId;
      });
    const signal = AbortSignal.timeout(CONTENTION_MS);
    try {
      return Number(await database.insist(insert, { signal, isFinal: (error) => !isContention(error) }));
    } catch (error) {
      const what = hadNoEffect(error) ? 'The row was not added' : 'Whether the row was added is unknown';
      throw new DatabaseError(what, error);
    }
  }

  /** The rows that exist, ordered by id, with all columns. @throws the database's errors */
  async read(ids: readonly number[]): Promise<TableRow[]> {
    const database = await this.open();
    const rows = await inChunks(ids, (some) =>
      database.attempt((queries) =>
        queries.selectFrom(this.names.jobs).selectAll().where('id', 'in', some).orderBy('id').execute(),
      ),
    );
    return rows.map((row) => plainRow({ ...row, id: Number(row.id) }));
  }

  /** The targets of rows that have not ended. @throws the database's errors */
  async overview(): Promise<QueueOverview[]> {
    return readOverview(await this.open(), this.names);
  }

  /** Never rejects. */
  ping(timeout: Duration): Promise<Health> {
    let database: Database | undefined;
    const reach = async (ms: number) => {
      database = await this.open();
      await database.reach(ms);
    };
    const health = () => {
      const { isReachable = false, problem } = database ?? {};
      return defined({ connected: isReachable, server: databaseAddress(this.location), problem });
    };
    return ping({ health, reach }, timeout);
  }

  async close(): Promise<void> {
    const opening = this.opening;
    this.opening = undefined;
    await opening?.then(
      (database) => database.close(),
      () => undefined,
    );
  }

  private open(): Promise<Database> {
    this.opening ??= Database.open(this.location, this.log).catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }
}

function checkTimes(columns: TableRow): void {
  for (const column of IN_SECONDS) {
    const value = columns[column] ?? 0;
    const seconds = typeof value === 'number' || typeof value === 'bigint' ? Number(value) : Number.NaN;
    if (!(seconds >= 0 && seconds <= MAX_SECONDS)) throw new InvalidOptionError(column, value, EXPECTED);
  }
}
