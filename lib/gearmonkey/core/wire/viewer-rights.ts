import type { RedisConnection } from '../../../redis/redis-connection.js';
import { explainRefusal, type Call } from '../../../redis/rights.js';
import { FUNCTION_INDEX, type FunctionKeys, type KeysOf } from './protocol.js';

const X = 'x';

/** The calls that need the rights to list jobs. */
function viewerCalls(k: FunctionKeys): Call[] {
  const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying];
  keys.push(
    k.count,
    k.workers,
    k.tags,
    k.unique,
    `${k.ended}success`,
    `${k.ended}failed`,
    `${k.ended}cancelled`,
  );
  return [
    ...keys.map((key): Call => ['EVALSHA', X, '1', key]),
    ['EVAL', X, '0'],
    ['TIME'],
    ['HMGET', k.jobs + X, X],
    ['HSTRLEN', k.jobs + X, X],
    ['HRANDFIELD', k.jobs + X],
    ['HMGET', k.control, X],
    ['LLEN', k.high],
    ['LINDEX', k.high, '0'],
    ['LRANGE', k.high, '0', '0'],
    ['ZCARD', k.leases],
    ['ZCOUNT', k.retrying, '0', '1'],
    ['ZSCORE', k.retrying, X],
    ['ZRANGEBYSCORE', k.leases, '0', '1'],
    ['ZREVRANGEBYSCORE', k.scheduled, '1', '0'],
    ['ZREVRANGE', k.scheduled, '0', '1'],
    ['GET', k.count],
    ['HMGET', k.unique, X],
    ['ZLEXCOUNT', k.tags, '-', '+'],
    ['ZRANGEBYLEX', k.tags, '-', '+'],
    ['ZREVRANGEBYLEX', k.tags, '+', '-'],
  ];
}

/** The calls that need the rights to read the index of functions. */
const indexCalls: Call[] = [
  ['EVALSHA', X, '1', FUNCTION_INDEX],
  ['TIME'],
  ['ZREVRANGEBYSCORE', FUNCTION_INDEX, '1', '0'],
];

/** If Redis refused a call for a missing right, returns an error that names it; `fn` '*' stands for the index of functions. */
export function explainToViewer(
  commands: RedisConnection,
  refusal: unknown,
  fn: string,
  keysOf: KeysOf,
): Promise<unknown> {
  if (fn === '*') return explainRefusal(commands, refusal, indexCalls, 'an overview');
  return explainRefusal(commands, refusal, viewerCalls(keysOf(fn)), `a viewer of "${fn}"`);
}
