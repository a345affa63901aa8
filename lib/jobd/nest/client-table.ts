import { defined } from '../../job/defined.js';
import type { Duration } from '../../job/duration.js';
import type { QueueOverview } from '../../job/job-views.js';
import { ping, type Health } from '../../job/health.js';
import type { JobdLog } from '../vocabulary/log.js';
import { checkIds } from '../vocabulary/row-ids.js';
import { insertRow } from '../source/insert-row.js';
import { checkRow } from '../source/new-row.js';
import { plainRow, type TableRow } from '../source/row-input.js';
import { databaseAddress, toLocation, type DatabaseLocation } from '../storage/database-location.js';
import { Database } from '../storage/database.js';
import { inChunks } from '../storage/chunks.js';
import { tableNames, type TableNames } from '../storage/schema.js';
import { readOverview } from '../storage/target-overview.js';

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
    checkRow({ target, columns });
    return insertRow(await this.open(), this.names, { target, columns });
  }

  /** The rows that exist, ordered by id, with all columns. @throws the database's errors, InvalidOptionError */
  async read(ids: readonly number[]): Promise<TableRow[]> {
    checkIds(ids);
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
