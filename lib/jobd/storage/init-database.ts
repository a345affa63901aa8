import type { JobdLog } from '../vocabulary/log.js';
import { toLocation, type DatabaseLocation } from './database-location.js';
import { Database } from './database.js';
import { tableNames } from './schema.js';
import { createJobsTable, ensureOwnerIndex, prepareTables } from './table-setup.js';

/**
 * Creates the table of jobs and our own tables if they are missing, and an index that older tables don't have.
 *
 * @returns whether the table of jobs was missing
 * @throws DatabaseSetupError
 */
export async function initDatabase(
  location: string | DatabaseLocation,
  table: string,
  log: JobdLog,
): Promise<boolean> {
  const names = tableNames(table);
  const database = await Database.open(toLocation(location), log);
  try {
    const isCreated = await createJobsTable(database, names);
    await prepareTables(database, names);
    await ensureOwnerIndex(database, names);
    return isCreated;
  } finally {
    await database.close();
  }
}
