import { EventEmitter } from 'node:events';
import { DEFAULT_PORTS, toLocation, type DatabaseLocation } from '../storage/database-location.js';

/** Polls within this process: emits by table, with the targets, or none for all. */
export const localPolls = new EventEmitter().setMaxListeners(0);

/** Equal for equal tables, and without a password. @throws DatabaseSetupError */
export function tableKey(database: string | DatabaseLocation, table: string): string {
  const location = toLocation(database);
  if (location.dialect === 'sqlite') return JSON.stringify(['sqlite', location.path, table]);
  const { dialect, host, port = DEFAULT_PORTS[dialect], database: name } = location;
  return JSON.stringify([dialect, host, port, name, table]);
}
