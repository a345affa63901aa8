import type { RedisConnection } from '../../redis/redis-connection.js';
import { RedisSchedules } from '../recurring/redis-schedules.js';
import { Ticker } from '../recurring/ticker.js';
import type { KeysOf } from '../wire/protocol.js';
import type { Problems } from './problems.js';

/** After this time the next report of a due tick tries again. */
const TIMEOUT_MS = 5000;

/** Creates recurring jobs on a Redis server. */
export function tickerOf(commands: RedisConnection, keysOf: KeysOf, problems: Problems): Ticker {
  const schedules = new RedisSchedules({
    keysOf,
    ask: (_, __, question) => commands.insist(question, TIMEOUT_MS),
  });
  return new Ticker(schedules, (fn, message) => problems.report(`tick ${fn}`, message));
}
