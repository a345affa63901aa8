import { toCause } from '../../job/cause.js';
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import {
  SqliteDialect,
  SqliteDriver,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import type Libsql from 'libsql';
import { reasonOf } from '../../job/error-info.js';
import type { FileLocation } from './database-location.js';
import { DatabaseSetupError } from './errors.js';

/** Short, because waiting blocks this process, which may itself hold the lock. Callers try again. */
const BUSY_MS = 5;

/** A file that several daemons may share: it is locked as by any SQLite. */
export function openSqlite(
  { path }: FileLocation,
  { default: Database }: { default: typeof Libsql },
): Dialect {
  try {
    keepPrivate(path);
    const database = new Database(path, { timeout: BUSY_MS });
    database.pragma('journal_mode = WAL');
    return new ImmediateDialect(database);
  } catch (error) {
    throw new DatabaseSetupError(
      `The SQLite file '${path}' can't be opened: ${reasonOf(error)}. Its folder must exist and be writable.`,
      { cause: toCause(error) },
    );
  }
}

/** A new file is not readable by all users: it will contain the output of jobs. */
function keepPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o660));
    chmodSync(path, statSync(path).mode & 0o660);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

class ImmediateDialect extends SqliteDialect {
  constructor(private readonly database: Libsql.Database) {
    super({ database });
  }

  override createDriver(): Driver {
    return new ImmediateDriver(this.database);
  }
}

/**
 * Locks the file before a transaction reads or writes: one that reads first may be refused when it writes. And if a
 * prepared statement finds the file locked, libsql leaves it open: from then on the connection seems to write but
 * commits nothing.
 */
class ImmediateDriver extends SqliteDriver {
  private inTransaction = false;

  constructor(private readonly database: Libsql.Database) {
    super({ database });
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    return {
      executeQuery: <R>(query: CompiledQuery) => this.execute<R>(connection, withoutBooleans(query)),
      streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
    };
  }

  override async beginTransaction(): Promise<void> {
    this.database.exec('begin immediate');
    this.inTransaction = true;
  }

  override async commitTransaction(): Promise<void> {
    this.database.exec('commit');
    this.inTransaction = false;
  }

  override async rollbackTransaction(): Promise<void> {
    this.inTransaction = false;
    // Some errors end the transaction themselves; a failing rollback must not hide them.
    if (this.database.inTransaction) this.database.exec('rollback');
  }

  private async execute<R>(connection: DatabaseConnection, query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.inTransaction || READS.test(query.sql)) return connection.executeQuery<R>(query);
    await this.beginTransaction();
    try {
      const result = await connection.executeQuery<R>(query);
      await this.commitTransaction();
      return result;
    } catch (error) {
      await this.rollbackTransaction();
      throw error;
    }
  }
}

/** SQLite has none, and the driver ends the process at one. */
function withoutBooleans(query: CompiledQuery): CompiledQuery {
  const parameters = query.parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
  return { ...query, parameters };
}

const READS = /^\s*(?:select|pragma)\b/i;
