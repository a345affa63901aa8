import { explainRefusal, type Call } from '../../../redis/rights.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import type { ExplainMore } from '../../core/wire/rights.js';
import type { LimitedJob } from './placed-limit.js';

const X = 'x';

/** What a limit's scripts need, of clients and workers. `shared` is the name of its shared limit, if that is known. */
function limitCalls(k: FunctionKeys, shared: string | undefined): Call[] {
  const own = k.limits + X;
  const spaces = shared === undefined ? [own] : [own, `shared-limit:${shared}:x`];
  return [
    ...spaces.flatMap((key): Call[] => [
      ['SCARD', key],
      ['HMGET', key, X],
      ['ZADD', key, '1', X],
    ]),
    ['HGET', own, X],
    ['SADD', own, X],
    ['SREM', own, X],
    ['SMEMBERS', own],
    ['LINDEX', own, '0'],
    ['ZREVRANGE', own, '0', '0'],
    ['ZRANGE', own, '0', '0'],
    ['ZSCAN', own, '0'],
  ];
}

/** What a worker needs for a function with a limit, beside a worker's rights. */
export function limitedWorkerCalls(k: FunctionKeys, shared?: string): Call[] {
  const own = k.limits + X;
  return [
    ...limitCalls(k, shared),
    ['HLEN', own],
    ['LREM', own, '0', X],
    ['HRANDFIELD', own, '1', 'WITHVALUES'],
    ['PEXPIRE', own, '1'],
    ['SRANDMEMBER', own, '1'],
    ['HSET', k.control, X, X],
    ['HDEL', k.control, X],
  ];
}

/** What a client needs for a function with a limit, beside a client's rights. */
export function limitedClientCalls(k: FunctionKeys, shared?: string): Call[] {
  const own = k.limits + X;
  return [
    ['EVALSHA', X, '1', k.control],
    ['HSETNX', k.control, X, X],
    ['HDEL', k.control, X],
    ...limitCalls(k, shared),
    ['HSCAN', own, '0'],
    ['SRANDMEMBER', own, '1'],
    ['LLEN', own],
    ['LRANGE', own, '0', '0'],
    ['LTRIM', own, '0', '0'],
  ];
}

/**
 * If Redis refused a client's call for a right that limits need, returns an error that names it; otherwise `refusal`. New jobs
 * need them only if they have a limit.
 */
export const explainOfLimits: ExplainMore = async (commands, refusal, fn, k, jobs) => {
  const limit = (jobs?.each as readonly Partial<LimitedJob | undefined>[] | undefined)?.[0]?.limit;
  if (jobs && !limit) return refusal;
  const shared = limit?.rules.shared;
  const who = `a client of "${fn}", which has a limit,`;
  return explainRefusal(commands, refusal, limitedClientCalls(k, shared), who);
};
