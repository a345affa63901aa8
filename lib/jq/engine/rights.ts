import type { RedisConnection } from '../../redis/redis-connection.js';
import { requireRights, type Call } from '../../redis/rights.js';
import { turn } from './turn.js';

/** The commands in the script's text. */
const COMMANDS = new Set([...turn.text.matchAll(/\bcall\('([A-Z]+)'/g)].map(([, command = '']) => command));

/** Waits for Redis. @throws ConfigurationError that names missing rights */
export function requireMasterRights(connection: RedisConnection, prefix: string): Promise<void> {
  const name = `${prefix}x`;
  const calls: Call[] = [...COMMANDS].map((command): Call => {
    if (command === 'TIME') return [command];
    if (command === 'RENAME') return [command, name, name];
    return command === 'ZUNIONSTORE' ? [command, name, '1', name] : [command, name];
  });
  calls.push(['EVALSHA', 'x', '1', prefix], ['EVAL', 'x', '0'], ['SUBSCRIBE', name], ['PING']);
  return connection.insist((redis) => requireRights(redis, calls, 'a master of JQ'));
}
