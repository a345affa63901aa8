import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedisServer } from '../../support/use-redis.js';
import { claim, enqueue, look, NOW } from './scripts.js';

const LEASE = 8000;
const GRACE = 3000;

describe('recovery.lua', () => {
  const server = useRedisServer();
  let fn: string;

  beforeEach(async () => {
    fn = server.fn();
    await enqueue(server.redis, fn, ['a']);
    await ask(NOW);
    await server.redis.del(keysOf(fn).wake);
  });

  /** Ids that a call is given, each of which was recovered before. */
  async function ask(now: number): Promise<string[]> {
    const { claims } = await claim(server.redis, fn, { now, lease: LEASE, maxStalls: 100 });
    return claims.map(({ id }) => id);
  }

  /** A worker without a free slot asks, up to this time. */
  async function askUntil(now: number, from = NOW): Promise<void> {
    for (let at = from + 1000; at < now; at += 1000)
      await claim(server.redis, fn, { now: at, lease: LEASE, slots: 0 });
  }

  const marked = () => server.redis.llen(keysOf(fn).wake);

  it('gives a job back when its lease has ended, if workers looked all the time', async () => {
    await askUntil(NOW + LEASE);
    expect(await ask(NOW + LEASE - 1)).toEqual([]);
    expect(await ask(NOW + LEASE)).toEqual(['1']);
  });

  it('gives holders time to renew after one in which no worker looked', async () => {
    const back = NOW + 10 * LEASE;
    expect(await ask(back)).toEqual([]);
    await askUntil(back + GRACE, back);
    expect(await ask(back + GRACE - 1)).toEqual([]);
    expect(await ask(back + GRACE)).toEqual(['1']);
  });

  it('gives them time again after each of several, however soon they follow', async () => {
    const [first, second] = [NOW + 10 * LEASE, NOW + 11 * LEASE];
    expect(await ask(first)).toEqual([]);
    // A worker that lives has renewed it.
    await server.redis.zadd(keysOf(fn).leases, first + 1, '1:1');
    await askUntil(first + 2000, first);
    expect(await ask(second)).toEqual([]);
    expect(await ask(second + GRACE - 1)).toEqual([]);
  });

  it('gives a job back that was not renewed in the time after one of several, though another follows', async () => {
    const [first, second] = [NOW + 10 * LEASE, NOW + 11 * LEASE];
    expect(await ask(first)).toEqual([]);
    await askUntil(first + 2000, first);
    expect(await ask(second)).toEqual([]);
    // Up for a second after the first, and for half a second now; the pause counts as 1.5 seconds.
    expect(await ask(second + 499)).toEqual([]);
    expect(await ask(second + 500)).toEqual(['1']);
  });

  it('gives them time in short moments, many times in a row, if they renew in each', async () => {
    for (let moment = 1; moment <= 20; moment++) {
      const back = NOW + moment * 2 * LEASE;
      expect(await ask(back)).toEqual([]);
      await server.redis.zadd(keysOf(fn).leases, back + 200 + LEASE, '1:1');
      expect(await ask(back + 400)).toEqual([]);
    }
  });

  it('gives them time after one that comes soon after the first job of an idle function', async () => {
    const fresh = NOW + 100 * LEASE;
    await claim(server.redis, fn, { now: fresh, lease: LEASE, slots: 0 });
    await server.redis.zadd(keysOf(fn).leases, fresh + LEASE, '1:1');
    await askUntil(fresh + 2000, fresh);
    expect(await ask(fresh + 2000 + LEASE)).toEqual([]);
  });

  it('gives them time after any number of outages, if workers look all the time between them', async () => {
    for (let outage = 1; outage <= 9; outage++) {
      const back = NOW + outage * 100 * LEASE;
      expect(await ask(back)).toEqual([]);
      await server.redis.zadd(keysOf(fn).leases, back + 10 * LEASE, '1:1');
      await askUntil(back + 2 * GRACE, back);
    }
  });

  it('gives them time after one that follows any number of short jobs some seconds apart', async () => {
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'success', 'out', ''] });
    let now = NOW + 10 * LEASE;
    for (let job = 2; job <= 12; job++, now += 3000) {
      await enqueue(server.redis, fn, ['short']);
      expect(await ask(now)).toEqual([`${job}`]);
      const ended = { now: now + 100, lease: LEASE, slots: 0, outcomes: [`${job}:1`, 'success', 'out', ''] };
      await claim(server.redis, fn, ended);
    }
    await enqueue(server.redis, fn, ['long']);
    expect(await ask(now)).toEqual(['13']);
    await askUntil(now + 1000, now);
    expect(await ask(now + 2 * LEASE)).toEqual([]);
    expect(await ask(now + 2 * LEASE + GRACE - 1)).toEqual([]);
  });

  it.each(['zadd', 'zrem'])(
    'gives them time after one in which none could be renewed, for lack of a right to %s',
    async (command) => {
      await server.redis.acl('SETUSER', 'lacking', 'reset', 'on', '>x', '+@all', '~*', '&*', `-${command}`);
      const lacking = server.redis.duplicate({ username: 'lacking', password: 'x' });
      for (let at = NOW + 1000; at <= NOW + 2 * LEASE; at += 1000)
        await look(lacking, [fn], at).catch(() => undefined);
      lacking.disconnect();
      await server.redis.acl('DELUSER', 'lacking');
      expect(await ask(NOW + 2 * LEASE + 1000)).toEqual([]);
    },
  );

  it('recovers jobs where every look is late, too', async () => {
    const looks: string[][] = [];
    for (let at = 1; at <= 3; at++) looks.push(await ask(NOW + 10 * LEASE + (at * LEASE) / 2));
    // Each pause counts as 1.5 seconds.
    expect(looks).toEqual([[], [], ['1']]);
  });

  it('does not take one that is late for time in which the server was there, if a call has failed before it', async () => {
    const blink = 2500;
    const looks = async (from: number, count: number) => {
      let ids: string[] = [];
      for (let at = 1; at <= count; at++)
        ids = (
          await claim(server.redis, fn, { now: from + at * blink, lease: LEASE, maxStalls: 9, recover: -1 })
        ).claims.map(({ id }) => id);
      return ids;
    };
    const ended = NOW + 10 * LEASE;
    // Three moments between refused writes are not three seconds, but thirty after another are.
    expect(await looks(ended, 3)).toEqual([]);
    expect(await looks(ended + 3 * blink, 27)).toEqual([]);
    expect(await looks(ended + 30 * blink, 1)).toEqual(['1']);
  });

  it('gives holders time while calls fail again and again, however shortly, and then recovers', async () => {
    const last = NOW + 2 * LEASE;
    for (let at = NOW + 1200; at <= last; at += 1200) {
      const { claims } = await claim(server.redis, fn, { now: at, lease: LEASE, maxStalls: 9, recover: -1 });
      expect(claims).toEqual([]);
    }
    await askUntil(last + GRACE, last - 1000);
    expect(await ask(last + GRACE)).toEqual(['1']);
  });

  it('counts them so for a leader, too', async () => {
    for (let at = 1; at <= 30; at++) {
      await look(server.redis, [fn], NOW + 10 * LEASE + at * 2500, '', 0, -1);
      expect(await marked()).toBe(0);
    }
    await look(server.redis, [fn], NOW + 10 * LEASE + 31 * 2500, '', 0, -1);
    expect(await marked()).toBe(1);
  });

  it('goes by the leases that there were, not by longer ones of earlier workers', async () => {
    await claim(server.redis, fn, { now: NOW + 1000, lease: 100 * LEASE, slots: 0 });
    const late = NOW + 2 * LEASE;
    expect(await ask(late)).toEqual([]);
    const grace = (3 / 8) * (4 / 3) * (LEASE - 1000 + 1500);
    await askUntil(late + grace, late);
    expect(await ask(late + grace - 1)).toEqual([]);
    expect(await ask(late + grace)).toEqual(['1']);
  });

  it('forgets the leases of earlier workers when none was held for a while', async () => {
    await claim(server.redis, fn, {
      now: NOW,
      lease: 100 * LEASE,
      slots: 0,
      outcomes: ['1:1', 'success', 'out', ''],
    });
    const now = NOW + 10 * LEASE;
    await claim(server.redis, fn, { now, lease: LEASE, slots: 0 });
    await server.redis.zadd(keysOf(fn).leases, now + LEASE, '1:1');
    await ask(now + 2 * LEASE);
    expect((await server.redis.get(keysOf(fn).recovery))?.split(':').slice(1, 4)).toEqual([
      `${now + 2 * LEASE + GRACE}`,
      `${LEASE}`,
      `${LEASE}`,
    ]);
  });

  it('gives holders of long leases time for them, and goes by the short ones, for any look', async () => {
    const [short, long] = [LEASE, 10 * LEASE];
    const lookWith = (lease: number, now: number) => claim(server.redis, fn, { now, lease, maxStalls: 100 });
    await lookWith(long, NOW + 1000);
    await server.redis.zadd(keysOf(fn).leases, NOW + 1000 + long, '2:1');
    const late = NOW + 1000 + short;
    expect((await lookWith(long, late)).claims).toEqual([]);
    await server.redis.zadd(keysOf(fn).leases, late, '1:1');
    for (let at = late + 1000; at < late + (3 / 8) * long; at += 1000)
      expect((await lookWith(short, at)).claims).toEqual([]);
    expect((await lookWith(short, late + (3 / 8) * long)).claims).toHaveLength(1);
  });

  it('recovers jobs of dead workers whose leases lie far ahead, since the clock of the server went back', async () => {
    const back = NOW - 100 * LEASE;
    await server.redis.zadd(keysOf(fn).leases, NOW + 5 * LEASE, '999:1');
    expect(await ask(back)).toEqual([]);
    await askUntil(back + LEASE, back);
    expect(await ask(back + LEASE)).toEqual(['1']);
    expect(await server.redis.zscore(keysOf(fn).leases, '999:1')).toBeNull();
  });

  it('gives them time when the clock of the server went back, also while they have some', async () => {
    expect(await ask(NOW + 10 * LEASE)).toEqual([]);
    await server.redis.zadd(keysOf(fn).leases, 1, '1:1');
    const back = NOW - 10 * LEASE;
    expect(await ask(back)).toEqual([]);
    await askUntil(back + GRACE, back);
    expect(await ask(back + GRACE)).toEqual(['1']);
  });

  it('takes no lease for ended that has not, when the clock went back after an outage', async () => {
    expect(await ask(NOW + 10 * LEASE)).toEqual([]);
    const back = NOW - 10 * LEASE;
    expect(await ask(back)).toEqual([]);
    await server.redis.zadd(keysOf(fn).leases, back + GRACE + LEASE, '1:1');
    await askUntil(back + GRACE, back);
    expect(await ask(back + GRACE)).toEqual([]);
  });

  it('counts the looks of a leader, who wakes no worker before the time is over', async () => {
    for (let at = NOW + 1000; at <= NOW + LEASE; at += 1000) await look(server.redis, [fn], at);
    expect(await marked()).toBe(1);
    expect(await ask(NOW + LEASE)).toEqual(['1']);
    const back = NOW + 10 * LEASE;
    await server.redis.del(keysOf(fn).wake);
    for (let at = back; at < back + GRACE; at += 1000) await look(server.redis, [fn], at);
    expect(await marked()).toBe(0);
    await look(server.redis, [fn], back + GRACE);
    expect(await marked()).toBe(1);
  });

  it('gives holders time after an outage though no call had noted their lease: a leader has seen it', async () => {
    await server.redis.del(`recovery:${fn}`);
    await look(server.redis, [fn], NOW + 1000);
    const back = NOW + 10 * LEASE;
    for (let at = back; at < back + 2500; at += 1000) await look(server.redis, [fn], at);
    expect(await marked()).toBe(0);
    for (let at = back + 3000; at < back + 5000; at += 1000) expect(await ask(at)).toEqual([]);
    expect(await ask(back + 5000)).toEqual(['1']);
  });

  describe('of workers that poll less often than a quarter of the shortest lease', () => {
    const POLL = 5000;
    const POLLS = 12;
    const polled = NOW + POLLS * POLL;

    const poll = async (now: number) => {
      const calls = { lease: 4 * POLL, recover: POLL, maxStalls: 100 };
      return (await claim(server.redis, fn, { now, ...calls })).claims.map(({ id }) => id);
    };
    const hold = (until: number) => server.redis.zadd(keysOf(fn).leases, until, '1:1');

    it('gives jobs of dead workers back with the first poll after their leases', async () => {
      const ended = NOW + 4 * POLL;
      await hold(ended);
      for (let at = NOW + POLL; at < ended; at += POLL) expect(await poll(at)).toEqual([]);
      expect(await poll(ended)).toEqual(['1']);
    });

    it('gives holders time after an outage, however long they polled before', async () => {
      await hold(polled + 4 * POLL);
      for (let at = NOW + POLL; at <= polled; at += POLL) expect(await poll(at)).toEqual([]);
      expect(await poll(polled + 8 * POLL)).toEqual([]);
    });

    it('gives holders of a shorter lease time after an outage that is shorter than a poll', async () => {
      await hold(NOW + POLL + LEASE);
      for (const at of [NOW + POLL, NOW + POLL + 6001]) expect(await poll(at)).toEqual([]);
      await server.redis.zadd(keysOf(fn).leases, 1, '1:1');
      expect(await poll(NOW + POLL + 6001 + 2000)).toEqual([]);
    });

    it('has their leader wake one with its first look after the leases of dead ones', async () => {
      const ended = NOW + 4 * POLL;
      await hold(ended);
      for (let at = NOW + POLL; at < ended; at += POLL) await look(server.redis, [fn], at, '', 0, POLL);
      expect(await marked()).toBe(0);
      await look(server.redis, [fn], ended, '', 0, POLL);
      expect(await marked()).toBe(1);
    });

    it('counts the looks of their leader', async () => {
      await hold(polled + 4 * POLL);
      for (let at = NOW + POLL; at <= polled; at += POLL) await look(server.redis, [fn], at, '', 0, POLL);
      await look(server.redis, [fn], polled + 8 * POLL, '', 0, POLL);
      expect(await marked()).toBe(0);
    });
  });

  it('lets a leader find the leases of workers of an earlier version, which note no looks', async () => {
    await server.redis.del(`recovery:${fn}`);
    await look(server.redis, [fn], NOW + LEASE);
    expect(await marked()).toBe(1);
  });

  it('is not disturbed by what another program wrote under its key', async () => {
    await server.redis.del(`recovery:${fn}`);
    await server.redis.hset(`recovery:${fn}`, 'a', 'b');
    expect(await ask(NOW + LEASE)).toEqual(['1']);
    expect(await server.redis.type(`recovery:${fn}`)).toBe('string');
  });
});
