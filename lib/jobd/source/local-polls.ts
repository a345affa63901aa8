import { EventEmitter } from 'node:events';
import { DEFAULT_PORTS, parseDatabaseUrl, type DatabaseLocation } from '../storage/database-location.js';

/** Tells those of this process who take rows that some were added: by table, the targets or nothing for all. */
export const localPolls = new EventEmitter().setMaxListeners(0);

/** Equal for equal tables, without any password. @throws DatabaseSetupError */
export function tableKey(database: string | DatabaseLocation, table: string): string {
  const location = typeof database === 'string' ? parseDatabaseUrl(database) : database;
  if (location.dialect === 'sqlite') return JSON.stringify(['sqlite', location.path, table]);
  const { dialect, host, port = DEFAULT_PORTS[dialect], database: name } = location;
  return JSON.stringify([dialect, host, port, name, table]);
}
