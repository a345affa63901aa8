import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import * as flows from '../../../lib/gearmonkey/features/flows/flow-scripts.js';
import { flowKey, keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { mend } from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { ChannelLog } from '../../conformance/wire.js';
import { useRedisServer } from '../../support/use-redis.js';
import { cancel, CANCELLED, claim, enqueue, expire, NOW } from '../scripts/scripts.js';

const MARK = 5_000_000;
const NAME = 'my-flow';
const KEPT = 60;

interface Child {
  fn?: string;
  policy?: 'fail' | 'run' | 'cancel';
  place?: string;
  options?: string;
}

describe('The scripts of flows', () => {
  const server = useRedisServer();
  const redis = () => server.redis;
  let fn = '';
  let calls = 0;
  beforeEach(() => void (fn = server.fn()));

  const job = (id: number | string, of = fn) => `job:${of}:${id}`;
  const field = (id: number, name: string, of = fn) => redis().hget(job(id, of), name);
  const ttl = (id: number, of = fn) => redis().ttl(job(id, of));
  const flow = () => flowKey(keysOf(fn).jobs, NAME);

  const settle = (review = false, orphans: string[] = [], of = fn, now = NOW, by = redis()) =>
    flows.settleFunctions(
      (ask) => ask(by),
      () => now,
      [of],
      { review, orphans },
    );
  const take = async (of = fn) => (await claim(redis(), of, { lease: 1e6 })).claims.map(({ id }) => id);
  /** Claims the one job that may run, ends it, and does what follows. */
  async function run(outcome: 'success' | 'error' = 'success', of = fn): Promise<string[]> {
    const { claims } = await claim(redis(), of, { lease: 1e6, slots: 1 });
    const outcomes = claims.flatMap(({ id, token }) => [
      `${id}:${token}`,
      outcome,
      'out',
      outcome === 'error' ? '{}' : '',
    ]);
    const { awaited } = await claim(redis(), of, { slots: 0, outcomes });
    if (awaited) await settle(false, [], of);
    return claims.map(({ id }) => id);
  }

  /** A job of `of` that waits for others, "ID:MARK:FN" each. */
  function after(
    parents: string[],
    { fn: of = fn, policy = 'fail', place = 'normal::', options = '' }: Child = {},
    call = (calls += 1),
  ) {
    const { ids, jobs, scheduled, members, senders } = keysOf(of);
    const keys = [ids, jobs, scheduled, members, `${senders}after`];
    return flows.enqueueAfter.run(
      redis(),
      keys,
      NOW,
      call,
      60,
      MARK,
      NOW,
      'x',
      options,
      place,
      policy,
      parents,
    );
  }

  /** A job without a mark. */
  const plain = (id: number) => `${id}:0:${fn}`;
  const entry = (id: number) => `${id}:${MARK + (id - 1) * 1_000_000}:${fn}`;
  /** A flow of the jobs 1, its root, and 2…, which wait for the root; not begun. */
  async function made(children: Child[], root: Child = {}): Promise<void> {
    const { ids, jobs, scheduled, members } = keysOf(fn);
    const values = ({ policy = 'fail', place = 'normal::', options = '' }: Child, held: number) => [
      'x',
      options,
      place,
      policy,
      '1',
      String(held),
    ];
    await flows.flowJobs.run(
      redis(),
      [flow(), ids, jobs, scheduled, members],
      1,
      KEPT,
      NOW,
      MARK,
      `${NAME}:${fn}`,
      [...values(root, children.length), ...children.flatMap((child) => values(child, 0))],
    );
    const waiting = children.map((_, index) => index + 2);
    const list = `${flow()}:jobs`;
    await flows.flowEdges.run(redis(), [flow(), list], 2, KEPT, [
      ...[list, waiting.length + 1, ...[1, ...waiting].map(entry)],
      ...(waiting.length === 0 ? [] : [`${job(1)}:children`, waiting.length, ...waiting.map(entry)]),
      ...waiting.flatMap((id) => [`${job(id)}:parents`, 1, entry(1)]),
    ]);
  }
  const begin = (total: number, parents: string[] = []) =>
    flows.flowBegin.run(
      redis(),
      [flow(), `${flow()}:jobs`, keysOf(fn).jobs],
      3,
      NOW,
      `1:${MARK}`,
      total,
      parents,
    );
  async function begun(children: Child[], root: Child = {}): Promise<void> {
    await made(children, root);
    expect(await begin(children.length + 1)).toBe(0);
  }
  const state = () => redis().hmget(flow(), 'total', 'done', 'failed');

  /** Retries a job that has failed. */
  async function retry(id = 1): Promise<void> {
    const k = keysOf(fn);
    const keys = [k.jobs, k.locks, k.channel, k.control, k.high, k.normal, k.low, k.wake];
    keys.push(`${k.ended}failed`, `${k.ended}cancelled`, k.scheduled);
    expect(await mend.run(redis(), keys, NOW, 'retry', 'call', [String(id), String(NOW)])).toBe(1);
  }
  /** As if all keys of this function had expired that may. */
  async function passTime(): Promise<void> {
    for (const key of await redis().keys(`*:${fn}*`))
      if ((await redis().ttl(key)) > 0) await redis().del(key);
  }
  /** A user who has all rights but one. */
  async function userWithout(right: string): Promise<Redis> {
    await redis().acl('SETUSER', 'lacking', 'reset', 'on', 'nopass', '~*', '&*', '+@all', `-${right}`);
    return redis().duplicate({ username: 'lacking', password: 'any' });
  }

  describe('a job after others', () => {
    it('runs when the last of them has succeeded, and a worker is woken', async () => {
      await enqueue(redis(), fn, ['a', 'b']);
      expect(await after([plain(1), plain(2)])).toEqual({ id: 3, hasEnded: false });
      await run();
      await redis().del(keysOf(fn).wake);
      expect(await redis().lrange(keysOf(fn).normal, 0, -1)).toEqual(['2']);
      await run();
      expect(await redis().llen(keysOf(fn).wake)).toBe(1);
      expect(await redis().exists(keysOf(fn).scheduled)).toBe(0);
      expect(await take()).toEqual(['3']);
    });

    it('runs at once if they have succeeded, which keep their outputs for as long as they would have', async () => {
      await enqueue(redis(), fn, ['a']);
      await run();
      await redis().expire(job(1), 500);
      await after([plain(1)]);
      expect(await ttl(1)).toBe(-1);
      expect(await run()).toEqual(['2']);
      expect(await ttl(1)).toBeGreaterThan(400);
      expect(await ttl(1)).toBeLessThanOrEqual(500);
      expect(await redis().exists(keysOf(fn).members)).toBe(0);
    });

    it('keeps the outputs that it may read until it has ended, and the last job that waits has', async () => {
      await enqueue(redis(), fn, ['a']);
      for (const _ of [1, 2]) await after([plain(1)]);
      await run();
      expect(await ttl(1)).toBe(-1);
      expect(await run()).toEqual(['2']);
      expect(await ttl(1)).toBe(-1);
      expect(await run()).toEqual(['3']);
      expect(await ttl(1)).toBe(90_000);
    });

    it.each(['hset', 'hdel', 'expire'])(
      'waits on if its parent fails and there is no right to %s, and ends when there is',
      async (command) => {
        await enqueue(redis(), fn, ['a']);
        await after([plain(1)]);
        const { claims } = await claim(redis(), fn, { lease: 1e6 });
        expect(claims).toHaveLength(1);
        await claim(redis(), fn, { slots: 0, outcomes: ['1:1', 'error', 'out', '{}'] });
        const before = await redis().hgetall(job(2));
        const lacking = await userWithout(command);
        const settling = flows.settleFunctions(
          (ask) => ask(lacking),
          () => NOW,
          [fn],
        );
        await expect(settling).rejects.toThrow(/NOPERM|can't run/);
        lacking.disconnect();
        expect(await redis().hgetall(job(2))).toEqual(before);
        expect(await redis().zscore(keysOf(fn).scheduled, '2')).not.toBeNull();
        await settle(true);
        expect(await field(2, 'status')).toBe('error');
      },
    );

    it.each([
      ['fail', 'error', 'failed'],
      ['cancel', 'error', 'cancelled'],
      ['run', 'idle', ''],
    ] as const)('whose policy is to %s has the status %s after a failure', async (policy, status, list) => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)], { policy });
      await run('error');
      expect(await field(2, 'status')).toBe(status);
      expect((await after([plain(1)], { policy })).hasEnded).toBe(status === 'error');
      expect(await field(3, 'status')).toBe(status);
      if (list === '') return;
      expect(await redis().zscore(`ended:${fn}:${list}`, '2')).toBe(String(NOW));
      expect(await redis().lrange(`lock:${fn}:2`, 0, -1)).toEqual(['OK']);
      expect(await field(2, 'error')).toContain('PARENT_FAILED');
      expect(await redis().exists(keysOf(fn).scheduled)).toBe(0);
    });

    it('ends with those that wait for it, in other functions too', async () => {
      const other = `${fn}-other`;
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)], { fn: other });
      await after([`1:${MARK}:${other}`], { fn: other });
      await run('error');
      expect([await field(1, 'status', other), await field(2, 'status', other)]).toEqual(['error', 'error']);
      expect(await ttl(1, other)).toBe(90_000);
    });

    it.each([
      ['high::', 'high', ''],
      ['low::', 'low', ''],
      ['scheduled:+50:', 'scheduled', String((NOW + 50) / 1000)],
      [`scheduled:${NOW + 70}:`, 'scheduled', String((NOW + 70) / 1000)],
    ] as const)('is placed at %s then', async (place, queue, score) => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)], { place });
      await run();
      const key = keysOf(fn)[queue];
      if (score === '') expect(await redis().lrange(key, 0, -1)).toEqual(['2']);
      else expect(Number(await redis().zscore(key, '2'))).toBeCloseTo(Number(score));
    });

    it('expires a span after it could run', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)], { place: 'scheduled:+50:100', options: '{"timeout":5}' });
      await after([plain(1)], { place: 'normal::100' });
      await run();
      expect(await field(2, 'options')).toBe(`{"expires":${NOW + 150},"timeout":5}`);
      expect(await field(3, 'options')).toBe(`{"expires":${NOW + 100}}`);
    });

    it('is not created without them', async () => {
      await enqueue(redis(), fn, ['a'], { mark: MARK });
      expect(await after([`1:${MARK}:${fn}`, `9:${MARK}:${fn}`])).toEqual({ id: -2, hasEnded: false });
      expect(await after([`1:${MARK + 1_000_000}:${fn}`])).toEqual({ id: -1, hasEnded: false });
      expect(await redis().exists(job(2), keysOf(fn).members)).toBe(0);
      expect(await after([`1::${fn}`])).toEqual({ id: 2, hasEnded: false });
    });

    it('is created once if the call is sent again, also when they are gone by then', async () => {
      await enqueue(redis(), fn, ['a']);
      const call = (calls += 1);
      expect(await after([plain(1)], {}, call)).toMatchObject({ id: 2 });
      await redis().del(job(1));
      expect(await after([plain(1)], {}, call)).toMatchObject({ id: 2 });
      expect(await redis().exists(job(3))).toBe(0);
    });

    it('waits nowhere any more when it has expired', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)], { options: `{"expires":${NOW + 50}}` });
      // It has ended, and what waits for it is to be settled.
      expect(await expire(redis(), fn, '2', NOW + 50)).toBe(-2);
      expect(await redis().exists(keysOf(fn).scheduled)).toBe(0);
      expect(await field(2, 'queued')).toBeNull();
    });

    it('ends in a review when it has expired, and what stands behind it goes on', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)], { options: `{"expires":${NOW}}` });
      await after([`2::${fn}`]);
      await settle();
      expect(await field(2, 'status')).toBe('idle');
      await settle(true);
      expect([await field(2, 'status'), await field(3, 'status')]).toEqual(['error', 'error']);
      expect(await redis().zcard(keysOf(fn).scheduled)).toBe(0);
    });

    describe('of another function without a worker', () => {
      const other = () => `${fn}-other`;
      const noted = () => redis().zrangebyscore(keysOf(fn).members, 3, 3);
      /** Jobs 1… of the other function, and as many of this one, each of which waits for one of these. */
      async function waiting(count: number, options = '') {
        await enqueue(redis(), other(), Array<string>(count).fill('x'));
        if (options !== '') await redis().hset(job(count, other()), 'options', options);
        for (let id = 1; id <= count; id++) await after([`${id}:0:${other()}`]);
      }

      it('ends in a review when it has expired, however many others wait', async () => {
        await waiting(40, `{"expires":${NOW}}`);
        await settle(true);
        expect(await field(40, 'status')).toBe('error');
        expect(await field(39, 'status')).toBe('idle');
      });

      it('is noticed when a plain worker has ended it, however many it waits for', async () => {
        await enqueue(redis(), other(), Array<string>(90).fill('x'));
        await after(Array.from({ length: 90 }, (_, index) => `${index + 1}:0:${other()}`));
        await redis().hset(job(90, other()), 'status', 'error');
        await settle(true);
        expect(await field(1, 'status')).toBe('error');
      });

      it('is left to a leader of that function', async () => {
        await waiting(1, `{"expires":${NOW}}`);
        await redis().set(`leader:${other()}`, 'worker', 'PX', 3000);
        await settle(true);
        expect(await field(1, 'status')).toBe('idle');
      });

      it('is removed when its flow never began', async () => {
        const { ids, jobs, scheduled, members } = keysOf(other());
        const part = ['x', '', 'normal::', 'fail', '1', '0'];
        const name = `${NAME}:${fn}`;
        await flows.flowJobs.run(
          redis(),
          [flow(), ids, jobs, scheduled, members],
          1,
          KEPT,
          NOW,
          MARK,
          name,
          part,
        );
        await redis().del(flow());
        await settle(true);
        expect(await redis().exists(job(1, other()), scheduled, members)).toBe(0);
      });

      it('is looked at until none of that function is left', async () => {
        await waiting(1);
        expect(await noted()).toEqual([`:${other()}`]);
        await settle(true);
        expect(await noted()).toEqual([`:${other()}`]);
        await redis().hset(job(1, other()), 'status', 'success');
        await settle(true);
        await settle(true);
        expect(await noted()).toEqual([]);
      });
    });

    it('of a function without a worker lets go what it could read, when a plain worker has ended it', async () => {
      const other = `${fn}-other`;
      await enqueue(redis(), fn, ['a', 'b']);
      await run();
      await after([plain(1)], { fn: other });
      await after([plain(2)], { fn: other });
      await run();
      await redis().hset(job(1, other), 'status', 'success');
      await redis().hset(job(2, other), 'status', 'success');
      await settle(true);
      expect([await field(1, 'held'), await field(2, 'held')]).toEqual(['0', '0']);
      for (const id of [1, 2]) expect(await ttl(id)).toBeGreaterThan(0);
    });

    it('is noticed in its turn when a plain worker has ended it, also behind the last of very many', async () => {
      const { members } = keysOf(fn);
      await redis().zadd(members, ...Array.from({ length: 1009 }, (_, index) => [1, String(index)]).flat());
      const all = await redis().zrangebyscore(members, 1, 1);
      for (const id of all) await redis().hset(job(id), 'status', 'busy');
      const ids = [0, 217, 218, 926, 927, 1008].map((place) => all[place] ?? '');
      for (const id of ids) await redis().hset(job(id), 'status', 'success');
      // It looks at 300 from the place 927 on.
      await settle(true, [], fn, 1_002_000);
      const found = await Promise.all(ids.map((id) => redis().zscore(members, id)));
      expect(found).toEqual([null, null, '1', '1', null, null]);
    });

    it.each([
      [`{"expires":${NOW}}`, 'idle', 'error'],
      [`{"expires":${NOW + 1}}`, 'idle', 'idle'],
      [`{"expires":${NOW}}`, 'busy', 'busy'],
    ])(
      'blocks none when it expires without a worker: with %s and %s it is %s after a review',
      async (options, is, then) => {
        await enqueue(redis(), fn, ['a']);
        await after([plain(1)]);
        await redis().hset(job(1), 'status', is, 'options', options);
        await settle(true);
        expect(await field(1, 'status')).toBe(then);
        expect(await field(1, 'queued')).toBe(then === 'error' ? '1' : null);
        expect(await field(2, 'status')).toBe(then === 'error' ? 'error' : 'idle');
      },
    );

    it('is told of the end when one of them is cancelled', async () => {
      await enqueue(redis(), fn, ['a', 'b']);
      await after([plain(1)]);
      expect(await cancel(redis(), fn, '1')).toBe('cancelled-in-flow');
      expect(await cancel(redis(), fn, '2')).toBe('cancelled');
      await settle();
      expect(await field(3, 'status')).toBe('error');
    });

    it('does not end because one of them was retried at once', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)]);
      await redis().zadd(keysOf(fn).members, 2, '1');
      await settle();
      expect(await field(2, 'status')).toBe('idle');
      expect(await redis().zscore(keysOf(fn).members, '1')).toBe('1');
    });

    it('runs when a retried one has succeeded, though that is kept for a shorter time', async () => {
      await enqueue(redis(), fn, ['a']);
      await redis().rpush(`${job(1)}:children`, `7:0:${fn}`);
      await redis().expire(`${job(1)}:children`, 100);
      await after([plain(1)]);
      expect(await redis().ttl(`${job(1)}:children`)).toBe(-1);
    });

    it('that reads a retried one keeps its output, though a user ended that who lacked the right to', async () => {
      await enqueue(redis(), fn, ['a']);
      await run('error');
      await after([plain(1)], { policy: 'run', place: 'scheduled:+50:' });
      await retry();
      const lacking = await userWithout('persist');
      const { claims } = await claim(lacking, fn, { lease: 1e6 });
      await claim(lacking, fn, { slots: 0, outcomes: [`1:${claims[0]?.token}`, 'success', 'out', ''] });
      lacking.disconnect();
      await settle(true);
      expect(await ttl(1)).toBe(-1);
    });

    it('of another function lets go a retried one that a plain worker has ended, without a worker of its own', async () => {
      const other = `${fn}-other`;
      await enqueue(redis(), fn, ['a']);
      await run('error');
      await after([plain(1)], { fn: other, policy: 'run' });
      await retry();
      await redis().hset(job(1), 'status', 'success');
      expect(await run('success', other)).toEqual(['1']);
      expect(await redis().zscore(keysOf(fn).members, '1')).toBeNull();
      expect(await ttl(1)).toBeGreaterThan(0);
    });

    it.each([
      ['', () => Promise.resolve()],
      [' by an older version', () => redis().zrem(keysOf(fn).members, '1')],
    ])('that reads one retried%s keeps its output until it has ended', async (_, forget) => {
      await enqueue(redis(), fn, ['a', 'b']);
      await run('error');
      await after([plain(1), plain(2)], { policy: 'run' });
      await retry();
      await forget();
      await redis().rpoplpush(keysOf(fn).normal, keysOf(fn).normal);
      expect(await run()).toEqual(['1']);
      expect(await ttl(1)).toBe(-1);
      expect(await run()).toEqual(['2']);
      expect(await run()).toEqual(['3']);
      expect(await ttl(1)).toBeGreaterThan(0);
    });

    it('runs when one has succeeded that had failed long ago, was kept for another one, and was retried', async () => {
      await enqueue(redis(), fn, ['a', 'b']);
      await redis().rpush(`${job(1)}:parents`, plain(2));
      await after([plain(1)]);
      await run('error');
      await after([plain(1)], { policy: 'run' });
      await passTime();
      expect(await redis().lrange(`${job(1)}:parents`, 0, -1)).toEqual([plain(2)]);
      await retry();
      await after([plain(1)]);
      expect([await run(), await run()]).toEqual([['2'], ['4']]);
      expect(await run()).toEqual(['1']);
      expect(await run()).toEqual(['5']);
      await passTime();
      expect(await redis().keys(`job:${fn}:*`)).toEqual([]);
    });

    it('reads the output of one that a user has ended who lacked the right to keep it', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)]);
      const lacking = await userWithout('persist');
      const { claims } = await claim(lacking, fn, { lease: 1e6 });
      await claim(lacking, fn, { slots: 0, outcomes: [`1:${claims[0]?.token}`, 'success', 'out', ''] });
      expect(await ttl(1)).toBeGreaterThan(0);
      await expect(settle(false, [], fn, NOW, lacking)).rejects.toThrow(/user/);
      lacking.disconnect();
      expect(await field(2, 'after')).toBe('1');
      await settle(true);
      expect(await ttl(1)).toBe(-1);
      expect(await run()).toEqual(['2']);
      expect(await ttl(1)).toBeGreaterThan(0);
    });

    it.each(['success', 'error'] as const)(
      'that a plain client has queued nevertheless is scheduled no more after its %s',
      async (outcome) => {
        await enqueue(redis(), fn, ['a']);
        await after([plain(1)]);
        await redis().rpush(keysOf(fn).normal, '2');
        expect(await run(outcome)).toEqual(['2']);
        expect(await redis().exists(keysOf(fn).scheduled)).toBe(0);
        expect(await run()).toEqual(['1']);
        expect(await take()).toEqual([]);
      },
    );

    it('is scheduled no more once its key was deleted', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)]);
      await redis().del(job(2));
      await settle(true);
      expect(await redis().exists(keysOf(fn).scheduled)).toBe(0);
      expect(await run()).toEqual(['1']);
      expect(await ttl(1)).toBeGreaterThan(0);
    });

    it('leaves no list for good of an ended one whose key was deleted', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)]);
      await run();
      await after([plain(1)]);
      await redis().del(job(1));
      for (const expected of ['2', '3']) expect(await run()).toEqual([expected]);
      await passTime();
      expect(await redis().keys(`job:${fn}:*`)).toEqual([]);
    });

    it('goes on behind a plain worker, which leaves only a status, and keeps its output until then', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)]);
      await redis().hset(job(1), { status: 'success', output: 'out' });
      await redis().expire(job(1), 90_000);
      await redis().del(keysOf(fn).normal);
      await settle();
      expect(await redis().exists(keysOf(fn).normal)).toBe(0);
      await settle(true);
      expect(await redis().lrange(keysOf(fn).normal, 0, -1)).toEqual(['2']);
      expect(await ttl(1)).toBe(-1);
    });

    it('is settled again if that was not possible, as for lack of a right', async () => {
      await enqueue(redis(), fn, ['a']);
      await after([plain(1)]);
      const { claims } = await claim(redis(), fn);
      await claim(redis(), fn, { slots: 0, outcomes: [`1:${claims[0]?.token}`, 'success', '', ''] });
      await redis().zadd(keysOf(fn).members, 2.5, '1');
      await settle();
      expect(await redis().exists(keysOf(fn).normal)).toBe(0);
      await settle(true);
      expect(await redis().lrange(keysOf(fn).normal, 0, -1)).toEqual(['2']);
    });

    it('runs with many others that wait for the same', async () => {
      await enqueue(redis(), fn, ['a']);
      for (let count = 0; count < 120; count++) await after([plain(1)]);
      await run();
      expect(await redis().llen(keysOf(fn).normal)).toBe(120);
    });
  });

  describe('a flow', () => {
    it('ends when all of its jobs have, tells of that, and expires with them', async () => {
      const log = await ChannelLog.open(redis(), fn);
      try {
        await begun([{}, {}]);
        expect(await run()).toEqual(['1']);
        expect(await run()).toEqual(['2']);
        expect(await state()).toEqual(['3', '2', '0']);
        expect([await redis().ttl(flow()), await ttl(1)]).toEqual([-1, -1]);
        expect(await run()).toEqual(['3']);
        expect(await state()).toEqual(['3', '3', '0']);
      } finally {
        await log.close();
      }
      expect(log.progress).toEqual(Array(3).fill(`flow:${NAME}`));
      const keys = [
        flow(),
        `${flow()}:jobs`,
        ...[1, 2, 3].map((id) => job(id)),
        `${job(1)}:children`,
        `${job(2)}:parents`,
      ];
      expect(await Promise.all(keys.map((key) => redis().ttl(key)))).toEqual(Array(keys.length).fill(90_000));
      expect(await redis().exists(keysOf(fn).members, keysOf(fn).scheduled)).toBe(0);
    });

    it('that is no longer kept leaves a job that was cancelled while it waited: that can be retried', async () => {
      await begun([{}]);
      expect(await cancel(redis(), fn, '2')).toBe('cancelled-in-flow');
      await settle();
      await redis().del(flow(), `${flow()}:jobs`);
      await retry(2);
      expect(await take()).toEqual(['1', '2']);
    });

    it('counts failures, and ends with them', async () => {
      await begun([{}, { policy: 'run' }]);
      await run('error');
      expect(await run()).toEqual(['3']);
      expect(await state()).toEqual(['3', '1', '2']);
      expect(await redis().ttl(flow())).toBe(90_000);
    });

    it('is kept for some time until it begins, and then until it ends', async () => {
      await made([{}]);
      const times = async () => [await redis().ttl(flow()), await redis().ttl(`${flow()}:jobs`)];
      expect(await times()).toEqual([KEPT, KEPT]);
      await begin(2);
      expect(await times()).toEqual([-1, -1]);
    });

    it('can be taken back until it begins', async () => {
      const abandon = () => flows.flowAbandon.run(redis(), [flow(), `${flow()}:jobs`]);
      await made([{}]);
      expect(await abandon()).toBe(false);
      expect(await redis().exists(flow(), `${flow()}:jobs`)).toBe(0);
      await expect(begin(2)).rejects.toThrow('FLOWLOST');
      await redis().del(keysOf(fn).ids);
      await begun([{}]);
      expect(await abandon()).toBe(true);
      expect(await redis().exists(flow(), `${flow()}:jobs`)).toBe(2);
    });

    it('does nothing twice if a part is sent again, and nothing without an earlier part', async () => {
      await made([{}]);
      const list = `${flow()}:jobs`;
      const edges = (part: number) =>
        flows.flowEdges.run(redis(), [flow(), list], part, KEPT, [list, 1, entry(3)]);
      expect(await edges(2)).toBe(0);
      await expect(edges(4)).rejects.toThrow('FLOWLOST');
      expect(await redis().llen(list)).toBe(2);
      expect([await begin(2), await begin(2)]).toEqual([0, 0]);
      expect(await redis().lrange(keysOf(fn).normal, 0, -1)).toEqual(['1']);
    });

    it('does not take a part for done that has failed, and whose error was lost', async () => {
      await redis().set(`${job(2)}:parents`, 'of another program');
      await expect(made([{}])).rejects.toThrow('WRONGTYPE');
      await expect(begin(3)).rejects.toThrow('FLOWLOST');
      const edges = () => flows.flowEdges.run(redis(), [flow(), `${flow()}:jobs`], 2, KEPT, []);
      await expect(edges()).rejects.toThrow('FLOWLOST');
      expect(await redis().hget(flow(), 'total')).toBeNull();
    });

    it('does not begin after a job whose list of those that wait is of another program', async () => {
      await made([]);
      await enqueue(redis(), fn, ['other']);
      await redis().set(`${job(2)}:children`, 'x');
      await expect(begin(1, [plain(2)])).rejects.toThrow('WRONGTYPE');
      expect(await redis().hget(flow(), 'total')).toBeNull();
      expect(await redis().hget(job(2), 'held')).toBeNull();
    });

    it('does not begin after a job that there is not', async () => {
      await made([]);
      expect(await begin(1, [`9::${fn}`])).toBe(1);
      expect(await redis().hexists(flow(), 'total')).toBe(0);
      expect(await take()).toEqual([]);
    });

    it('begins after another job has ended', async () => {
      await made([]);
      await enqueue(redis(), fn, ['a']);
      expect(await begin(1, [plain(2)])).toBe(0);
      expect(await run()).toEqual(['2']);
      expect(await run()).toEqual(['1']);
    });

    it.each([
      ['fail', -1, 'error'],
      ['run', 0, 'idle'],
    ] as const)('whose root is to %s begins after a failed job', async (policy, reply, status) => {
      await made([], { policy });
      await enqueue(redis(), fn, ['a']);
      await run('error');
      expect(await begin(1, [plain(2)])).toBe(reply);
      expect(await field(1, 'status')).toBe(status);
    });

    it('that has begun is no orphan; one that never did is', async () => {
      await made([{}]);
      await settle(true);
      expect(await redis().zcard(keysOf(fn).scheduled)).toBe(2);
      await redis().del(flow());
      await settle(true);
      expect(await redis().exists(job(1), job(2), keysOf(fn).scheduled, keysOf(fn).members)).toBe(0);
    });

    describe('before it has begun', () => {
      /** Ends a job as another program does, which knows nothing of flows that have not begun. */
      async function end(id: number): Promise<void> {
        await redis().hset(job(id), 'status', 'error', 'output', 'no', 'finished', NOW);
        await redis().zrem(keysOf(fn).scheduled, id);
        await redis().zadd(keysOf(fn).members, 2, id);
      }
      const ending = (id: number) => redis().zscore(keysOf(fn).members, id);

      it('none of its jobs expires', async () => {
        await made([{ options: `{"expires":${NOW}}` }]);
        await settle(true);
        expect(await field(2, 'status')).toBe('idle');
        expect(await begin(2)).toBe(0);
        await settle(true);
        expect(await field(2, 'status')).toBe('error');
      });

      it('puts off what follows from the end of one of its jobs', async () => {
        await made([{}, {}]);
        await end(1);
        await settle(true);
        expect([await ending(1), await field(2, 'status')]).toEqual(['2.5', 'idle']);
        expect(await begin(3)).toBe(-1);
        await settle(true);
        expect([await field(2, 'status'), await field(3, 'status')]).toEqual(['error', 'error']);
        expect(await state()).toEqual(['3', '0', '3']);
      });

      it('keeps what was counted', async () => {
        await made([{}, {}]);
        await redis().hset(flow(), 'failed', 1);
        await begin(3);
        expect(await state()).toEqual(['3', '0', '1']);
      });

      it('does not run its root if that was deleted', async () => {
        await made([{}]);
        await redis().del(job(1));
        expect(await begin(2)).toBe(-1);
        await settle();
        expect(await field(2, 'status')).toBe('error');
        expect([await take(), await redis().exists(job(1))]).toEqual([[], 0]);
      });

      it('puts off what follows from the deletion of one of its jobs', async () => {
        await made([{}, {}]);
        await redis().del(job(1), job(2));
        await settle(true);
        expect([await ending(1), await ending(2)]).toEqual(['2.5', null]);
        expect([await field(3, 'status'), await state()]).toEqual(['idle', [null, null, null]]);
        expect(await begin(3)).toBe(-1);
        await settle(true);
        expect(await field(3, 'status')).toBe('error');
        expect(await redis().exists(keysOf(fn).scheduled, keysOf(fn).members)).toBe(0);
      });

      it('is lost if one of its jobs is deleted before its lists are written', async () => {
        await made([{}, {}]);
        await redis().del(job(2));
        const edges = flows.flowEdges.run(redis(), [flow(), `${flow()}:jobs`], 3, KEPT, [
          ...[`${job(3)}:children`, 1, entry(2)],
          ...[`${job(2)}:parents`, 1, entry(3)],
        ]);
        await expect(edges).rejects.toThrow('FLOWLOST');
        expect(await redis().exists(`${job(3)}:children`)).toBe(0);
        await redis().del(flow(), `${flow()}:jobs`);
        await settle(true);
        expect(await redis().keys(`*:${fn}:*`)).toEqual([]);
      });

      it('is removed with its ended jobs if it never begins', async () => {
        await made([{}]);
        await end(2);
        await settle(true);
        await redis().del(flow(), `${flow()}:jobs`);
        await settle(true);
        expect(await redis().exists(job(1), job(2), keysOf(fn).scheduled, keysOf(fn).members)).toBe(0);
      });
    });

    it('includes jobs that are added after its jobs', async () => {
      await begun([]);
      await redis().expire(flow(), 500);
      await after([`1:${MARK}:${fn}`]);
      expect(await state()).toEqual(['2', '0', '0']);
      expect([await redis().ttl(flow()), await redis().llen(`${flow()}:jobs`)]).toEqual([-1, 2]);
      await run();
      expect(await redis().ttl(flow())).toBe(-1);
      await run();
      expect(await state()).toEqual(['2', '2', '0']);
    });

    it('that is no longer kept includes none', async () => {
      await begun([]);
      await run();
      await redis().del(flow());
      expect(await after([`1:${MARK}:${fn}`])).toMatchObject({ id: 2 });
      expect(await redis().exists(flow())).toBe(0);
      expect(await field(2, 'flow')).toBeNull();
    });
  });

  describe.each(
    [
      'hmget',
      'hset',
      'hdel',
      'hincrby',
      'lrange',
      'lpush',
      'zadd',
      'zrem',
      'zscore',
      'persist',
      'expire',
    ].flatMap((right) => [[right, 'success'] as const, [right, 'error'] as const]),
  )('for a user who lost the right to %s, the end of a job with the outcome %s', (right, outcome) => {
    let lacking: Redis;
    beforeEach(async () => {
      lacking = await userWithout(right);
    });
    afterEach(() => lacking.disconnect());

    it('is told when the user has it again, in whole', async () => {
      const k = keysOf(fn);
      await begun([{ place: 'high::' }, { policy: 'run' }, { place: 'scheduled:+0:' }]);
      const { claims } = await claim(redis(), fn, { lease: 1e6, slots: 1 });
      const outcomes = [`1:${claims[0]?.token}`, outcome, 'out', outcome === 'error' ? '{}' : ''];
      await claim(redis(), fn, { slots: 0, outcomes });
      const refused: unknown[] = [];
      const tryToSettle = () => settle(false, [], fn, NOW, lacking).catch((error) => refused.push(error));
      await tryToSettle();
      await settle(true);
      for (let ended = 1; ended > 0; await tryToSettle()) {
        const { claims: more } = await claim(redis(), fn, { lease: 1e6 });
        const successes = more.flatMap(({ id, token }) => [`${id}:${token}`, 'success', 'out', '']);
        if (more.length > 0) await claim(redis(), fn, { slots: 0, outcomes: successes });
        ended = more.length;
      }
      await settle(true);
      expect(String(refused)).toMatch(/user/);
      expect(await redis().exists(k.scheduled, k.high, k.normal, k.members)).toBe(0);
      expect(await state()).toEqual(outcome === 'success' ? ['4', '4', '0'] : ['4', '1', '3']);
      expect(await redis().ttl(flow())).toBeGreaterThan(0);
      expect(await field(1, 'held')).toBe('0');
      for (const id of [1, 2, 3, 4]) expect(await ttl(id)).toBeGreaterThan(0);
      expect(await redis().zcard(`${k.ended}failed`)).toBe(outcome === 'success' ? 0 : 3);
    });
  });

  describe('a cancelled flow', () => {
    const stop = (from = 0) =>
      flows.cancelFlow.run(redis(), [flow(), `${flow()}:jobs`], NOW, from, 'cancelled', CANCELLED);

    it('ends jobs that wait, and lets one go on that runs', async () => {
      await begun([{}, {}]);
      expect(await take()).toEqual(['1']);
      expect(await stop()).toEqual({ ended: 2, looked: 3, total: 3, functions: [fn] });
      await settle();
      expect(await state()).toEqual(['3', '0', '2']);
      expect(await field(1, 'status')).toBe('busy');
      expect(await redis().zrange(`ended:${fn}:cancelled`, '0', '-1')).toEqual(['2', '3']);
      await claim(redis(), fn, { slots: 0, outcomes: [`1:${MARK + 1}`, 'success', '', ''] });
      await settle();
      expect(await state()).toEqual(['3', '1', '2']);
      expect(await redis().ttl(flow())).toBe(90_000);
    });

    it('begins no job more, while its many jobs are ended in steps', async () => {
      await begun(Array<Child>(120).fill({}));
      expect(await take()).toEqual(['1']);
      expect(await stop()).toMatchObject({ ended: 99, looked: 100, total: 121 });
      await claim(redis(), fn, { slots: 0, outcomes: [`1:${MARK + 1}`, 'success', '', ''] });
      await settle();
      expect(await take()).toEqual([]);
      expect(await field(121, 'error')).toContain('JOB_CANCELLED');
      expect(await state()).toEqual(['121', '1', '120']);
    });

    it('searches lists for ten jobs in a step', async () => {
      await begun(Array<Child>(20).fill({}));
      await run();
      expect(await stop()).toMatchObject({ ended: 10, looked: 11 });
      expect(await stop(11)).toMatchObject({ ended: 10, looked: 21 });
    });

    it('cancels jobs that are added', async () => {
      await begun([{}]);
      await take();
      await stop();
      expect((await after([`1:${MARK}:${fn}`])).hasEnded).toBe(true);
      expect(await field(3, 'error')).toContain('JOB_CANCELLED');
    });
  });
});
