import type { RedisConnection } from '../../../redis/redis-connection.js';
import { explainRefusal, type Call } from '../../../redis/rights.js';
import { keysOf, type KeysOf } from '../../core/wire/protocol.js';
import { wireName } from '../../core/wire/wire-names.js';

const X = 'x';

/** The calls that jobs need which wait for others, or are waited for, beside those of a worker or client. */
function flowCalls(fn: string): Call[] {
  const k = keysOf(fn);
  return [
    ['EVALSHA', X, '1', k.members],
    ['RPUSH', `${k.jobs}${X}:children`, X],
    ['LRANGE', `${k.jobs}${X}:children`, '0', '1'],
    ['LPUSH', k.normal, X],
    ['HINCRBY', k.jobs + X, X, '1'],
    ['PERSIST', k.jobs + X],
    ['ZADD', k.members, '1', X],
    ['ZCOUNT', k.members, '1', '1'],
    ['ZRANGEBYSCORE', k.members, '1', '1'],
    ['ZREM', k.scheduled, X],
  ];
}

/** If Redis refused a call for a missing right, returns an error that names it. */
export function explainOfFlows(
  commands: RedisConnection,
  refusal: unknown,
  fn: string,
  namesOf: KeysOf,
): Promise<unknown> {
  const name = wireName(namesOf, fn);
  return explainRefusal(commands, refusal, flowCalls(name), `a flow with jobs of "${name}"`);
}
