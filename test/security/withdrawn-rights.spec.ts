import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import * as edits from '../../lib/gearmonkey/features/edits/edit-scripts.js';
import { mend, trim } from '../../lib/gearmonkey/features/views/view-scripts.js';
import { NO_RIGHT } from '../../lib/redis/rights.js';
import * as scripts from '../gearmonkey/scripts/scripts.js';
import { useRedisServer } from '../support/use-redis.js';
import { documentedRights, grant, PASSWORD, type Rights } from './rights.js';

const FN = 'mail';
const k = keysOf(FN);
const { NOW } = scripts;
const LATER = NOW / 1000 + 60;
const RATED = ':1:1000:fair:';
const STRICT = '1:::strict:';
const SHARED = '1:::fair:smtp';
const EXPIRED = { options: `{"expires":${NOW + 50}}` };
const documented = documentedRights();
const rightsOf = (...users: string[]): Rights => [
  ...new Set(users.flatMap((user) => documented.get(user) ?? [])),
];
/** Those of a client that may do all of this, and shares a limit with another function. */
const RIGHTS = [
  ...rightsOf('operator', 'limited-client', 'tagged-client', 'flow-client'),
  ...['~shared-limit:smtp:*', '~limit:post:*', '~wake:post'],
];

type Prepare = (redis: Redis) => Promise<unknown>;
type Call = (redis: Redis) => Promise<unknown>;

/** Jobs 1 to 3, of which the last runs, and a scheduled one. */
const plain: Prepare = async (redis) => {
  await scripts.enqueue(redis, FN, ['a', 'b', 'c']);
  await scripts.claim(redis, FN, { slots: 1 });
  await scripts.enqueue(redis, FN, ['d'], { queue: 'scheduled', score: LATER });
};

/** Job 1 runs; 2, 3 and 4 wait for their keys, 5 for a time. */
const limited =
  (rules: string, shared = ''): Prepare =>
  async (redis) => {
    await scripts.enqueueLimited(redis, FN, ['a', 'a', 'a', 'b'], { rules, shared });
    await scripts.claim(redis, FN, { slots: 1 });
    // It sets the keys aside that are full.
    await scripts.claim(redis, FN, { slots: 0 });
    await scripts.enqueueLimited(redis, FN, ['a'], { rules, shared, score: LATER });
    if (shared === '') return;
    await scripts.enqueueLimited(redis, 'post', ['a'], { rules, shared });
    await scripts.claim(redis, 'post', { slots: 1 });
    await redis.del('wake:post');
  };

const failed =
  (rules?: string): Prepare =>
  async (redis) => {
    await (rules === undefined
      ? scripts.enqueue(redis, FN, ['a', 'b'])
      : scripts.enqueueLimited(redis, FN, ['a', 'b'], { rules }));
    await scripts.claim(redis, FN);
    const outcomes = ['1', '2'].flatMap((id) => [`${id}:1`, 'error', 'told', '{}']);
    await scripts.claim(redis, FN, { slots: 0, outcomes });
  };

const expired: Prepare = (redis) => scripts.unique(redis, FN, [{ key: 'u', ...EXPIRED }]);
const debounced: Prepare = (redis) =>
  scripts.unique(redis, FN, [{ key: 'u', rule: 'debounce:1000:' }], { score: LATER, queue: 'scheduled' });

const update = (id: string, queue: number, due: number | '', key?: string): Call => {
  const keys = [k.jobs, k.scheduled, k.high, k.normal, k.low, k.wake];
  return (redis) =>
    edits.update.run(redis, keys, id, '', queue, due, key === undefined ? 0 : 1, key ?? '', [
      Buffer.from('new'),
    ]);
};
const drain = (queue: 'normal' | 'scheduled'): Call => {
  const kind = queue === 'normal' ? '' : 'both';
  return (redis) => edits.drain.run(redis, [k.jobs, k.locks, k.channel, k[queue]], NOW, 100, '0', kind);
};
const drainLimited = (kind: string): Call => {
  const keys = [k.jobs, k.locks, k.channel, k.control, k.wake];
  return (redis) => edits.drainLimited.run(redis, keys, NOW, 100, '0', kind, kind === '' ? 'normal' : '');
};
const pause = (paused: 0 | 1): Call => {
  const keys = [k.control, k.scheduled, k.high, k.normal, k.low, k.wake];
  return (redis) => edits.pause.run(redis, keys, NOW, paused);
};
const mended = (verb: 'retry' | 'discard', finished = NOW): Call => {
  const keys = [k.jobs, k.locks, k.channel, k.control, k.high, k.normal, k.low, k.wake];
  keys.push(`${k.ended}failed`, `${k.ended}cancelled`, k.scheduled);
  return (redis) =>
    mend.run(
      redis,
      keys,
      NOW,
      verb,
      'call',
      ['1', '2'].flatMap((id) => [id, String(finished)]),
    );
};
const cancel =
  (id: string): Call =>
  (redis) =>
    scripts.cancel(redis, FN, id);
const enqueueLimited =
  (onFull: string, rules: string, score: number | '' = '', shared = ''): Call =>
  (redis) =>
    scripts.enqueueLimited(redis, FN, ['a', 'new'], { onFull, rules, score, shared, call: 1000 });
const unique =
  (rule?: string, score: number | '' = ''): Call =>
  (redis) =>
    scripts.unique(redis, FN, [{ key: 'u', input: 'new', ...(rule !== undefined && { rule }) }], {
      now: NOW + 50,
      score,
      queue: score === '' ? 'normal' : 'scheduled',
      call: 1000,
    });

const CASES: Record<string, [Prepare, Call]> = {
  'cancel of a job that waits': [plain, cancel('3')],
  'cancel of a job that runs': [plain, cancel('1')],
  'cancel of a scheduled job': [plain, cancel('4')],
  'cancel of a job that waits for its key': [limited(RATED), cancel('2')],
  'cancel of a job with a key that runs': [limited(STRICT), cancel('1')],
  'cancel of a job with a key that waits for a time': [limited(STRICT), cancel('5')],
  'cancel of a job of a shared limit': [limited(SHARED, '1::'), cancel('1')],
  'drain of a list': [plain, drain('normal')],
  'drain of scheduled jobs': [plain, drain('scheduled')],
  'drain of jobs that wait for their keys': [limited(RATED), drainLimited('')],
  'drain of jobs with keys that wait for a time': [limited(STRICT), drainLimited('both')],
  'drain of jobs of a shared limit': [limited(SHARED, '1::'), drainLimited('')],
  'update of an input': [plain, update('2', 0, '')],
  'update to another queue': [plain, update('2', 3, '')],
  'update to a time': [plain, update('2', 2, LATER)],
  'update of a scheduled job to a queue': [plain, update('4', 4, '')],
  'update of a key': [limited(RATED), update('2', 0, '', 'other')],
  'update of a job with a key to a time': [limited(RATED), update('4', 2, LATER)],
  'update of the key of a job that waits for a time': [limited(STRICT), update('5', 0, '', 'other')],
  'update of the priority of a job with a key': [limited(STRICT), update('4', 3, '')],
  'update of a key of a shared limit': [limited(SHARED, '1::'), update('4', 0, '', 'a')],
  pause: [plain, pause(1)],
  resume: [
    async (redis) => {
      await plain(redis);
      await pause(1)(redis);
      await redis.del(k.wake);
    },
    pause(0),
  ],
  'setLimit of other rules': [
    limited(RATED),
    (redis) => scripts.setLimit(redis, FN, 'limit', ':100:1000:fair:'),
  ],
  'setLimit of an override': [
    limited(RATED),
    (redis) => scripts.setLimit(redis, FN, 'override', ':100:1000'),
  ],
  'setLimit to a shared limit': [
    limited(STRICT),
    (redis) => scripts.setLimit(redis, FN, 'limit', SHARED, '2::'),
  ],
  'setLimit from a shared limit': [
    limited(SHARED, '1::'),
    (redis) => scripts.setLimit(redis, FN, 'limit', RATED),
  ],
  'enqueue with keys': [limited(RATED), enqueueLimited('wait', RATED)],
  'enqueue with keys, of a new limit': [() => Promise.resolve(), enqueueLimited('wait', RATED)],
  'enqueue with keys, scheduled': [limited(RATED), enqueueLimited('wait', RATED, LATER)],
  'enqueue with keys that are refused': [limited(RATED), enqueueLimited('refuse', RATED)],
  'enqueue with keys in place of those that wait': [limited(STRICT), enqueueLimited('replace', STRICT)],
  'enqueue with keys in place of those that run': [limited(RATED), enqueueLimited('replace-running', RATED)],
  'enqueue with keys of a shared limit': [
    limited(SHARED, '1::'),
    enqueueLimited('replace-running', SHARED, '', '1::'),
  ],
  'run of a new unique job': [plain, unique()],
  'run of a new unique job, scheduled': [plain, unique('unfinished', LATER)],
  'run of a unique job in place of one that has expired': [expired, unique()],
  'run of a throttled job': [plain, unique('throttle:1000')],
  'run of a debounced job': [debounced, unique('debounce:2000:', LATER)],
  'retry of failed jobs': [failed(), mended('retry')],
  'retry of failed jobs with keys': [failed(STRICT), mended('retry')],
  'retry of a job that had expired': [
    async (redis) => {
      await expired(redis);
      await scripts.expire(redis, FN, '1', NOW + 50);
    },
    mended('retry', NOW + 50),
  ],
  'retry of failed jobs of a flow': [
    async (redis) => {
      await failed()(redis);
      for (const id of ['1', '2']) await redis.hset(k.jobs + id, 'flow', `f:${FN}`);
      await redis.hset(`${k.jobs}flow:f`, 'total', 2, 'failed', 2);
    },
    mended('retry'),
  ],
  'discard of failed jobs': [failed(), mended('discard')],
  'end of a job that has expired': [expired, (redis) => scripts.expire(redis, FN, '1', NOW + 50)],
};

describe('A right that is withdrawn from a client', () => {
  const used = useRedisServer();
  let user: Redis;
  beforeEach(async () => {
    await grant(used.redis, 'client', RIGHTS);
    user = new Redis(`redis://client:${PASSWORD}@127.0.0.1:${used.port}`, {
      enableReadyCheck: false,
      disableClientInfo: true,
    });
  });
  afterEach(() => user.disconnect());

  /** All keys with their contents and whether they expire. */
  const everything = async (): Promise<Record<string, unknown>> => {
    const { redis } = used;
    // The marker of another function only wakes its workers sooner.
    const keys = (await redis.keys('*')).filter((key) => key !== 'wake:post').toSorted();
    const read = redis.pipeline();
    for (const key of keys) read.type(key).ttl(key);
    const facts = ((await read.exec()) ?? []).map(([, value]) => value);
    const contents = redis.pipeline();
    for (const [at, key] of keys.entries()) readAs(contents, String(facts[2 * at]), key);
    const values = ((await contents.exec()) ?? []).map(([, value]) => value);
    return Object.fromEntries(keys.map((key, at) => [key, [values[at], Number(facts[2 * at + 1]) > 0]]));
  };

  const tried = (call: Call) =>
    call(user).then(
      (reply) => ({ reply }),
      (error: unknown) => ({ refused: String(error) }),
    );

  /** Calls with all rights, then without each of them. @param quiet without one, the call may also resolve and do nothing */
  const withdrawEach = async (rights: Rights, [prepare, call]: [Prepare, Call], quiet = false) => {
    const { redis } = used;
    await redis.flushall();
    await prepare(redis);
    const before = await everything();
    const kept = await Promise.all(
      Object.keys(before).map(
        async (key) => [key, await redis.dumpBuffer(key), await redis.pttl(key)] as const,
      ),
    );
    const callWith = async (some: Rights) => {
      const all = redis.pipeline().flushall();
      for (const [key, bytes, ms] of kept)
        if (bytes) all.call('RESTORE', key, String(Math.max(ms, 0)), bytes);
      await all.exec();
      await grant(redis, 'client', some);
      return { outcome: await tried(call), wrote: await everything() };
    };

    await redis.config('RESETSTAT');
    const whole = await callWith(rights);
    const called = String(await redis.info('commandstats'));
    expect(whole.outcome).toHaveProperty('reply');
    // Without a command that it doesn't call, nothing can be left half done.
    const matters = (right: string) => !right.startsWith('+') || called.includes(`_${right.slice(1)}:`);
    for (const right of rights.filter(matters)) {
      const { outcome, wrote } = await callWith(rights.filter((one) => one !== right));
      if ('refused' in outcome)
        expect({ right, ...outcome, wrote }).toEqual({
          right,
          refused: expect.stringMatching(REFUSED),
          wrote: before,
        });
      else if (!quiet || !isDeepStrictEqual(wrote, before))
        expect({ right, outcome, wrote }).toEqual({ right, ...whole });
    }
  };

  it.each(Object.entries(CASES))('leaves nothing half done: %s', (_, each) => withdrawEach(RIGHTS, each));

  it('leaves nothing half done: a worker trims lists', async () => {
    const keys = [k.jobs, ...['success', 'failed', 'cancelled'].map((list) => k.ended + list), k.retrying];
    const trimmed: Call = (redis) => trim.run(redis, keys, NOW + 10_000, 10, [90_000_000, 90_000_000, 1, 1]);
    await withdrawEach(rightsOf('worker'), [failed(), trimmed], true);
  });

  it('takes no job from its queue that may not be read, where only the key of one job is allowed', async () => {
    const { redis } = used;
    await redis.flushall();
    await plain(redis);
    // As on Redis 6.2, where a script can't ask.
    await grant(redis, 'client', [
      ...RIGHTS.filter((one) => one !== '~job:mail:*'),
      '~job:mail:',
      '~job:mail:x',
    ]);
    const before = await everything();
    for (const queue of ['normal', 'scheduled'] as const)
      await expect(drain(queue)(user)).resolves.toMatchObject({ ids: [], cursor: '0' });
    expect(await everything()).toEqual(before);
  });
});

const SUCCESS = ['success', 'output', ''];
interface Verb {
  readonly outcome?: readonly string[];
  readonly call?: scripts.ClaimArguments;
}
/** What happens to the jobs that run, in the call without the right. */
const VERBS: Record<string, Verb> = {
  success: { outcome: SUCCESS },
  error: { outcome: ['error', 'told', '{}'] },
  retry: { outcome: ['retry', '10', '{}'] },
  snoozed: { outcome: ['snoozed', '10', ''] },
  released: { outcome: ['released', '', ''] },
  held: { outcome: ['held', '10', ''] },
  'success, and the end of jobs that are too large': { outcome: SUCCESS, call: { largestInput: 0 } },
  recovery: { call: { now: NOW + scripts.LEASE_MS } },
  'recovery for the last time': { call: { now: NOW + scripts.LEASE_MS, maxStalls: 0 } },
};
const LIMITS: Record<string, [rules: string, shared: string]> = {
  'no limit': ['', ''],
  'a concurrency': ['2:::fair:', ''],
  'a rate': [':1:1000:fair:', ''],
  'a strict order': [STRICT, ''],
  'a shared limit': [SHARED, '1::'],
  'a shared limit, in strict order': ['1:::strict:smtp', '2:3:1000'],
};
const TURN_MS = 1500;
const MAX_TURNS = 10;
const LONG_LEASE_MS = 8_000;

describe('A right that is withdrawn from a worker, and given back', () => {
  const used = useRedisServer();
  let user: Redis;
  const RIGHTS_OF_WORKER = [
    ...rightsOf('limited-worker'),
    '~shared-limit:smtp:*',
    ...['post', 'text'].flatMap((fn) => [`~limit:${fn}:*`, `~wake:${fn}`, `~lease:${fn}`, `~recovery:${fn}`]),
  ];
  beforeEach(async () => {
    await grant(used.redis, 'worker', RIGHTS_OF_WORKER);
    user = new Redis(`redis://worker:${PASSWORD}@127.0.0.1:${used.port}`, {
      enableReadyCheck: false,
      disableClientInfo: true,
    });
  });
  afterEach(() => user.disconnect());

  /** Jobs of the functions that run now. */
  type Running = Map<string, string[]>;
  const claim = async (redis: Redis, fn: string, running: Running, more: scripts.ClaimArguments) => {
    const { claims } = await scripts.claim(redis, fn, { lease: LONG_LEASE_MS, slots: 2, ...more });
    running.set(
      fn,
      claims.map(({ id, token }) => `${id}:${token}`),
    );
  };
  const outcomesOf = (members: readonly string[] = [], outcome: readonly string[] = SUCCESS) =>
    members.flatMap((member) => [member, ...outcome]);

  /** The worker has lost this right for one call; then jobs succeed until none is left. Returns what there is then. */
  const runWithout = async (right: string, [rules, shared]: [string, string], { outcome, call }: Verb) => {
    const { redis } = used;
    const functions = shared === '' ? [FN] : [FN, 'post'];
    await redis.flushall();
    const running: Running = new Map();
    for (const fn of functions)
      await (rules === ''
        ? scripts.enqueue(redis, fn, ['a', 'a', 'b'])
        : scripts.enqueueLimited(redis, fn, ['a', 'a', 'b'], { rules, shared }));
    for (const fn of functions) {
      const isLost = fn === FN && outcome === undefined;
      await claim(redis, fn, running, isLost ? { lease: scripts.LEASE_MS } : {});
    }
    const outcomes = outcome ? outcomesOf(running.get(FN), outcome) : [];
    await grant(
      redis,
      'worker',
      RIGHTS_OF_WORKER.filter((one) => one !== right),
    );
    const args = { outcomes, now: NOW + 1, ...call };
    // A worker sends outcomes again that were refused.
    const refused = await claim(user, FN, running, args).then(
      () => false,
      () => true,
    );
    if (refused) await claim(redis, FN, running, args);
    for (let turn = 1; turn <= MAX_TURNS; turn++)
      for (const fn of functions) {
        const last = outcomesOf(running.get(fn));
        const now = NOW + turn * TURN_MS;
        await claim(redis, fn, running, { ...call, outcomes: last, now });
      }
    const lists = (await redis.keys('ended:*')).toSorted();
    const ended = await Promise.all(
      lists.map(async (list) => [list, (await redis.zrange(list, '0', '-1')).toSorted()]),
    );
    const left = await redis.keys('*');
    const kept = await Promise.all(left.map((key) => redis.ttl(key)));
    return {
      ended: Object.fromEntries(ended) as Record<string, string[]>,
      left: left.filter((key, at) => kept[at] === -1 && !key.startsWith('wake:')).toSorted(),
    };
  };

  const cases = Object.entries(LIMITS).flatMap(([limit, rules]) =>
    Object.entries(VERBS).map(([name, verb]) => ({ limit, name, rules, verb })),
  );
  it.each(cases)('leaves no job and no key behind: $name with $limit', async ({ limit, rules, verb }) => {
    await used.redis.config('RESETSTAT');
    const whole = await runWithout('', rules, verb);
    expect(Object.values(whole.ended).flat()).toHaveLength(limit.startsWith('a shared') ? 6 : 3);
    const called = String(await used.redis.info('commandstats'));
    const matters = (right: string) => !right.startsWith('+') || called.includes(`_${right.slice(1)}:`);
    for (const right of RIGHTS_OF_WORKER.filter((one) => !one.startsWith('&') && matters(one)))
      expect({ right, ...(await runWithout(right, rules, verb)) }).toEqual({ right, ...whole });
  });

  it.each([
    ['~limit:post:*', true],
    ['~wake:post', false],
  ])('joins all functions of a shared limit to whose keys it has rights: %s', async (right, isLeft) => {
    const { redis } = used;
    await redis.flushall();
    const shared = { rules: SHARED, shared: '1::' };
    for (const fn of [FN, 'post', 'text']) {
      await scripts.enqueueLimited(redis, fn, ['a', 'a'], shared);
      await scripts.claim(redis, fn, { lease: LONG_LEASE_MS, slots: 1 });
    }
    await redis.del('wake:post', 'wake:text');
    await grant(
      redis,
      'worker',
      RIGHTS_OF_WORKER.filter((one) => one !== right),
    );
    const outcomes = outcomesOf(['1:1']);
    // It is the turn of another function.
    const reply = await scripts.claim(user, FN, { lease: LONG_LEASE_MS, outcomes });
    expect(reply).toMatchObject({ claims: [], wait: 1000 });
    expect(await redis.zrange('limit:text:ready:normal', '0', '-1')).toEqual(['a']);
    expect(await redis.exists('wake:text', 'wake:post')).toBe(isLeft ? 2 : 1);
    expect(await redis.zrange('limit:post:ready:normal', '0', '-1')).toEqual(isLeft ? [] : ['a']);
    const users = await redis.smembers('shared-limit:smtp:users:a');
    expect(users.filter((one) => !one.startsWith('limit:mail:'))).toHaveLength(isLeft ? 1 : 0);
    // What waits is listed meanwhile.
    expect(await scripts.readLimits(redis, 'post', NOW, 'a')).toMatchObject([{ key: 'a', waiting: 2 }]);
    // One with rights needs not wait for that.
    await redis.del('wake:post');
    await scripts.look(redis, ['post'], NOW + 1);
    expect(await redis.exists('wake:post')).toBe(1);
    const taken = await scripts.claim(redis, 'post', { lease: LONG_LEASE_MS, now: NOW + 1 });
    expect(taken.claims.map(({ id }) => id)).toEqual(['1']);
    expect(await redis.hexists('shared-limit:smtp:rules', 'left:limit:post:')).toBe(0);
  });
});

const REFUSED = new RegExp(NO_RIGHT.source.replace('^', ''));

function readAs(read: ReturnType<Redis['pipeline']>, type: string, key: string): void {
  if (type === 'hash') read.hgetall(key);
  else if (type === 'list') read.lrange(key, 0, -1);
  else if (type === 'set') read.sort(key, 'ALPHA');
  else if (type === 'zset') read.zrange(key, '0', '-1', 'WITHSCORES');
  else read.get(key);
}
