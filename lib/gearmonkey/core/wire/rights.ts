import { randomUUID } from 'node:crypto';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { explainRefusal, requireRights, type Call } from '../../../redis/rights.js';
import { FUNCTION_INDEX, ownListOf, type FunctionKeys, type KeysOf } from './protocol.js';

/** How many functions one call checks: it blocks the server meanwhile. */
const MAX_FUNCTIONS = 50;
const TIMEOUT_MS = 10_000;
const X = 'x';

interface Connections {
  readonly commands: RedisConnection;
  /** On a cluster there is one for each key. */
  readonly blocking: RedisConnection | ((key: string) => RedisConnection);
}

/**
 * Checks rights before any job is claimed: a right that is missing later would cost jobs their leases.
 *
 * @throws ConfigurationError that names the missing rights · ConnectionError if the server doesn't answer
 */
export async function requireWorkerRights(
  { commands, blocking }: Connections,
  functions: readonly string[],
  worker: string,
  keysOf: KeysOf,
  /** What features need for a function, beside what each worker needs. */
  more: (fn: string, k: FunctionKeys) => Call[],
): Promise<void> {
  await commands.ready(TIMEOUT_MS, { patient: false });
  const onCluster = typeof blocking === 'function';
  const checks = [];
  for (let from = 0; from < functions.length; from += MAX_FUNCTIONS) {
    const some = functions.slice(from, from + MAX_FUNCTIONS);
    const calls = some.flatMap((fn) => {
      const k = keysOf(fn);
      const ownList = onCluster ? ownListOf(worker, k.wake) : ownListOf(worker);
      return [...workerCalls(k, worker, ownList), ...more(fn, k)];
    });
    const who = some.length === 1 ? `a worker of "${some[0]}"` : 'this worker';
    checks.push(commands.insist((redis) => requireRights(redis, calls, who), TIMEOUT_MS));
  }
  await Promise.all(checks);
}

/**
 * One call for each right that a worker needs on a function: each command, key and channel once. Scripts get channels
 * as keys.
 */
function workerCalls(k: FunctionKeys, worker: string, ownList: string): Call[] {
  return [
    ['BLPOP', k.wake, ownList, '1'],
    ...[k.channel, k.progress].map((key): Call => ['EVALSHA', X, '1', key]),
    ...[k.channel, k.progress, k.replies + X].map((channel): Call => ['PUBLISH', channel, X]),
    ['SUBSCRIBE', k.channel],
    ['SUBSCRIBE', k.cancel],
    ['EVAL', X, '0'],
    ...['UNSUBSCRIBE', 'PING', 'MULTI', 'EXEC', 'TIME'].map((command): Call => [command]),
    ...jobCalls(k.jobs + X),
    ['HDEL', k.jobs + X, X],
    ['LPUSH', k.locks + X, X],
    ['RPOP', k.high],
    ['RPUSH', k.normal, X],
    ['LLEN', k.low],
    ['LTRIM', k.wake, '0', '0'],
    ['EXISTS', k.wake],
    ['ZADD', k.scheduled, '1', X],
    ['ZRANGEBYSCORE', k.scheduled, '0', '1'],
    ['ZREM', k.leases, X],
    ['ZSCORE', k.leases, X],
    ['ZCARD', k.workers],
    ['ZREMRANGEBYSCORE', k.workers, '0', '1'],
    ['INCRBY', k.count, '1'],
    ['GET', k.count],
    ['MGET', k.plain],
    ['GET', k.recovery],
    ['SET', k.recovery, X],
    ['HMGET', k.control, X],
    ['PTTL', k.leader],
    ['DEL', k.leader],
    ['SET', k.claims + worker, X],
    ['INCRBY', k.ids, '1'],
    ['EVALSHA', X, '1', k.retrying],
    ['ZADD', k.retrying, '1', X],
    ['ZADD', `${k.ended}success`, '1', X],
    ['ZADD', FUNCTION_INDEX, '1', X],
  ];
}

/** Who has rights on a function. */
export type Role = 'client' | 'worker' | 'operator';

/** One call for each right that a role needs on a function, beside those for features (`Feature.rights`). */
export function callsOf(role: Role, k: FunctionKeys): Call[] {
  if (role === 'worker') return workerCalls(k, X, ownListOf(randomUUID()));
  return role === 'client' ? clientCalls(k) : [...clientCalls(k), ...operatorCalls(k)];
}

/** The calls that need a client's rights. */
function clientCalls(k: FunctionKeys): Call[] {
  return [
    ...[k.channel, k.cancel].map((key): Call => ['EVALSHA', X, '1', key]),
    ...[k.channel, k.cancel].map((channel): Call => ['PUBLISH', channel, X]),
    ...[k.channel, k.progress, k.replies + X].map((channel): Call => ['SUBSCRIBE', channel]),
    ['EVAL', X, '0'],
    ...['UNSUBSCRIBE', 'PING', 'TIME'].map((command): Call => [command]),
    ...jobCalls(k.jobs + X),
    ['HGETALL', k.jobs + X],
    ['DEL', k.jobs + X],
    ['LPUSH', k.locks + X, X],
    ['HDEL', k.jobs + X, X],
    ['LPUSH', k.high, X],
    ['LPOS', k.high, X],
    ['ZSCORE', k.scheduled, X],
    ['LPUSH', k.normal, X],
    ['LREM', k.low, '1', X],
    ['ZADD', k.scheduled, '1', X],
    ['ZREM', k.leases, X],
    ['ZSCORE', k.scheduled, X],
    ['ZADD', `${k.ended}cancelled`, '1', X],
    ['ZREM', k.retrying, X],
    ['EXISTS', k.wake],
    ['INCRBY', k.ids, '1'],
    ['DECRBY', k.ids, '1'],
    ['SET', k.senders + X, X],
    ['GET', k.count],
    ['ZCARD', k.workers],
    ['ZREMRANGEBYSCORE', k.workers, '0', '1'],
  ];
}

/** The calls that need an operator's rights, beside those of a client. */
function operatorCalls(k: FunctionKeys): Call[] {
  return [
    ['EVALSHA', X, '1', k.control],
    ['HMGET', k.control, X],
    ['HDEL', k.control, X],
    ['PUBLISH', k.control, X],
    ['SUBSCRIBE', k.control],
    ['RPOP', k.high],
    ['RPUSH', k.high, X],
    ['ZSCAN', k.scheduled, '0'],
    ['PERSIST', k.jobs + X],
  ];
}

function jobCalls(key: string): Call[] {
  return [
    ['HMGET', key, X],
    ['HSET', key, X, X],
    ['EXPIRE', key, '1'],
  ];
}

/**
 * If Redis refused a call for a missing right, returns an error that names it; otherwise returns `refusal`.
 *
 * @param more asks features: a user with all rights of a client lacks some of those that they need
 */
export async function explainToClient(
  commands: RedisConnection,
  refusal: unknown,
  fn: string,
  k: FunctionKeys,
  more?: (refusal: unknown) => Promise<unknown>,
): Promise<unknown> {
  const why = await explainRefusal(commands, refusal, clientCalls(k), `a client of "${fn}"`);
  return why === refusal && more ? more(refusal) : why;
}

/** Explains why Redis refused a call about a function, in terms of the rights of those who may make it. */
export type Explain = (
  commands: RedisConnection,
  refusal: unknown,
  fn: string,
  keysOf: KeysOf,
) => Promise<unknown>;

/** Explains a refusal by a right that a feature needs; otherwise returns it. `jobs` are those that were to be created, if that was refused. */
export type ExplainMore = (
  commands: RedisConnection,
  refusal: unknown,
  fn: string,
  k: FunctionKeys,
  jobs?: NewJobsCall,
) => Promise<unknown>;

/** Jobs whose creation Redis refused. */
export interface NewJobsCall {
  readonly placement: { readonly apart?: string | undefined };
  /** What the feature that was to create them knows of each. */
  readonly each?: readonly unknown[] | undefined;
}

/** As `explainToClient`, for what only operators may do. */
export function explainToOperator(
  commands: RedisConnection,
  refusal: unknown,
  fn: string,
  keysOf: KeysOf,
): Promise<unknown> {
  const k = keysOf(fn);
  const calls = [...clientCalls(k), ...operatorCalls(k)];
  return explainRefusal(commands, refusal, calls, `an operator of "${fn}"`);
}
