import type { RedisConnection } from '../../../redis/redis-connection.js';
import { explainRefusal, type Call } from '../../../redis/rights.js';
import { keysOf } from '../../core/wire/protocol.js';

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

/** If Redis refused a call for a missing right, returns an error that names it. @param fn its name on the wire */
export function explainOfFlows(commands: RedisConnection, refusal: unknown, fn: string): Promise<unknown> {
  return explainRefusal(commands, refusal, flowCalls(fn), `a flow with jobs of "${fn}"`);
}
