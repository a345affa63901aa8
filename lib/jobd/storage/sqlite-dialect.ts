import { SqliteDialect, SqliteDriver, type Dialect, type Driver } from 'kysely';
import type Libsql from 'libsql';
import { messageOf } from '../../job/errors.js';
import type { FileLocation } from './database-location.js';
import { DatabaseSetupError } from './errors.js';

/** Short: nothing else runs in this process meanwhile, perhaps not even what holds the lock. It is tried again. */
const BUSY_MS = 5;

/** A file that several daemons may share: the driver locks it as every SQLite does. */
export function openSqlite(
  { path }: FileLocation,
  { default: Database }: { default: typeof Libsql },
): Dialect {
  try {
    const database = new Database(path, { timeout: BUSY_MS });
    database.pragma('journal_mode = WAL');
    return new ImmediateDialect(database);
  } catch (error) {
    throw new DatabaseSetupError(
      `The SQLite file '${path}' can't be opened: ${messageOf(error)}. Its folder must exist and be writable.`,
      { cause: error },
    );
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

/** Takes the file's lock when a transaction begins: one that read first would be refused when it writes. */
class ImmediateDriver extends SqliteDriver {
  constructor(private readonly database: Libsql.Database) {
    super({ database });
  }

  /** Not as a prepared statement: when that finds the file locked, libsql leaves it under way, and no commit succeeds. */
  override async beginTransaction(): Promise<void> {
    this.database.exec('begin immediate');
  }
}
