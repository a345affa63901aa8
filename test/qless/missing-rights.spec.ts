import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { claimArguments, putArguments, settleArguments } from '../../lib/qless/wire/requests.js';
import * as scripts from '../../lib/qless/wire/scripts.js';
import * as source from '../../lib/qless/wire/source-scripts.js';
import { grant, PASSWORD } from '../security/rights.js';
import { useRedisServer } from '../support/use-redis.js';

const P = ['ql:'];
const ALL = ['~*', '&*', '+@all'];
const COMMANDS =
  'del exists expire get hdel hget hincrby hmget hset lindex llen lpop lpush lrange lrem ltrim publish rename rpop rpush sadd ' +
  'sismember smembers smismember spop srandmember srem sunionstore time unlink zadd zcard zcount zincrby zmscore zpopmax zrange ' +
  'zrangebyscore zrem zremrangebyscore zrevrange zrevrangebyscore zscore';
/** Statistics, tokens of waiters, and when workers were seen. */
const NEWS = /^ql:(s:|wake:|idlers:|workers$)/;

type Act = (redis: Redis) => Promise<unknown>;

function put(jid: string, at = 0, ...options: (string | number)[]): Act {
  const request = putArguments({ queue: 'q', jid, klass: 'k', data: '{}', delay: at, options });
  return (redis) => scripts.put.run(redis, P, 1, ...request);
}

function claim(now: number, ...queues: string[]): Act {
  const request = claimArguments({
    ...{ worker: 'w', lock: 10, popping: 'round-robin', count: 10, first: 1, waiter: '', wakeOthers: false },
    ...{ slots: [['k', 10]], queues: queues.map((queue) => [queue, 0] as const) },
  });
  return (redis) => source.claim.run(redis, P, now, ...request);
}

function settle(...ends: ('complete' | 'fail' | 'retry' | 'release')[]): Act {
  const common = { token: 2, output: '"done"', group: 'g', message: 'm', delay: 0 };
  const rows = settleArguments(ends.map((kind, index) => ({ ...common, kind, jid: `j${index}` })));
  return (redis) => source.settle.run(redis, P, 3, 'w', rows);
}

const claimed: Act[] = [
  put('j0', 0, 'retries', 0, 'tags', '["t"]'),
  put('d', 0, 'depends', '["j0"]'),
  claim(2, 'q'),
];
/** What is called, after what. */
const CALLS: Record<string, [before: Act[], call: Act]> = {
  'put of a new job': [[put('other')], put('j', 0, 'tags', '["t"]', 'depends', '["other"]')],
  'put of a waiting job': [[put('j', 0, 'tags', '["t"]')], put('j', 60, 'tags', '["u"]')],
  'put of a running job': [claimed, put('j0')],
  'put of a failed job': [[...claimed, settle('fail')], put('j0')],
  'claim of waiting jobs': [[put('a'), put('b')], claim(2, 'q')],
  'claim of jobs of two queues, some of which are due': [
    [
      put('a'),
      (redis) =>
        scripts.put.run(
          redis,
          P,
          1,
          ...putArguments({ queue: 'r', jid: 'b', klass: 'k', data: '{}', delay: 0.5, options: [] }),
        ),
    ],
    claim(2, 'q', 'r'),
  ],
  'claim of a job whose lock has expired': [[...claimed, claim(13, 'q')], claim(40, 'q')],
  completion: [claimed, settle('complete')],
  failure: [claimed, settle('fail')],
  'retry without any left': [claimed, settle('retry')],
  retry: [[put('j0'), claim(2, 'q')], settle('retry')],
  release: [claimed, settle('release')],
  renewal: [claimed, (redis) => source.renew.run(redis, P, 3, 'w', 10, ['j0:2'])],
  cancelling: [claimed, (redis) => scripts.cancel.run(redis, P, 3, ['j0', 'd'])],
  'cancelling a failed job': [
    [put('j0'), claim(2, 'q'), settle('fail')],
    (redis) => scripts.cancel.run(redis, P, 3, ['j0']),
  ],
  'taking a job away': [claimed, (redis) => scripts.timeout.run(redis, P, 3, ['j0'])],
  repairs: [
    [
      put('j', 0, 'depends', '["none"]'),
      put('on'),
      put('d', 0, 'depends', '["on"]'),
      (redis) => redis.del('ql:j:on'),
    ],
    (redis) => scripts.checkConsistency.run(redis, P, 3, 'resolve', ''),
  ],
  unfailing: [[...claimed, settle('fail')], (redis) => scripts.unfail.run(redis, P, 3, 'q', 'g', 25)],
};

describe('a user without one command leaves each job in one place:', () => {
  const used = useRedisServer();
  beforeEach(() => grant(used.redis, 'lacking', ALL));

  const stored = async () => {
    const keys = (await used.redis.keys('*')).filter((key) => !NEWS.test(key)).sort();
    const dumps = keys
      .filter((key) => !key.endsWith('-history'))
      .map(async (key) => [key, await contentOf(used.redis, key)] as const);
    return Object.fromEntries(await Promise.all(dumps));
  };

  it.each(Object.entries(CALLS))('%s', async (name, [before, call]) => {
    const lacking = new Redis({ port: used.port, username: 'lacking', password: PASSWORD });
    try {
      const run = async (rights: readonly string[]) => {
        await used.redis.flushall();
        for (const act of before) await act(used.redis);
        await grant(used.redis, 'lacking', rights);
        const [first, error] = [await stored(), await call(lacking).then(() => undefined, String)];
        return { first, error, last: await stored() };
      };
      const whole = await run(ALL);
      expect(whole.error).toBeUndefined();
      const problems: unknown[] = [];
      for (const command of COMMANDS.split(' ')) {
        const { first, error, last } = await run([...ALL, `-${command}`]);
        // What a claim does before it takes jobs, such as filing one without retries as failed, may be done.
        if (error !== undefined && name.startsWith('claim')) {
          problems.push(...(await misplaced(used.redis)).map((jid) => [command, jid]));
          continue;
        }
        const expected = error === undefined ? whole.last : first;
        if (!isSame(last, expected)) problems.push([command, error, difference(last, expected)]);
      }
      expect(problems).toEqual([]);
    } finally {
      lacking.disconnect();
    }
  });
});

const SETS = {
  waiting: '-work',
  stalled: '-work',
  running: '-locks',
  scheduled: '-scheduled',
  depends: '-depends',
};

/** Jobs that are not where their state says, or also elsewhere. */
async function misplaced(redis: Redis): Promise<string[]> {
  const found = [];
  for (const key of (await redis.keys('ql:j:*')).filter((each) => !each.includes('-'))) {
    const jid = key.slice('ql:j:'.length);
    const [state = '', queue = ''] = (await redis.hmget(key, 'state', 'queue')).map(String);
    const places = [];
    for (const set of new Set(Object.values(SETS)))
      if ((await redis.zscore(`ql:q:${queue}${set}`, jid)) !== null) places.push(set);
    if ((await redis.lpos(`ql:f:failed-retries-${queue}`, jid)) !== null) places.push('failed');
    const right = state === 'failed' ? state : SETS[state as keyof typeof SETS];
    if (places.join(' ') !== right) found.push(`${jid} is ${state}, in ${places.join(' ') || 'no list'}`);
  }
  return found;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function difference(one: Record<string, unknown>, other: Record<string, unknown>): string[] {
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys]
    .filter((key) => !isSame(one[key], other[key]))
    .map((key) => `${key}: ${JSON.stringify(one[key])}, not ${JSON.stringify(other[key])}`);
}

/** What a key has, in an order that does not depend on how it came there. */
async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return Object.entries(await redis.hgetall(key)).sort();
    case 'zset':
      return redis.zrange(key, '0', '-1', 'WITHSCORES');
    case 'set':
      return (await redis.smembers(key)).sort();
    case 'list':
      return redis.lrange(key, 0, -1);
    default:
      return redis.get(key);
  }
}
