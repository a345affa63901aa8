import { describe, expect, it } from '@jest/globals';
import { ChannelLog, ranOnce } from '../../conformance/wire.js';
import { useRedis } from '../../support/use-redis.js';
import { enqueue, LEASE_MS, NOW, renew, claim } from './scripts.js';

describe('claim.lua', () => {
  const server = useRedis();
  const ids = (claims: readonly { id: string }[]) => claims.map(({ id }) => id);

  describe('beside a plain worker', () => {
    /** It takes no token and no lease. */
    const plainTake = async (fn: string) => {
      const id = (await server.redis.rpop(`queue:${fn}:normal`)) ?? '';
      await server.redis.hset(`job:${fn}:${id}`, 'status', 'busy');
      return id;
    };

    it('refuses the late outcome of a job that the plain worker took after the lease ended', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await claim(server.redis, fn, { now: NOW + LEASE_MS + 1, slots: 0 });
      await expect(plainTake(fn)).resolves.toBe('1');
      const late = await claim(server.redis, fn, { outcomes: ['1:1', 'success', 'late', ''] });
      expect(late.refused).toEqual(['1:1']);
      await expect(server.redis.hmget(`job:${fn}:1`, 'status', 'output')).resolves.toEqual(['busy', null]);
    });

    it('does not release a job again, after a lost reply, that the plain worker has taken', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      const outcomes = ['1:1', 'released', '', ''];
      await claim(server.redis, fn, { slots: 0, outcomes });
      await expect(plainTake(fn)).resolves.toBe('1');
      await expect(claim(server.redis, fn, { slots: 0, outcomes })).resolves.toMatchObject({ refused: [] });
      await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('busy');
      await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(0);
    });
  });

  it.each([
    ['held', '0'],
    ['filed', 'key'],
  ])('gives a job back that is %s if its function has no limit any more', async (verb, detail) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await claim(server.redis, fn);
    const outcomes = ['1:1', verb, detail, ''];
    await expect(claim(server.redis, fn, { slots: 0, outcomes })).resolves.toMatchObject({ refused: [] });
    await expect(server.redis.hmget(`job:${fn}:1`, 'status', 'key')).resolves.toEqual(['idle', null]);
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
  });

  describe('claims', () => {
    it('nothing without a job', async () => {
      await expect(claim(server.redis, server.fn())).resolves.toEqual({
        refused: [],
        claims: [],
        unfiled: [],
        limited: false,
        lostRules: false,
        awaited: false,
        dropped: [],
        wait: -1,
        plain: false,
      });
    });

    it('nothing without slots', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await expect(claim(server.redis, fn, { slots: 0 })).resolves.toMatchObject({ claims: [] });
      await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('idle');
    });

    it('with a token, a lease and a start', async () => {
      const fn = server.fn();
      const log = await ChannelLog.open(server.redis, fn);
      await enqueue(server.redis, fn, ['a']);
      const { claims } = await claim(server.redis, fn);
      expect(claims).toEqual([
        {
          id: '1',
          token: 1,
          attempts: 1,
          stalls: 0,
          snoozes: 0,
          options: '',
          input: Buffer.from('a'),
          waited: 0,
        },
      ]);
      await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toMatchObject({
        status: 'busy',
        token: '1',
        attempts: '1',
        started: `${NOW}`,
      });
      await expect(server.redis.zscore(`lease:${fn}`, '1:1')).resolves.toBe(`${NOW + LEASE_MS}`);
      await expect(log.close()).resolves.toEqual(['create:1', 'start:1']);
    });

    it('with tokens that count from the mark, as exact whole numbers', async () => {
      const fn = server.fn();
      const mark = (2 ** 32 - 1) * 1_000_000;
      await enqueue(server.redis, fn, ['a'], { mark, options: '{"timeout":5}' });
      const first = await claim(server.redis, fn);
      expect(first.claims).toMatchObject([{ token: mark + 1, attempts: 1, options: '{"timeout":5}' }]);
      await expect(server.redis.zrange(`lease:${fn}`, '0', '-1')).resolves.toEqual(['1:4294967295000001']);
      const second = await claim(server.redis, fn, { outcomes: [`1:${mark + 1}`, 'released', '', ''] });
      expect(second.claims).toMatchObject([{ token: mark + 2, attempts: 1 }]);
    });

    it.each(['x', '-5', '1e99', 'nan', ''])('with tokens from 1 if the mark is %j', async (mark) => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await server.redis.hset(`job:${fn}:1`, 'mark', mark);
      const { claims } = await claim(server.redis, fn);
      expect(claims).toMatchObject([{ token: 1, attempts: 1 }]);
    });

    it('by priority, up to the slots', async () => {
      const fn = server.fn();
      for (const queue of ['low', 'normal', 'high'] as const) {
        await enqueue(server.redis, fn, ['a', 'b'], { queue });
      }
      await enqueue(server.redis, fn, ['due'], { queue: 'scheduled', score: NOW / 1000 });
      await expect(claim(server.redis, fn, { slots: 4 }).then(({ claims }) => ids(claims))).resolves.toEqual([
        '7',
        '5',
        '6',
        '3',
      ]);
      await expect(claim(server.redis, fn).then(({ claims }) => ids(claims))).resolves.toEqual([
        '4',
        '1',
        '2',
      ]);
    });

    it('a scheduled job from its millisecond on, and returns the time until then', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a'], { queue: 'scheduled', score: (NOW + 250) / 1000 });
      await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [], wait: 250 });
      await expect(claim(server.redis, fn, { now: NOW + 249 })).resolves.toMatchObject({
        claims: [],
        wait: 1,
      });
      const { claims } = await claim(server.redis, fn, { now: NOW + 250 });
      expect(ids(claims)).toEqual(['1']);
    });

    it('no scheduled job early because another one is due', async () => {
      const fn = server.fn();
      for (const due of [NOW, NOW + 1])
        await enqueue(server.redis, fn, ['a'], { queue: 'scheduled', score: due / 1000 });
      const { claims, wait } = await claim(server.redis, fn);
      expect([ids(claims), wait]).toEqual([['1'], 1]);
    });

    it('and says how long jobs have waited that could have run', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['at once']);
      await enqueue(server.redis, fn, ['later'], { queue: 'scheduled', score: (NOW + 50) / 1000 });
      const { claims } = await claim(server.redis, fn, { now: NOW + 70 });
      expect(claims.map(({ id, waited }) => [id, waited])).toEqual([
        ['2', 20],
        ['1', 70],
      ]);
    });

    it.each(['high', 'normal', 'low', 'scheduled'] as const)(
      'a job in %s after a blocking call, and notes it until its lease ends',
      async (queue) => {
        const fn = server.fn();
        await enqueue(server.redis, fn, ['a'], { queue, score: queue === 'scheduled' ? 1 : '' });
        const { claims } = await claim(server.redis, fn, { lease: 60_000, noted: `claims:${fn}:me` });
        expect(ids(claims)).toEqual(['1']);
        await expect(server.redis.ttl(`claims:${fn}:me`)).resolves.toBe(60);
      },
    );

    it('no job that has expired, unless it was begun before', async () => {
      const fn = server.fn();
      const options = `{"expires":${NOW + 50}}`;
      await enqueue(server.redis, fn, ['begun', 'late'], { options });
      await claim(server.redis, fn, { slots: 1 });
      await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'retry', '10', '{}'] });
      const { claims, dropped } = await claim(server.redis, fn, { now: NOW + 50 });
      expect([ids(claims), dropped]).toEqual([['1'], []]);
      const job = await server.redis.hgetall(`job:${fn}:2`);
      expect(job).toMatchObject({ status: 'error', error: expect.stringContaining('JOB_EXPIRED') });
    });

    it('no ids without a job, which it returns as dropped', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b', 'c']);
      await server.redis.del(`job:${fn}:1`, `job:${fn}:2`);
      const { claims, dropped } = await claim(server.redis, fn, { slots: 1 });
      expect([ids(claims), dropped]).toEqual([['3'], ['1', '2']]);
    });

    it('and sets the wake marker again if jobs are left', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b']);
      await server.redis.del(`wake:${fn}`);
      await expect(claim(server.redis, fn, { slots: 1 })).resolves.toMatchObject({ wait: 0 });
      await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
      await server.redis.del(`wake:${fn}`);
      await claim(server.redis, fn, { slots: 1 });
      await expect(server.redis.exists(`wake:${fn}`)).resolves.toBe(0);
    });

    it('and sets the wake marker again if jobs are left that are due', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b'], { queue: 'scheduled', score: 1 });
      await server.redis.del(`wake:${fn}`);
      await claim(server.redis, fn, { slots: 1 });
      await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
    });
  });

  describe('settles', () => {
    it('nothing that is not leased', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      const outcomes = ['1:1', 'success', 'x', '', '9:1', 'error', 'x', '{}', '1:1', 'released', '', ''];
      await expect(claim(server.redis, fn, { slots: 0, outcomes })).resolves.toMatchObject({
        refused: ['1:1', '9:1', '1:1'],
      });
      await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('idle');
      await expect(server.redis.exists(`job:${fn}:9`, `lock:${fn}:1`)).resolves.toBe(0);
    });

    it('and claims in one call', async () => {
      const fn = server.fn();
      const log = await ChannelLog.open(server.redis, fn);
      await enqueue(server.redis, fn, ['a', 'b']);
      await claim(server.redis, fn, { slots: 1 });
      const outcomes = ['1:1', 'success', 'out', ''];
      const { refused, claims } = await claim(server.redis, fn, { slots: 1, outcomes, now: NOW + 5 });
      expect([refused, ids(claims)]).toEqual([[], ['2']]);
      await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toMatchObject({
        status: 'success',
        output: 'out',
        finished: `${NOW + 5}`,
        settled: '1',
      });
      await expect(server.redis.ttl(`job:${fn}:1`)).resolves.toBe(90_000);
      await expect(log.close()).resolves.toEqual(['create:1', 'create:2', 'start:1', 'finish:1', 'start:2']);
    });

    it('a success for which a call waits, whose channel gets the output', async () => {
      const fn = server.fn();
      const caller = server.redis.duplicate();
      const heard: string[] = [];
      try {
        caller.on('message', (_, message: string) => heard.push(message));
        await caller.subscribe(`reply:${fn}:me`);
        await enqueue(server.redis, fn, ['a']);
        await claim(server.redis, fn);
        await claim(server.redis, fn, { outcomes: ['1:1', 'success', 'out:put', `reply:${fn}:me`] });
        await caller.ping();
      } finally {
        caller.disconnect();
      }
      expect(heard).toEqual(['1:1:out:put']);
    });

    it('an error with its message as output, and the rest in its own fields', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await claim(server.redis, fn, { outcomes: ['1:1', 'error', 'no disk', '{"name":"E"}'] });
      await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toMatchObject({
        status: 'error',
        output: 'no disk',
        error: '{"name":"E"}',
      });
    });

    it('the same outcome twice with one finish message', async () => {
      const fn = server.fn();
      const log = await ChannelLog.open(server.redis, fn);
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      const outcomes = ['1:1', 'success', 'out', ''];
      await claim(server.redis, fn, { outcomes });
      await expect(claim(server.redis, fn, { outcomes })).resolves.toMatchObject({ refused: [] });
      await expect(server.redis.llen(`lock:${fn}:1`)).resolves.toBe(1);
      await expect(server.redis.ttl(`lock:${fn}:1`)).resolves.toBe(10);
      await expect(log.close()).resolves.toEqual(ranOnce(1));
    });

    it('a sleep without counting the attempt', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await expect(
        claim(server.redis, fn, { outcomes: ['1:1', 'snoozed', '10', ''] }),
      ).resolves.toMatchObject({ claims: [] });
      const { claims } = await claim(server.redis, fn, { now: NOW + 10 });
      expect(claims).toMatchObject([{ id: '1', token: 2, attempts: 1, snoozes: 1 }]);
    });

    it('a sleep until a signal that has come before: the job runs at once', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await server.redis.hset(`job:${fn}:1`, 'signal:paid', `${NOW}:1`);
      const { claims } = await claim(server.redis, fn, { outcomes: ['1:1', 'snoozed', '60000', 'paid'] });
      expect(ids(claims)).toEqual(['1']);
    });

    it('a retry by scheduling it after its delay, with the error of the attempt', async () => {
      const fn = server.fn();
      const log = await ChannelLog.open(server.redis, fn);
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      const outcomes = ['1:1', 'retry', '250', '{"name":"E","message":"no"}'];
      for (const _ of ['once', 'again'])
        await expect(claim(server.redis, fn, { outcomes })).resolves.toMatchObject({
          refused: [],
          claims: [],
        });
      await expect(server.redis.zrange(`queue:${fn}:scheduled`, '0', '-1', 'WITHSCORES')).resolves.toEqual([
        '1',
        '1000.25',
      ]);
      const job = await server.redis.hgetall(`job:${fn}:1`);
      expect(job).toMatchObject({ status: 'idle', settled: '1', 'error:1': '{"name":"E","message":"no"}' });
      expect(job['error']).toBeUndefined();
      await expect(server.redis.exists(`lock:${fn}:1`, `lease:${fn}`)).resolves.toBe(0);
      const { claims } = await claim(server.redis, fn, { now: NOW + 250 });
      expect(claims).toMatchObject([{ id: '1', token: 2, attempts: 2, stalls: 0 }]);
      await claim(server.redis, fn, { now: NOW + 250, outcomes });
      await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('busy');
      await expect(log.close()).resolves.toEqual(['create:1', 'start:1', 'start:1']);
    });

    it('nothing for a job whose hash is missing', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b']);
      await claim(server.redis, fn);
      await server.redis.del(`job:${fn}:1`, `job:${fn}:2`);
      const outcomes = ['1:1', 'retry', '1', '{}', '2:1', 'released', '', ''];
      await expect(claim(server.redis, fn, { outcomes })).resolves.toMatchObject({ refused: ['1:1', '2:1'] });
      await expect(
        server.redis.exists(`job:${fn}:1`, `job:${fn}:2`, `queue:${fn}:scheduled`, `queue:${fn}:normal`),
      ).resolves.toBe(0);
    });

    it('a release to the front, without counting the attempt', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b']);
      await claim(server.redis, fn, { slots: 1 });
      await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'released', '', ''] });
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['2', '1']);
      const { claims } = await claim(server.redis, fn, { slots: 1 });
      expect(claims).toMatchObject([{ id: '1', token: 2, attempts: 1 }]);
    });
  });

  describe('recovers', () => {
    it('a job to the front when its lease has ended, and not before', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b']);
      await claim(server.redis, fn, { slots: 1 });
      await claim(server.redis, fn, { slots: 0, now: NOW + LEASE_MS - 1 });
      await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('busy');
      const { claims } = await claim(server.redis, fn, { slots: 1, now: NOW + LEASE_MS });
      expect(claims).toMatchObject([{ id: '1', token: 2, attempts: 2 }]);
      await expect(
        claim(server.redis, fn, { outcomes: ['1:1', 'success', 'old', ''] }),
      ).resolves.toMatchObject({
        refused: ['1:1'],
      });
    });

    it('jobs of several leases in their order, before waiting jobs', async () => {
      const fn = server.fn();
      await server.redis.set(`uid:${fn}`, 8);
      await enqueue(server.redis, fn, ['a', 'b', 'c', 'd']);
      for (const now of [NOW, NOW, NOW]) await claim(server.redis, fn, { slots: 1, now });
      await renew(server.redis, fn, NOW + 1, ['9:1']);
      const { claims } = await claim(server.redis, fn, { now: NOW + 2 * LEASE_MS });
      expect(ids(claims)).toEqual(['9', '10', '11', '12']);
    });

    it('a scheduled job into scheduled', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a'], { queue: 'scheduled', score: 1 });
      await claim(server.redis, fn);
      await claim(server.redis, fn, { slots: 0, now: NOW + LEASE_MS });
      await expect(server.redis.zscore(`queue:${fn}:scheduled`, '1')).resolves.toBe('0');
    });

    it('a job at most maxStalls times: then it ends as JOB_STALLED', async () => {
      const fn = server.fn();
      const log = await ChannelLog.open(server.redis, fn);
      await enqueue(server.redis, fn, ['a']);
      for (const now of [NOW, NOW + LEASE_MS]) await claim(server.redis, fn, { now });
      await expect(claim(server.redis, fn, { now: NOW + 2 * LEASE_MS })).resolves.toMatchObject({
        claims: [],
      });
      const job = await server.redis.hgetall(`job:${fn}:1`);
      expect(job).toMatchObject({ status: 'error', stalls: '2', output: expect.stringContaining('2 times') });
      expect(JSON.parse(job['error'] ?? '')).toMatchObject({ code: 'JOB_STALLED', message: job['output'] });
      await expect(server.redis.ttl(`job:${fn}:1`)).resolves.toBe(90_000);
      await expect(log.close()).resolves.toEqual(['create:1', 'start:1', 'start:1', 'finish:1']);
    });

    it('no job that another claim has, by a lease that is left over', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await claim(server.redis, fn, { outcomes: ['1:1', 'released', '', ''] });
      await server.redis.zadd(`lease:${fn}`, NOW, '1:1');
      await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [] });
      await expect(server.redis.hmget(`job:${fn}:1`, 'status', 'token')).resolves.toEqual(['busy', '2']);
    });

    it('jobs and counts them in the statistics of the minute and of the hour', async () => {
      const fn = server.fn();
      const now = 7 * 3_600_000 + 5 * 60_000;
      await enqueue(server.redis, fn, ['a']);
      for (const late of [0, LEASE_MS, 2 * LEASE_MS]) await claim(server.redis, fn, { now: now + late });
      await expect(server.redis.hgetall(`statistics:${fn}:7`)).resolves.toEqual({
        '5:stalled': '2',
        ':stalled': '2',
        '5:failed': '1',
        ':failed': '1',
      });
      await expect(server.redis.ttl(`statistics:${fn}:7`)).resolves.toBe(73 * 3600);
    });

    it('no job that was finished or deleted meanwhile', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b']);
      await claim(server.redis, fn);
      await server.redis.hset(`job:${fn}:1`, 'status', 'success');
      await server.redis.del(`job:${fn}:2`);
      await expect(claim(server.redis, fn, { now: NOW + LEASE_MS })).resolves.toMatchObject({ claims: [] });
      await expect(server.redis.exists(`job:${fn}:2`, `queue:${fn}:normal`, `lease:${fn}`)).resolves.toBe(0);
    });
  });

  describe('given data of other programs', () => {
    const text = (fn: string, key: string) => server.redis.set(`${key.replace('FN', fn)}`, 'text');
    const status = (fn: string, id: string | Buffer) =>
      server.redis.hget(Buffer.concat([Buffer.from(`job:${fn}:`), Buffer.from(id)]), 'status');

    it('claims an id once that is queued twice', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await server.redis.rpush(`queue:${fn}:normal`, '1');
      await server.redis.rpush(`queue:${fn}:high`, '1');
      const { claims, dropped } = await claim(server.redis, fn);
      expect([ids(claims), dropped]).toEqual([['1'], ['1', '1']]);
      await expect(server.redis.zrange(`lease:${fn}`, '0', '-1')).resolves.toEqual(['1:1']);
    });

    it('does not claim an id that a worker holds', async () => {
      const fn = server.fn();
      const log = await ChannelLog.open(server.redis, fn);
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await server.redis.lpush(`queue:${fn}:normal`, '1');
      await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [], dropped: ['1'] });
      await expect(claim(server.redis, fn, { outcomes: ['1:1', 'success', 'x', ''] })).resolves.toMatchObject(
        {
          refused: [],
        },
      );
      await expect(log.close()).resolves.toEqual(ranOnce(1));
    });

    it('claims a busy job that no worker holds', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await server.redis.del(`lease:${fn}`);
      await server.redis.lpush(`queue:${fn}:normal`, '1');
      const { claims } = await claim(server.redis, fn);
      expect(claims).toMatchObject([{ id: '1', token: 2 }]);
    });

    it.each([
      [Buffer.from([0x37, 0xff])],
      [Buffer.from([0xc0, 0x80])],
      [Buffer.from([0xed, 0xa0, 0x80])],
      [Buffer.from([0xf4, 0x90, 0x80, 0x80])],
      [Buffer.from([0xe2, 0xc3, 0xa9, 0x82, 0xac])],
    ])('ends the job of an id that is not UTF-8: %p', async (id) => {
      const fn = server.fn();
      const key = Buffer.concat([Buffer.from(`job:${fn}:`), id]);
      await server.redis.hset(key, 'status', 'idle', 'input', 'x');
      await server.redis.lpush(`queue:${fn}:normal`, id);
      await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [], dropped: [] });
      await expect(server.redis.hgetall(key)).resolves.toMatchObject({
        status: 'error',
        output: 'the id is not UTF-8',
        error: expect.stringContaining('INVALID_ID'),
      });
    });

    it.each(['ü', '€', '𝄞', 'a:b', 'two\nlines', '-0', '1e3', ' 7', '\u0000'])(
      'claims the id %j',
      async (id) => {
        const fn = server.fn();
        await server.redis.hset(`job:${fn}:${id}`, 'status', 'idle', 'input', 'x');
        await server.redis.lpush(`queue:${fn}:normal`, id);
        await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [{ id, token: 1 }] });
        const outcomes = [`${id}:1`, 'success', 'out', ''];
        await expect(claim(server.redis, fn, { outcomes })).resolves.toMatchObject({ refused: [] });
        await expect(status(fn, id)).resolves.toBe('success');
      },
    );

    it('ends a job whose input is too large without sending it to a worker', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['x'.repeat(101), 'y'.repeat(100)]);
      const { claims } = await claim(server.redis, fn, { largestInput: 100 });
      expect(ids(claims)).toEqual(['2']);
      const job = await server.redis.hgetall(`job:${fn}:1`);
      expect(job).toMatchObject({
        status: 'error',
        output: expect.stringContaining('101 bytes, more than the limit of 100'),
      });
      expect(JSON.parse(job['error'] ?? '')).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    });

    it('claims a mebibyte of inputs and leaves the other jobs in their order', async () => {
      const fn = server.fn();
      const input = 'x'.repeat(600_000);
      await enqueue(server.redis, fn, Array<string>(5).fill(input), { queue: 'scheduled', score: 1 });
      await enqueue(server.redis, fn, Array<string>(5).fill(input));
      await server.redis.del(`wake:${fn}`);
      const calls: string[][] = [];
      for (let i = 0; i < 5; i++) {
        const { claims, wait } = await claim(server.redis, fn);
        calls.push(ids(claims));
        expect(wait).toBe(i < 4 ? 0 : wait);
      }
      expect(calls).toEqual([
        ['1', '2'],
        ['3', '4'],
        ['5', '6'],
        ['7', '8'],
        ['9', '10'],
      ]);
      await expect(server.redis.llen(`wake:${fn}`)).resolves.toBe(1);
    });

    it('ignores lease members that name no claim', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      for (const member of ['', 'x', '7:', ':', 'a:b', '7:1e3'])
        await server.redis.zadd(`lease:${fn}`, 1, member);
      const { claims } = await claim(server.redis, fn);
      expect(ids(claims)).toEqual(['1']);
      await expect(server.redis.zcard(`lease:${fn}`)).resolves.toBe(1);
    });

    it('claims nothing while the key of leases has another type', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b']);
      await text(fn, 'lease:FN');
      await expect(claim(server.redis, fn)).rejects.toThrow('WRONGTYPE');
      await expect(claim(server.redis, fn, { recover: 0 })).rejects.toThrow('WRONGTYPE');
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['2', '1']);
    });

    it('accepts outcomes although the key of leases has another type', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      await text(fn, 'lease:FN');
      const outcomes = ['1:1', 'success', 'x', ''];
      await expect(claim(server.redis, fn, { outcomes, slots: 0, recover: 0 })).resolves.toMatchObject({
        refused: [],
      });
      await expect(status(fn, '1')).resolves.toBe('success');
    });

    it('ends a job whose lock is no list', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a', 'b']);
      await claim(server.redis, fn);
      await server.redis.set(`lock:${fn}:1`, 'text');
      const outcomes = ['1:1', 'success', 'x', '', '2:1', 'success', 'y', ''];
      await expect(claim(server.redis, fn, { outcomes })).resolves.toMatchObject({ refused: [] });
      await expect(server.redis.lrange(`lock:${fn}:2`, 0, -1)).resolves.toEqual(['OK']);
    });

    it.each([['leases'], ['jobs'], ['wake'], ['channel'], ['text']])(
      'releases a job whose field queue is %s',
      async (queue) => {
        const fn = server.fn();
        await enqueue(server.redis, fn, ['a']);
        await claim(server.redis, fn);
        await server.redis.hset(`job:${fn}:1`, 'queue', queue);
        await claim(server.redis, fn, { slots: 0, now: NOW + LEASE_MS });
        await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
      },
    );

    it.each([
      ['recovered', []],
      ['released', ['1:1', 'released', '', '']],
      ['to be retried', ['1:1', 'retry', '0', '{}']],
    ])('loses no job that is %s while no queue can take it', async (_, outcomes) => {
      const fn = server.fn();
      const queues = ['high', 'normal', 'low', 'scheduled'].map((name) => `queue:${fn}:${name}`);
      await enqueue(server.redis, fn, ['a']);
      await claim(server.redis, fn);
      for (const queue of queues) await server.redis.set(queue, 'text');
      const now = NOW + LEASE_MS;
      await expect(claim(server.redis, fn, { outcomes, slots: 0, now })).resolves.toMatchObject({
        refused: [],
      });
      await expect(server.redis.zrange(`lease:${fn}`, '0', '-1')).resolves.toEqual(['1:1']);
      await server.redis.del(queues);
      const { claims } = await claim(server.redis, fn, { now: now + LEASE_MS });
      expect(claims).toMatchObject([{ id: '1', token: 2 }]);
    });

    it('releases a job to another queue if its own is no list', async () => {
      const fn = server.fn();
      await enqueue(server.redis, fn, ['a'], { queue: 'low' });
      await claim(server.redis, fn);
      await text(fn, 'queue:FN:low');
      await claim(server.redis, fn, { slots: 0, now: NOW + LEASE_MS });
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['1']);
    });
  });

  it('stores claims even for a fractional lease', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    const { claims } = await claim(server.redis, fn, { lease: 10_000 / 3, noted: `claims:${fn}:me` });
    expect(ids(claims)).toEqual(['1']);
    await expect(server.redis.get(`claims:${fn}:me`)).resolves.toBe('["1:1"]');
  });
});
