import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedis } from '../../support/use-redis.js';
import {
  cancel,
  claim,
  enqueue,
  enqueueLimited,
  look,
  NOW,
  readLimits,
  setLimit,
} from '../scripts/scripts.js';

describe('limits whose keys were changed by hand', () => {
  const server = useRedis();
  const redis = () => server.redis;
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const LONG = 3_600_000;
  const ids = async (taken: ReturnType<typeof claim>) => (await taken).claims.map(({ id }) => id);
  const take = (more: Parameters<typeof claim>[2] = {}) =>
    ids(claim(redis(), fn, { lease: LONG, maxStalls: 5, ...more }));
  const success = (member: string) => [member, 'success', 'output', ''];
  const limitKey = (name: string) => keysOf(fn).limits + name;

  // Those of a tenant called `parked` of a function `sync` are in a set, the keys of `sync:later` that are set aside in a sorted one.
  it.each<'' | number>(['', (NOW + LONG) / 1000])(
    'refuse jobs whole for a key of another type: due %j',
    async (due) => {
      const wrong = {
        parked: () => redis().sadd(limitKey('parked'), 'x'),
        due: () => redis().sadd(limitKey('due'), 'x'),
      };
      await wrong[due === '' ? 'parked' : 'due']();
      const before = await redis().keys(`*${fn}*`);
      await expect(enqueueLimited(redis(), fn, ['a', 'b'], { score: due })).rejects.toThrow('WRONGTYPE');
      expect((await redis().keys(`job:${fn}:*`)).concat(await redis().keys(`limit:${fn}:wait*`))).toEqual([]);
      expect(before.length).toBeGreaterThan(0);
      await redis().del(limitKey('parked'), limitKey('due'));
      await enqueueLimited(redis(), fn, ['a']);
      expect(await take()).toEqual(['1']);
    },
  );

  describe('places', () => {
    it('are free again when a lease was removed, and its job runs again', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await enqueue(redis(), fn, ['x', 'y']);
      await take();
      await redis().zrem(keysOf(fn).leases, '1:1');
      expect(await take({ maxStalls: 0 })).toEqual(['2']);
      expect(await redis().hget(`${keysOf(fn).jobs}1`, 'status')).toBe('error');
    });

    it('are free when their jobs end, though the list of places was deleted', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'b', 'b'], { rules: '1:::strict:' });
      expect(await take()).toEqual(['1', '3']);
      await redis().del(limitKey('places'));
      expect(await take({ outcomes: success('1:1'), recover: 0 })).toEqual(['2']);
      await redis().del(`recovery:${fn}`);
      expect(await take({ now: NOW + LONG, outcomes: success('2:1') })).toEqual(['3']);
    });

    it('are free when they can be given back, though that failed when their job ended', async () => {
      await enqueueLimited(redis(), fn, ['a'], { onFull: 'refuse' });
      expect(await take()).toEqual(['1']);
      const running = await redis().smembers(limitKey('running:a'));
      await redis().set(limitKey('running:a'), 'of another program');
      await take({ outcomes: success('1:1') });
      await redis().del(limitKey('running:a'));
      await redis().sadd(limitKey('running:a'), ...running);
      await take({ now: NOW + 1000 });
      expect(await redis().exists(limitKey('running:a'), limitKey('places'))).toBe(0);
      await enqueueLimited(redis(), fn, ['a'], { onFull: 'refuse' });
      expect(await take({ now: NOW + 1000 })).toEqual(['2']);
    });

    it('outlast the loss of the rules', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a', 'a']);
      await take();
      await redis().del(keysOf(fn).control);
      expect(await claim(redis(), fn, { files: 1, outcomes: success('1:1') })).toMatchObject({
        claims: [],
        lostRules: true,
      });
      await setLimit(redis(), fn, 'limit', '1:::fair:');
      expect(await take()).toEqual(['2']);
      expect(await take()).toEqual([]);
      expect(await take({ outcomes: success('2:1') })).toEqual(['3']);
    });
  });

  describe('a strict key', () => {
    const rules = '1:::strict:';
    const retried = async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
      await take();
      await take({ outcomes: ['1:1', 'retry', String(LONG), '{}'] });
    };

    it('goes on when its holder waits nowhere', async () => {
      await retried();
      await redis().del(limitKey('due'));
      expect(await take()).toEqual(['1']);
      expect(await take({ outcomes: success('1:2') })).toEqual(['2']);
    });

    it('goes on when the hash of its holder was deleted', async () => {
      await retried();
      await redis().del(`${keysOf(fn).jobs}1`);
      expect(await take()).toEqual(['2']);
    });

    it('goes on with the job that holds it when its lease and its place were deleted', async () => {
      await enqueueLimited(redis(), fn, ['a', 'a'], { rules });
      await take();
      await redis().del(keysOf(fn).leases, limitKey('places'));
      expect(await redis().srem(limitKey('running:a'), '1:1')).toBe(1);
      expect(await take()).toEqual(['1']);
    });

    it('is free when a holder is cancelled that waits nowhere', async () => {
      await retried();
      await redis().del(limitKey('due'));
      expect(await cancel(redis(), fn, '1')).toBe('cancelled');
      expect(await take({ recover: 0 })).toEqual(['2']);
    });

    it.each([
      ['the list of what is due', 'due'],
      ['its job', 'job'],
    ])('goes on, and wakes a worker for that, when its holder and %s were deleted', async (_, lost) => {
      await retried();
      await redis().del(limitKey('holders'), limitKey('due'));
      if (lost === 'job') await redis().del(`${keysOf(fn).jobs}1`);
      await redis().del(keysOf(fn).wake);
      await look(redis(), [fn]);
      expect(await redis().llen(keysOf(fn).wake)).toBe(1);
      expect(await take()).toEqual(['2']);
    });

    it('wakes no worker while its job waits for a retry, or one of another key runs', async () => {
      const wakes = async () => {
        await redis().del(keysOf(fn).wake);
        await look(redis(), [fn]);
        return redis().llen(keysOf(fn).wake);
      };
      await retried();
      expect(await wakes()).toBe(0);
      await enqueueLimited(redis(), fn, ['b', 'b'], { rules });
      await take();
      await redis().del(limitKey('due'));
      expect(await wakes()).toBe(0);
    });

    it('is found among many that are set aside for a reason', async () => {
      const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
      await enqueueLimited(redis(), fn, [...keys, ...keys], { rules });
      await take({ slots: 40 });
      expect(await take()).toEqual([]);
      await redis().hdel(limitKey('holders'), 'k30');
      await redis().hdel(limitKey('places'), '31:1');
      await redis().del(`${keysOf(fn).jobs}31`);
      await redis().zrem(keysOf(fn).leases, '31:1');
      const found: string[] = [];
      for (let now = NOW; now < NOW + 40; now++) found.push(...(await take({ now })));
      expect(found).toEqual(['71']);
    });
  });

  it.each(['1:::fair:', '1:::strict:', ':::fair:lost-places'])(
    'a key goes on when all that is known of what ran was deleted, with rules %s',
    async (rules) => {
      await setLimit(redis(), fn, 'limit', rules, '1::');
      await enqueueLimited(redis(), fn, ['a', 'a']);
      expect(await take()).toEqual(['1']);
      expect(await take()).toEqual([]);
      await redis().del(keysOf(fn).leases, limitKey('places'), limitKey('holders'), `${keysOf(fn).jobs}1`);
      expect(await take()).toEqual(['2']);
    },
  );

  it('a key of a shared limit stays full while a job of another function runs', async () => {
    const other = `${fn}-other`;
    for (const name of [fn, other]) {
      await setLimit(redis(), name, 'limit', `:::fair:${fn}`, '1::');
      await enqueueLimited(redis(), name, ['a']);
    }
    expect(await ids(claim(redis(), other, { lease: LONG }))).toEqual(['1']);
    expect([await take(), await take()]).toEqual([[], []]);
  });

  it.each([
    ':5::fair:',
    ':0:0:fair:',
    '0:::fair:',
    '99999999999999999999:1e5:2:fair:',
    ':99999999999999999999:1:fair:',
    ':1:99999999999999999999:fair:',
    '-1:::fair:',
    'NaN:::fair:',
    '{}',
    '{"concurrency":1}',
    '',
  ])('rules such as "%s" stop no job without a key and lose none', async (text) => {
    await enqueueLimited(redis(), fn, ['a', 'a']);
    await enqueue(redis(), fn, ['x']);
    await redis().hset(keysOf(fn).control, 'limit', text);
    const first = await take();
    expect(first).toContain('3');
    await setLimit(redis(), fn, 'limit', '5:::fair:');
    expect([...first, ...(await take())].sort()).toEqual(['1', '2', '3']);
  });

  it.each(['0:::fair:', ':0:0:fair:', ':5::fair:', ':1:99999999999999:fair:', ':100001:1:fair:'])(
    'numbers that no limit can have are none: "%s"',
    async (text) => {
      await enqueueLimited(redis(), fn, ['a', 'a']);
      await redis().hset(keysOf(fn).control, 'limit', text);
      expect(await take()).toEqual(['1', '2']);
    },
  );

  it.each([
    ['turn', {}],
    ['time', { score: (NOW + LONG) / 1000 }],
  ])('an enqueue that is refused half-way leaves nothing that waits for its %s', async (_, placement) => {
    await redis().set(`${keysOf(fn).jobs}3`, 'no job');
    const refused = enqueueLimited(redis(), fn, ['a', 'b', 'a'], { rules: '5:::fair:', ...placement });
    await expect(refused).rejects.toThrow('WRONGTYPE');
    for (const name of ['wait:normal:a', 'wait:normal:b', 'due', 'later:a'])
      expect([name, await redis().exists(limitKey(name))]).toEqual([name, 0]);
    expect(await redis().exists(`${keysOf(fn).jobs}1`, `${keysOf(fn).jobs}2`)).toBe(0);
  });

  it('an override in another form is none', async () => {
    await enqueueLimited(redis(), fn, ['a', 'a']);
    await redis().hset(keysOf(fn).control, 'override', 'many');
    expect(await take()).toEqual(['1']);
  });

  it('starts in the future, as after the clock was set back, block no longer than a rate does', async () => {
    const rules = ':1:1000:fair:';
    await enqueueLimited(redis(), fn, ['a', 'a', 'a'], { rules });
    expect(await take({ now: NOW + LONG })).toEqual(['1']);
    // The time is over in which nothing is recovered after that.
    await redis().del(`recovery:${fn}`);
    expect(await take({ now: NOW })).toEqual(['2']);
    expect(await take({ now: NOW + 500 })).toEqual([]);
    expect(await readLimits(redis(), fn, NOW + 500, 'a')).toMatchObject([{ until: NOW + 1001 }]);
    expect(await take({ now: NOW + 1001 })).toEqual(['3']);
  });

  describe.each([
    'wait:normal:a',
    'parked',
    'holds',
    'places',
    'running:a',
    'holders',
    'due',
    'later:a',
    'starts:a',
  ])('a key %s of another type', (name) => {
    /** After the first part of a test, and its leases. */
    const LATER = NOW + 2 * LONG;

    /** Runs what it gets until nothing more comes, by the time after a retry. */
    async function runAll(from: number): Promise<string[]> {
      const done: string[] = [];
      for (let turn = 1; turn <= 8; turn++) {
        const { claims } = await claim(redis(), fn, { lease: LONG, maxStalls: 5, now: from + turn * 5000 });
        done.push(...claims.map(({ id }) => id));
        const outcomes = claims.flatMap(({ id, token }) => success(`${id}:${token}`));
        await claim(redis(), fn, { slots: 0, outcomes, now: from + turn * 5000 });
      }
      return done;
    }

    it.each([':2:1000:fair:', '1:::strict:'])(
      'loses no job and holds up no other, with rules %s',
      async (rules) => {
        await enqueueLimited(redis(), fn, ['a', 'a', 'b'], { rules });

        expect(await take({ slots: 1, recover: 0 })).toEqual(['1']);
        await redis().del(limitKey(name));
        await redis().set(limitKey(name), 'no such type');
        await enqueue(redis(), fn, ['x']);
        const meanwhile = await runAll(NOW);
        expect(meanwhile).toContain('4');
        await redis().del(limitKey(name));
        await enqueueLimited(redis(), fn, ['a', 'b'], { rules });
        const statuses = async () =>
          Promise.all([1, 2, 3, 4, 5, 6].map((id) => redis().hget(`${keysOf(fn).jobs}${id}`, 'status')));
        await claim(redis(), fn, { slots: 0, outcomes: success('1:1'), now: LATER });
        await runAll(LATER);
        // What lay in the key itself is gone with it.
        const waiting = (await statuses()).filter((status) => status !== 'success');
        expect(waiting.length).toBeLessThanOrEqual(name === 'wait:normal:a' ? 2 : 0);
      },
    );
  });
});
