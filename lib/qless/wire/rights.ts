import { requireRights, explainRefusal, type Call } from '../../redis/rights.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { config, deregisterWorkers } from './scripts.js';
import * as source from './source-scripts.js';

interface Text {
  readonly text: string;
}

/** What a worker runs; overviews need more. */
const WORKER: readonly Text[] = [...Object.values(source), config, deregisterWorkers];
const COMMAND = /\b(?:p?call|in_chunks)\('([A-Z]+)'/g;

/** A call for each right that these scripts need: any key is like the others. */
function callsOf(scripts: readonly Text[], prefix: string): Call[] {
  const name = `${prefix}x`;
  const found = scripts.flatMap(({ text }) => [...text.matchAll(COMMAND)]);
  const commands = new Set(found.map(([, command = '']) => command));
  return [
    ['EVALSHA', 'x', '1', prefix],
    ['EVAL', 'x', '1', prefix],
    // Some have two keys.
    ...[...commands].map((command): Call => (command === 'TIME' ? [command] : [command, name, name])),
  ];
}

/**
 * Checks rights before any job is claimed: one that is missing later would cost jobs their locks.
 *
 * @throws ConfigurationError that names the missing rights · ConnectionError if the server doesn't answer
 */
export function requireWorkerRights(
  commands: RedisConnection,
  prefix: string,
  timeout: number,
): Promise<void> {
  const name = `${prefix}x`;
  const calls: Call[] = [
    ...callsOf(WORKER, prefix),
    ['BLPOP', name, '1'],
    ['ZRANGE', name, '0', '-1'],
    ['SUBSCRIBE', name],
    ...['UNSUBSCRIBE', 'PING'].map((command): Call => [command]),
  ];
  return commands.insist((redis) => requireRights(redis, calls, 'a worker of qless'), timeout);
}

/** If Redis refused a script for a missing right, returns an error that names it; otherwise returns `refusal`. */
export function explainToClient(
  commands: RedisConnection,
  refusal: unknown,
  script: Text,
  prefix: string,
): Promise<unknown> {
  return explainRefusal(commands, refusal, callsOf([script], prefix), 'this call of qless');
}
