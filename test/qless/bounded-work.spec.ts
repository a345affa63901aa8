import { beforeEach, describe, expect, it } from '@jest/globals';
import { MOST_COMMANDS, commandsDuring } from './commands-during.js';
import { jidsOf, snapshot, useQless } from './qless-rig.js';

/** Makes states that would take many calls to reach: ARGV[1] times the commands of the body, with `i`. */
const times = (body: string) => `for i = 1, tonumber(ARGV[1]) do ${body} end`;

type Call = [command: string, ...args: (string | number)[]];

describe('one call', () => {
  const qless = useQless();

  const commandsOf = (call: () => Promise<unknown>) => commandsDuring(qless.redis, call);

  it('of complete deletes a part of 50,000 jobs that are to go, and later ones the rest', async () => {
    await qless.redis.eval(
      times(`redis.call('HSET', 'ql:j:old' .. i, 'jid', 'old' .. i, 'tags', '["t"]')
        redis.call('ZADD', 'ql:t:t', i, 'old' .. i)
        redis.call('ZADD', 'ql:completed', i, 'old' .. i)`),
      0,
      50_000,
    );
    await qless.redis.zadd('ql:tags', 50_000, 't');
    await qless.q('config.set', 0, 'jobs-history', 60);
    const complete = async () => {
      await qless.q('put', 1e6, 'p', 'q', 'jid', 'k', '{}', 0);
      await qless.pop(1e6);
      await qless.q('complete', 1e6, 'jid', 'w', 'q', '{}');
    };
    expect(await commandsOf(complete)).toBeLessThan(MOST_COMMANDS);
    const before = await qless.redis.zcard('ql:completed');
    expect(before).toBeLessThan(50_000);
    await complete();
    expect(await qless.redis.zcard('ql:completed')).toBeLessThan(before);
    for (let calls = 0; (await qless.redis.zcard('ql:completed')) > 1; calls++) {
      expect(calls).toBeLessThan(500);
      await complete();
    }
    await expect(qless.redis.keys('ql:j:old*')).resolves.toEqual([]);
    await expect(qless.redis.exists('ql:tags', 'ql:t:t')).resolves.toBe(0);
  });

  describe('unlocks a part of 20,000 jobs that depend on one:', () => {
    const setUp = async () => {
      await qless.put('jid');
      await qless.redis.eval(
        times(`local key = 'ql:j:d' .. i
          redis.call('HSET', key, 'jid', 'd' .. i, 'klass', 'k', 'data', '{}', 'tags', '[]', 'state', 'depends',
            'queue', 'n', 'priority', 0, 'retries', 5, 'remaining', 5)
          redis.call('SADD', key .. '-dependencies', 'jid')
          redis.call('ZADD', 'ql:q:n-depends', 0, 'd' .. i)
          redis.call('SADD', 'ql:j:jid-dependents', 'd' .. i)`),
        0,
        20_000,
      );
      await qless.pop(0);
    };
    const complete = () => qless.q('complete', 1, 'jid', 'w', 'q', '{}');

    it('the rest is unlocked by later pops', async () => {
      await setUp();
      expect(await commandsOf(complete)).toBeLessThan(MOST_COMMANDS);
      expect(await qless.redis.zcard('ql:q:n-depends')).toBeGreaterThan(10_000);
      expect(await commandsOf(() => qless.q('pop', 2, 'other', 'w', 1))).toBeLessThan(MOST_COMMANDS);
      for (let calls = 0; await qless.redis.exists('ql:unlocking'); calls++) {
        expect(calls).toBeLessThan(100);
        await qless.q('pop', 2, 'other', 'w', 1);
      }
      await expect(qless.redis.zcard('ql:q:n-work')).resolves.toBe(20_000);
      await expect(qless.redis.keys('ql:*-depend*')).resolves.toEqual([]);
      await expect(qless.redis.keys('ql:unlocking*')).resolves.toEqual([]);
    });

    it('a job put again meanwhile, which depends on the same one again, is not unblocked with them', async () => {
      await setUp();
      await complete();
      const [late = ''] = await qless.redis.smembers('ql:unlocking:jid');
      await qless.q('put', 2, 'p', 'q', 'jid', 'k', '{}', 0);
      await qless.q('put', 2, 'p', 'n', late, 'k', '{}', 0, 'depends', '["jid"]');
      while (await qless.redis.exists('ql:unlocking')) await qless.q('pop', 2, 'other', 'w', 1);
      await expect(qless.redis.zrange('ql:q:n-depends', '0', '-1')).resolves.toEqual([late]);
      await qless.pop(3);
      await complete();
      await expect(qless.job(late)).resolves.toMatchObject({ state: 'waiting', dependencies: {} });
    });

    it('the job may be completed again before all are unlocked', async () => {
      await setUp();
      await complete();
      await qless.q('put', 2, 'p', 'q', 'jid', 'k', '{}', 0);
      await qless.put('e', 'depends', '["jid"]');
      await qless.pop(3);
      await complete();
      while (await qless.redis.exists('ql:unlocking')) await qless.q('peek', 2, 'other', 1);
      await expect(qless.redis.zcard('ql:q:n-depends')).resolves.toBe(0);
      await expect(qless.job('e')).resolves.toMatchObject({ state: 'waiting' });
    });

    it('one of them may be cancelled before it is unlocked', async () => {
      await setUp();
      await complete();
      const [late = ''] = await qless.redis.smembers('ql:unlocking:jid');
      await qless.q('cancel', 2, late);
      while (await qless.redis.exists('ql:unlocking')) await qless.q('peek', 2, 'other', 1);
      await expect(qless.q('get', 2, late)).resolves.toBeNull();
      await expect(qless.redis.zcard('ql:q:n-work')).resolves.toBe(19_999);
    });
  });

  it.each(['peek', 'pop'])('of %s spawns a part of 50,000 runs that are due', async (command) => {
    await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 1, 0);
    const args = command === 'pop' ? ['q', 'w', 50_000] : ['q', 50_000];
    const commands = await commandsOf(() => qless.q(command, 49_999, ...args));
    expect(commands).toBeLessThan(MOST_COMMANDS);
    const count = async () => (await qless.json<{ count: number }>('recur.get', 0, 'r')).count;
    await expect(count()).resolves.toBe(250);
    await qless.q('peek', 49_999, 'q', 50_000);
    await expect(count()).resolves.toBe(500);
  });

  it('of queues moves a part of 5,000 scheduled jobs that are due, and counts all of them as waiting', async () => {
    await qless.redis.eval(
      times(`redis.call('HSET', 'ql:j:s' .. i, 'jid', 's' .. i, 'priority', 0)
        redis.call('ZADD', 'ql:q:q-scheduled', i, 's' .. i)`),
      0,
      5000,
    );
    await qless.redis.zadd('ql:queues', 0, 'q');
    expect(await commandsOf(() => qless.q('queues', 4500))).toBeLessThan(MOST_COMMANDS);
    await expect(qless.redis.zcard('ql:q:q-work')).resolves.toBe(250);
    await expect(qless.json('queues', 4500, 'q')).resolves.toMatchObject({ waiting: 4500, scheduled: 500 });
  });

  it('of workers forgets a part of 5,000 that were not seen for long, and shows none of them', async () => {
    await qless.redis.eval(times(`redis.call('ZADD', 'ql:workers', i, 'w' .. i)`), 0, 5000);
    const workers = async () => expect(await qless.q('workers', 1e6)).toBe('{}');
    expect(await commandsOf(workers)).toBeLessThan(MOST_COMMANDS);
    await expect(qless.redis.zcard('ql:workers')).resolves.toBe(4750);
  });

  it('of pop, peek and unfail is for 250 jobs at most', async () => {
    await qless.redis.eval(
      times(`redis.call('HSET', 'ql:j:f' .. i, 'jid', 'f' .. i, 'klass', 'k', 'data', '{}', 'tags', '[]',
          'state', 'failed', 'queue', 'q', 'priority', 0, 'retries', 5, 'remaining', 5, 'failure', '{"group":"g","when":0}')
        redis.call('LPUSH', 'ql:f:g', 'f' .. i)`),
      0,
      2000,
    );
    expect(await commandsOf(() => qless.q('unfail', 0, 'q', 'g', 9000))).toBeLessThan(MOST_COMMANDS);
    await expect(qless.redis.llen('ql:f:g')).resolves.toBe(1750);
    await expect(qless.q('unfail', 0, 'q', 'g', 9000)).resolves.toBe(250);
    expect(jidsOf(await qless.json('peek', 0, 'q', 9000))).toHaveLength(250);
    expect(await commandsOf(() => qless.q('pop', 0, 'q', 'w', 9000))).toBeLessThan(MOST_COMMANDS);
    await expect(qless.redis.zcard('ql:q:q-locks')).resolves.toBe(250);
  });

  it('of cancel reads a group of failures once for all that are in it', async () => {
    const jids = Array.from({ length: 300 }, (_, i) => `j${i}`);
    for (const jid of jids) {
      await qless.put(jid);
      await qless.pop(0);
      await qless.q('fail', 1, jid, 'w', 'g', 'm');
    }
    const cancelled = jids.filter((_, i) => i % 3 !== 0);
    const kept = jids.filter((_, i) => i % 3 === 0).reverse();
    await qless.redis.config('RESETSTAT');
    await qless.q('cancel', 2, ...cancelled);
    const stats = await qless.redis.info('commandstats');
    expect(stats).not.toContain('cmdstat_lrem');
    expect(stats).toContain('cmdstat_lrange:calls=1,');
    await expect(qless.redis.lrange('ql:f:g', 0, -1)).resolves.toEqual(kept);
    await expect(qless.json('stats', 0, 'q', 0)).resolves.toMatchObject({ failed: 100, failures: 300 });
  });

  const ids = Array.from({ length: 9000 }, (_, i) => `j${i}`);

  it('takes 9,000 ids in a command that does little for each', async () => {
    await expect(qless.q('worker.deregister', 0, ...ids)).resolves.toBeNull();
    await expect(qless.q('queue.forget', 0, ...ids)).resolves.toBeNull();
    await expect(qless.q('pause', 0, ...ids)).resolves.toBeNull();
    await expect(qless.q('unpause', 0, ...ids)).resolves.toBeNull();
    await expect(qless.q('cancel', 0, ...ids)).resolves.toHaveLength(9000);
  });

  describe('for each of 5,000 other jobs makes one command:', () => {
    const others = ids.slice(0, 5000);
    beforeEach(() =>
      qless.redis.eval(
        times(`redis.call('HSET', 'ql:j:j' .. (i - 1), 'jid', 'j' .. (i - 1), 'state', 'waiting')`),
        0,
        others.length,
      ),
    );
    const dependenciesOf = (jid: string) => qless.redis.scard(`ql:j:${jid}-dependencies`);
    const ONE_EACH = others.length + 100;

    it('put', async () => {
      const put = () => qless.put('jid', 'depends', JSON.stringify(others));
      expect(await commandsOf(put)).toBeLessThan(ONE_EACH);
      await expect(dependenciesOf('jid')).resolves.toBe(5000);
    });

    it('complete with next', async () => {
      await qless.put('jid');
      await qless.pop(0);
      const next = ['next', 'n', 'depends', JSON.stringify(others)];
      expect(await commandsOf(() => qless.q('complete', 1, 'jid', 'w', 'q', '{}', ...next))).toBeLessThan(
        ONE_EACH,
      );
      await expect(dependenciesOf('jid')).resolves.toBe(5000);
    });

    it('depends on and off', async () => {
      await qless.put('a');
      await qless.put('jid', 'depends', '["a"]');
      expect(await commandsOf(() => qless.q('depends', 0, 'jid', 'on', ...others))).toBeLessThan(ONE_EACH);
      await expect(dependenciesOf('jid')).resolves.toBe(5001);
      expect(await commandsOf(() => qless.q('depends', 0, 'jid', 'off', ...others))).toBeLessThan(ONE_EACH);
      await expect(dependenciesOf('jid')).resolves.toBe(1);
    });
  });

  describe('that would be too long', () => {
    const text = JSON.stringify(ids);
    const put = (option: string): Call => ['put', 0, 'p', 'q', 'there', 'k', '{}', 0, option, text];
    it.each([
      ['multiget', () => ['multiget', 0, ...ids], 'MultiGet(): At most 1000 jids a call, got 9000'],
      ['put with tags', () => put('tags'), 'Put(): At most 1000 tags, got 9000'],
      ['put with depends', () => put('depends'), 'Put(): At most 5000 dependencies a call, got 9000'],
      [
        'complete',
        () => ['complete', 0, 'there', 'w', 'q', '{}', 'next', 'q', 'depends', text],
        'Complete(): At most 5000 dependencies a call, got 9000',
      ],
      ['depends on', () => ['depends', 0, 'there', 'on', ...ids], 'Depends(): At most 5000 jids a call'],
      ['depends off', () => ['depends', 0, 'there', 'off', ...ids], 'Depends(): At most 5000 jids a call'],
      ['tag add', () => ['tag', 0, 'add', 'there', ...ids], 'Tag(): At most 1000 tags, got 9000'],
      ['tag remove', () => ['tag', 0, 'remove', 'there', ...ids], 'Tag(): At most 1000 tags, got 9000'],
      [
        'recur',
        () => ['recur', 0, 'q', 'r', 'k', '{}', 'interval', 1, 0, 'tags', text],
        'Recur(): At most 1000 tags, got 9000',
      ],
    ] satisfies [string, () => Call, string][])(
      '%s refuses it, writing nothing',
      async (_, args, message) => {
        await qless.put('there');
        await qless.pop(0);
        const before = await snapshot(qless.redis);
        const [command, now = 0, ...rest] = args();
        await expect(qless.q(command, now, ...rest)).rejects.toThrow(message);
        expect(await snapshot(qless.redis)).toEqual(before);
      },
    );

    it('refuses more than 1,000 tags of a job that has some, and of a recurring one', async () => {
      await qless.put('jid', 'tags', '["t"]');
      await qless.q('recur', 0, 'q', 'r', 'k', '{}', 'interval', 1, 0, 'tags', '["t"]');
      const thousand = ids.slice(0, 1000);
      for (const [command, ...args] of [
        ['tag', 'add', 'jid'],
        ['recur.tag', 'r'],
      ] as const) {
        const tag = (tags: readonly string[]) => qless.q(command, 0, ...args, ...tags);
        await expect(tag(thousand)).rejects.toThrow('Tag(): At most 1000 tags, got 1001');
        expect(JSON.parse(String(await tag(thousand.slice(1))))).toHaveLength(1000);
      }
      await expect(qless.redis.zcard('ql:tags')).resolves.toBe(1000);
    });
  });
});
