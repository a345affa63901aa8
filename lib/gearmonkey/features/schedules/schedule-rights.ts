import type { RedisConnection } from '../../../redis/redis-connection.js';
import { explainRefusal, type Call } from '../../../redis/rights.js';
import type { RedisQuestions } from '../../core/client/redis-questions.js';
import { DECLARED, SCHEDULE_INDEX, type FunctionKeys, type KeysOf } from '../../core/wire/protocol.js';
import type { Role } from '../../core/wire/rights.js';
import type { RedisSchedulesOptions } from './redis-schedules.js';

const X = 'x';

/** The calls that need the rights to make and read schedules. */
function scheduleCalls(index: string, k: FunctionKeys | undefined): Call[] {
  const calls: Call[] = [
    ['HSCAN', index, '0'],
    ['HMGET', index, X],
    ['EVALSHA', X, '1', index],
    ['HSET', index, X, X],
    ['HDEL', index, X],
    ['HSETNX', DECLARED + X, X, X],
  ];
  if (!k) return calls;
  return [
    ...calls,
    ['EVALSHA', X, '1', k.schedules],
    ['HMGET', k.schedules, X],
    ['HSCAN', k.schedules, '0'],
    ['HSET', k.schedules, X, X],
    ['HDEL', k.schedules, X],
    ['ZSCORE', k.ticks, X],
    ['ZADD', k.ticks, '1', X],
    ['ZREM', k.ticks, X],
    ['EVAL', X, '0'],
    ['TIME'],
  ];
}

interface SchedulerRights {
  /** The key of the functions of all schedules. */
  readonly index?: string | undefined;
  /** Those of the function, if only one is concerned. */
  readonly keys?: FunctionKeys | undefined;
  /** What needs these rights, for the message. */
  readonly user: string;
}

/** The calls of a worker, which creates the jobs of ticks. */
export function tickRights(role: Role, { schedules, ticks }: FunctionKeys): Call[] {
  if (role !== 'worker') return [];
  return [
    ['HSET', schedules, X, X],
    ['HDEL', schedules, X],
    ['HMGET', schedules, X],
    ['ZADD', ticks, '1', X],
  ];
}

/** As `explainToClient`, for what a client does with schedules. */
function explainToScheduler(
  commands: RedisConnection,
  refusal: unknown,
  { index = SCHEDULE_INDEX, keys, user }: SchedulerRights,
): Promise<unknown> {
  return explainRefusal(commands, refusal, scheduleCalls(index, keys), user);
}

/** Asks a server about schedules of a function, or of all, and says which rights are missing. */
export function asksOfSchedules(
  questions: RedisQuestions,
  commands: RedisConnection,
  keysOf: KeysOf,
  index: string | undefined,
): RedisSchedulesOptions['ask'] {
  return (fn, verb, question) => {
    const [user, keys] =
      fn === undefined ? ['a client of schedules'] : [`a client of schedules of "${fn}"`, keysOf(fn)];
    const rights = { index, keys, user };
    return questions.askWith(verb, question, (refusal) => explainToScheduler(commands, refusal, rights));
  };
}
