import { describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import * as scripts from '../../../lib/gearmonkey/core/wire/scripts.js';
import { ChannelLog } from '../../conformance/wire.js';
import { until } from '../../support/until.js';
import { useRedisServer } from '../../support/use-redis.js';
import { enqueue, LEASE_MS, look, NOW, progress, renew, claim } from './scripts.js';

const server = useRedisServer();

async function claimed(inputs = ['a']): Promise<string> {
  const fn = server.fn();
  await enqueue(server.redis, fn, inputs);
  await claim(server.redis, fn);
  return fn;
}

describe('progress.lua', () => {
  it('refuses a worker that lost the job and writes nothing', async () => {
    const fn = await claimed();
    const log = await ChannelLog.open(server.redis, fn);
    await claim(server.redis, fn, { now: NOW + LEASE_MS });
    for (const member of ['1:1', '1:3', '9:1']) {
      await expect(progress(server.redis, fn, member, 3, 10)).resolves.toBe(false);
    }
    await expect(server.redis.hexists(`job:${fn}:1`, 'status:dividend')).resolves.toBe(0);
    await log.close();
    expect(log.progress).toEqual([]);
  });

  it('writes the fields of the protocol and publishes the progress', async () => {
    const fn = await claimed();
    const log = await ChannelLog.open(server.redis, fn);
    await expect(progress(server.redis, fn, '1:1', 0.5, 10)).resolves.toBe(true);
    await expect(server.redis.hmget(`job:${fn}:1`, 'status:dividend', 'status:divisor')).resolves.toEqual([
      '0.5',
      '10',
    ]);
    await expect(log.close()).resolves.toEqual([]);
    expect(log.progress).toEqual(['1:1:0.5/10']);
  });
});

describe('renew.lua', () => {
  it('returns lost leases and restores none', async () => {
    const fn = await claimed(['a', 'b']);
    await claim(server.redis, fn, { slots: 0, outcomes: ['2:1', 'success', 'x', ''] });
    await expect(renew(server.redis, fn, NOW, ['1:1', '2:1', '1:2', '9:1'])).resolves.toEqual([
      '2:1',
      '1:2',
      '9:1',
    ]);
    await expect(server.redis.zrange(`lease:${fn}`, '0', '-1')).resolves.toEqual(['1:1']);
  });

  it('extends all of them, also for a user who may not note its name in the jobs', async () => {
    const fn = await claimed(['a', 'b']);
    await server.redis.acl('SETUSER', 'lacking', 'reset', 'on', '>x', '+@all', '~*', '&*', '-hset');
    const lacking = server.redis.duplicate({ username: 'lacking', password: 'x' });
    const keys = [keysOf(fn).leases, keysOf(fn).jobs];
    const lost = await scripts.renew.run(lacking, keys, NOW + 70, LEASE_MS, 'worker', ['1:1', '2:1']);
    lacking.disconnect();
    await server.redis.acl('DELUSER', 'lacking');
    expect(lost).toEqual([]);
    for (const member of ['1:1', '2:1'])
      await expect(server.redis.zscore(`lease:${fn}`, member)).resolves.toBe(`${NOW + 70 + LEASE_MS}`);
  });

  it('keeps leases that were renewed in the same millisecond', async () => {
    const fn = await claimed();
    for (let twice = 0; twice < 2; twice++)
      await expect(renew(server.redis, fn, NOW + 70, ['1:1'])).resolves.toEqual([]);
    await expect(server.redis.zscore(`lease:${fn}`, '1:1')).resolves.toBe(`${NOW + 70 + LEASE_MS}`);
  });

  it.each(['zadd', 'zrem'])(
    'keeps leases that it may not renew for lack of a right to %s',
    async (command) => {
      const fn = await claimed();
      const before = await server.redis.zrange(`lease:${fn}`, '0', '-1', 'WITHSCORES');
      await server.redis.acl('SETUSER', 'lacking', 'reset', 'on', '>x', '+@all', '~*', '&*', `-${command}`);
      const lacking = server.redis.duplicate({ username: 'lacking', password: 'x' });
      await expect(renew(lacking, fn, NOW + 70, ['1:1'])).rejects.toThrow(/NOPERM|can't run/);
      lacking.disconnect();
      await expect(server.redis.zrange(`lease:${fn}`, '0', '-1', 'WITHSCORES')).resolves.toEqual(before);
    },
  );

  it('extends from now', async () => {
    const fn = await claimed();
    await expect(renew(server.redis, fn, NOW + 70, ['1:1'])).resolves.toEqual([]);
    await expect(server.redis.zscore(`lease:${fn}`, '1:1')).resolves.toBe(`${NOW + 70 + LEASE_MS}`);
  });

  it('extends from the time of the server, to the millisecond, unless it is told the time', async () => {
    const fn = await claimed();
    const time = async () => {
      const [seconds = 0, micros = 0] = await server.redis.time();
      return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    };
    const before = await time();
    const { leases, jobs } = keysOf(fn);
    await scripts.renew.run(server.redis, [leases, jobs], '', LEASE_MS, '', ['1:1']);
    const expiry = Number(await server.redis.zscore(leases, '1:1'));
    expect(expiry - LEASE_MS).toBeGreaterThanOrEqual(before);
    expect(expiry - LEASE_MS).toBeLessThanOrEqual(await time());
  });

  it('extends a lease that has ended but was not recovered', async () => {
    const fn = await claimed();
    await expect(renew(server.redis, fn, NOW + 2 * LEASE_MS, ['1:1'])).resolves.toEqual([]);
    await expect(claim(server.redis, fn, { now: NOW + 2 * LEASE_MS })).resolves.toMatchObject({ claims: [] });
  });
});

describe('recovery of a suspect', () => {
  const stallsOf = (fn: string) => server.redis.hmget(`job:${fn}:1`, 'status', 'stalls', 'output');

  it('does not count the loss of its worker while it waits to run alone', async () => {
    const fn = await claimed();
    await server.redis.hset(`job:${fn}:1`, { stalls: 2, isolated: '1:0' });
    await claim(server.redis, fn, { now: NOW + LEASE_MS, slots: 0, maxStalls: 2 });
    await expect(stallsOf(fn)).resolves.toEqual(['idle', '2', null]);
  });

  it('does not count the attempt either, which no handler has run', async () => {
    const fn = await claimed();
    await server.redis.hset(`job:${fn}:1`, { stalls: 2, attempts: 3, isolated: '1:0' });
    // Lost again and again, as in an outage: its one attempt is still to come.
    for (const token of [2, 3]) {
      const now = NOW + token * LEASE_MS;
      const { claims } = await claim(server.redis, fn, { now, maxStalls: 2 });
      expect(claims).toMatchObject([{ token, attempts: 3, stalls: 2 }]);
      await server.redis.hset(`job:${fn}:1`, { isolated: `${token}:0` });
    }
  });

  it('counts it once it has begun, and says that it ran alone', async () => {
    const fn = await claimed();
    await server.redis.hset(`job:${fn}:1`, { stalls: 2, isolated: '1:1' });
    await claim(server.redis, fn, { now: NOW + LEASE_MS, slots: 0, maxStalls: 2 });
    const text = 'stalled: the worker died or lost its lease 3 times, the last time while it ran alone';
    await expect(stallsOf(fn)).resolves.toEqual(['error', '3', text]);
  });

  it('counts it for a later claim', async () => {
    const fn = await claimed();
    await server.redis.hset(`job:${fn}:1`, { stalls: 1, isolated: '0:0' });
    await claim(server.redis, fn, { now: NOW + LEASE_MS, slots: 0, maxStalls: 2 });
    await expect(stallsOf(fn)).resolves.toEqual(['idle', '2', null]);
  });
});

describe('look.lua', () => {
  const woken = async (fn: string) => (await server.redis.llen(`wake:${fn}`)) === 1;
  const alone = (wait: number) => ({ wait, leads: false, plain: false, tick: -1, flows: false });

  it('ignores keys of the wrong type', async () => {
    const fn = server.fn();
    for (const key of ['scheduled', 'high', 'normal', 'low'])
      await server.redis.set(`queue:${fn}:${key}`, 'x');
    await expect(look(server.redis, [fn])).resolves.toEqual([alone(-1)]);
    await expect(woken(fn)).resolves.toBe(false);
  });

  it('wakes no worker without a job', async () => {
    const fn = server.fn();
    await expect(look(server.redis, [fn])).resolves.toEqual([alone(-1)]);
    await expect(woken(fn)).resolves.toBe(false);
  });

  it.each(['high', 'normal', 'low'])('wakes one worker once for a job in %s', async (queue) => {
    const fn = server.fn();
    await server.redis.lpush(`queue:${fn}:${queue}`, '1', '2');
    await look(server.redis, [fn]);
    await look(server.redis, [fn]);
    await expect(woken(fn)).resolves.toBe(true);
  });

  it('returns the time until the next scheduled job, and wakes a worker when it is due', async () => {
    const fn = server.fn();
    await server.redis.zadd(`queue:${fn}:scheduled`, (NOW + 250) / 1000, '1');
    await expect(look(server.redis, [fn])).resolves.toEqual([alone(250)]);
    await expect(woken(fn)).resolves.toBe(false);
    await expect(look(server.redis, [fn], NOW + 250)).resolves.toEqual([alone(0)]);
    await expect(woken(fn)).resolves.toBe(true);
  });

  it('returns no time for jobs that wait for others', async () => {
    const fn = server.fn();
    await server.redis.zadd(`queue:${fn}:scheduled`, 9_000_000_000, '1');
    await expect(look(server.redis, [fn])).resolves.toEqual([alone(-1)]);
  });

  it('returns the time until the next tick of a schedule', async () => {
    const fn = server.fn();
    await server.redis.zadd(`ticks:${fn}`, NOW + 250, 'daily');
    for (const [later, tick] of [
      [0, 250],
      [249, 1],
      [250, 0],
      [999, 0],
    ] as const)
      await expect(look(server.redis, [fn], NOW + later)).resolves.toEqual([{ ...alone(-1), tick }]);
    await expect(woken(fn)).resolves.toBe(false);
  });

  it('wakes a worker when a lease has ended', async () => {
    const fn = await claimed();
    await server.redis.del(`wake:${fn}`);
    await look(server.redis, [fn], NOW + LEASE_MS - 1);
    await expect(woken(fn)).resolves.toBe(false);
    await look(server.redis, [fn], NOW + LEASE_MS);
    await expect(woken(fn)).resolves.toBe(true);
  });

  it('checks several functions independently', async () => {
    const [idle, busy] = [server.fn(), server.fn()];
    await server.redis.lpush(`queue:${busy}:low`, '1');
    await server.redis.zadd(`queue:${idle}:scheduled`, NOW / 1000 + 1, '1');
    await expect(look(server.redis, [idle, busy])).resolves.toEqual([alone(1000), alone(-1)]);
    await expect(Promise.all([woken(idle), woken(busy)])).resolves.toEqual([false, true]);
  });

  it('makes one worker the leader until its time is over', async () => {
    const fn = server.fn();
    const leads = async (worker: string, hold?: number) =>
      (await look(server.redis, [fn], NOW, worker, hold))[0]?.leads;
    await expect(leads('one', 60_000)).resolves.toBe(true);
    await expect(leads('other', 60_000)).resolves.toBe(false);
    await expect(leads('one', 1)).resolves.toBe(true);
    await until(() => leads('other'));
  });

  it('has another leader after the leader has signed off', async () => {
    const fn = server.fn();
    await look(server.redis, [fn], NOW, 'one', 60_000);
    await look(server.redis, [fn], NOW, 'other', 0);
    await expect(server.redis.get(`leader:${fn}`)).resolves.toBe('one');
    await look(server.redis, [fn], NOW, 'one', 0);
    await expect(server.redis.exists(`leader:${fn}`)).resolves.toBe(0);
  });

  it('reports jobs of plain clients only to the leader', async () => {
    const [plain, ours] = [server.fn(), server.fn()];
    await server.redis.set(`plain:${plain}`, '1');
    const led = (await look(server.redis, [plain, ours], NOW, 'one', 60_000)).map((each) => each.plain);
    expect(led).toEqual([true, false]);
    await expect(look(server.redis, [plain], NOW, 'other', 60_000)).resolves.toEqual([alone(-1)]);
    await expect(look(server.redis, [plain])).resolves.toEqual([alone(-1)]);
  });

  it('replaces a leader that would lead for minutes, since the clock of the server went back and it died', async () => {
    const fn = server.fn();
    await server.redis.set(`leader:${fn}`, 'dead', 'PX', 600_000);
    await look(server.redis, [fn], NOW, 'alive');
    await expect(server.redis.get(`leader:${fn}`)).resolves.toBe('alive');
    expect(await server.redis.pttl(`leader:${fn}`)).toBeLessThanOrEqual(3000);
  });

  it('replaces a leader key of another type or without an expiry', async () => {
    const [list, endless] = [server.fn(), server.fn()];
    await server.redis.lpush(`leader:${list}`, 'x');
    await server.redis.set(`leader:${endless}`, 'x');
    const led = (await look(server.redis, [list, endless], NOW, 'one')).map(({ leads }) => leads);
    expect(led).toEqual([true, true]);
  });

  it('removes a marker of another type', async () => {
    const [one, other] = [server.fn(), server.fn()];
    await server.redis.set(`wake:${one}`, 'x');
    await look(server.redis, [other, one]);
    await expect(server.redis.exists(`wake:${one}`)).resolves.toBe(0);
  });

  it('wakes no worker if the caller does not lead', async () => {
    const fn = server.fn();
    await look(server.redis, [fn], NOW, 'one', 60_000);
    await server.redis.lpush(`queue:${fn}:normal`, '1');
    await look(server.redis, [fn], NOW, 'other', 60_000);
    await expect(woken(fn)).resolves.toBe(false);
    await look(server.redis, [fn], NOW, 'one', 60_000);
    await expect(woken(fn)).resolves.toBe(true);
  });
});
