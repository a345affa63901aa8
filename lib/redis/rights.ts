import type { Cluster, Redis } from 'ioredis';
import { ConfigurationError, messageOf } from '../job/errors.js';
import { LUA } from './lua.embedded.js';
import type { RedisConnection } from './redis-connection.js';
import { scriptsIn } from './script.js';

/** A command with those arguments that rights depend on. */
export type Call = readonly [command: string, ...args: string[]];

/** The replies of Redis 7 and Valkey to a forbidden command, called directly or by a script. */
export const NO_RIGHT = /^NOPERM|The user executing the script|ACL failure in script/;
const NO_COMMAND = /^NOPERM .*'(\w+)' command/;
/** How many missing rights a message names; the others are counted. */
const MAX_NAMED = 5;

const defineScript = scriptsIn(LUA);

const refused = defineScript<[calls: (string | number)[]], number[]>('rights', (reply) => reply as number[]);

/**
 * The calls that the connection's user may not make. None of them is made. Servers before Redis 7 can't tell: none.
 *
 * @throws ConfigurationError if the server has not all of these commands
 */
async function refusedCalls(redis: Redis | Cluster, calls: readonly Call[]): Promise<Call[]> {
  const words = calls.flatMap((call) => [call.length, ...call]);
  const numbers = await refused.run(redis, [], words).catch(withoutScripts);
  const unknown = numbers.flatMap((number) => (number < 0 ? calls.slice(-number - 1, -number) : []));
  if (unknown.length > 0) throw lacking(unknown.map(([command]) => command));
  return numbers.flatMap((number) => calls.slice(number - 1, number));
}

/** The reply to a command that was renamed or switched off, or that a server does not have. */
const UNKNOWN_COMMAND = /^ERR unknown command [`']?(\w+)/i;

/** Scripts are no command of such a server. */
function withoutScripts(error: unknown): never {
  const command = UNKNOWN_COMMAND.exec(messageOf(error))?.[1];
  throw command === undefined ? error : lacking([command.toUpperCase()]);
}

function lacking(commands: readonly string[]): ConfigurationError {
  const names = [...new Set(commands)].join(', ');
  return new ConfigurationError(
    `The server has no command ${names}, which is needed. Where it was renamed or switched off (rename-command), give it back; ` +
      'docs/operate/servers.md names the servers that have all commands.',
  );
}

/**
 * Checks rights at startup, before any job is claimed.
 *
 * @param who what needs these rights, for the message
 * @throws ConfigurationError that names the missing rights, or the commands that the server doesn't have
 */
export async function requireRights(
  redis: Redis | Cluster,
  calls: readonly Call[],
  who: string,
): Promise<void> {
  const missing = await missingCalls(redis, calls);
  if (missing.length > 0) throw new ConfigurationError(`${describeMissing(missing, who)}.`);
}

/** The calls that the connection's user may not make, or that to the check itself. */
export function missingCalls(redis: Redis | Cluster, calls: readonly Call[]): Promise<Call[]> {
  return refusedCalls(redis, calls).catch(whatMayNotAsk);
}

/** The forbidden call, if the user may not even run the check itself. */
function whatMayNotAsk(error: unknown): Call[] {
  const command = NO_COMMAND.exec(messageOf(error))?.[1];
  if (command === undefined) throw error;
  return [[command.toUpperCase()]];
}

/** Finds the missing right: the reply that refuses a script does not name the key or channel. */
export async function explainRefusal(
  connection: RedisConnection,
  refusal: unknown,
  calls: readonly Call[],
  who: string,
): Promise<unknown> {
  if (!(refusal instanceof Error && NO_RIGHT.test(refusal.message))) return refusal;
  const asked = connection.ready().then((redis) => refusedCalls(redis, calls));
  const missing = await asked.catch(() => []);
  return missing.length === 0 ? refusal : new Error(describeMissing(missing, who));
}

/** Names each missing call by its command and first key or channel. */
export function describeMissing(missing: readonly Call[], who: string): string {
  const named = missing
    .slice(0, MAX_NAMED)
    .map(([command, ...args]) => `${command} ${nameOf(command, args)}`.trim());
  const more = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : '';
  return `The Redis user has no right to what ${who} needs: ${named.join(', ')}${more}. Grant it: docs/operate/security.md has the list`;
}

/** EVAL's key follows the script and the number of keys. */
function nameOf(command: string, args: readonly string[]): string {
  return args[command.startsWith('EVAL') ? 2 : 0] ?? '';
}
