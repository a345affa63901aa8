import * as edits from '../../../lib/gearmonkey/features/edits/edit-scripts.js';
import { describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueue, LEASE_MS, look, NOW } from './scripts.js';

const server = useRedis();

function pause(fn: string, paused = true, now = NOW) {
  const { control, scheduled, high, normal, low, wake } = keysOf(fn);
  const keys = [control, scheduled, high, normal, low, wake];
  return edits.pause.run(server.redis, keys, now, paused ? 1 : 0);
}

const marked = async (fn: string) => (await server.redis.llen(`wake:${fn}`)) === 1;

describe('pause.lua', () => {
  it('refuses a key of another type, and writes nothing', async () => {
    const fn = server.fn();
    await server.redis.set(`control:${fn}`, 'x');
    await expect(pause(fn)).rejects.toThrow('WRONGTYPE');
    await expect(pause(fn, false)).rejects.toThrow('WRONGTYPE');
    await expect(server.redis.get(`control:${fn}`)).resolves.toBe('x');
  });

  it('notes since when the function is paused, and changes nothing of a paused one', async () => {
    const fn = server.fn();
    await expect(pause(fn)).resolves.toBe(true);
    await expect(pause(fn, true, NOW + 1)).resolves.toBe(false);
    await expect(server.redis.hgetall(`control:${fn}`)).resolves.toEqual({ paused: String(NOW) });
  });

  it('removes its field only', async () => {
    const fn = server.fn();
    await server.redis.hset(`control:${fn}`, 'other', 'x');
    await pause(fn);
    await expect(pause(fn, false)).resolves.toBe(true);
    await expect(pause(fn, false)).resolves.toBe(false);
    await expect(server.redis.hgetall(`control:${fn}`)).resolves.toEqual({ other: 'x' });
  });

  it('leaves no key of a resumed function', async () => {
    const fn = server.fn();
    await pause(fn);
    await pause(fn, false);
    await expect(server.redis.keys(`*${fn}*`)).resolves.toEqual([]);
  });

  it('publishes each change', async () => {
    const fn = server.fn();
    const subscriber = server.redis.duplicate();
    const heard: string[] = [];
    await subscriber.subscribe(`control:${fn}`);
    subscriber.on('message', (_, message: string) => heard.push(message));
    for (const paused of [true, true, false, false]) await pause(fn, paused);
    await subscriber.ping();
    subscriber.disconnect();
    expect(heard).toEqual(['paused', 'resumed']);
  });

  it.each(['high', 'normal', 'low', 'scheduled'] as const)(
    'wakes one worker on resuming for a job in %s',
    async (queue) => {
      const fn = server.fn();
      await pause(fn);
      await enqueue(server.redis, fn, ['a'], { queue, score: queue === 'scheduled' ? NOW : '' });
      await server.redis.del(`wake:${fn}`);
      await pause(fn, false);
      await pause(fn, false);
      await expect(marked(fn)).resolves.toBe(true);
    },
  );

  it('needs no memory', async () => {
    const fn = server.fn();
    await server.redis.lpush(`queue:${fn}:normal`, '1');
    await server.redis.config('SET', 'maxmemory', '1');
    await expect(pause(fn)).resolves.toBe(true);
    await expect(pause(fn, false)).resolves.toBe(true);
    await server.redis.config('SET', 'maxmemory', '0');
    await expect(marked(fn)).resolves.toBe(true);
  });
});

describe('claim.lua of a paused function', () => {
  it('claims nothing, settles outcomes, recovers expired leases, and expects nothing', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b', 'c']);
    await claim(server.redis, fn, { slots: 2 });
    await pause(fn);
    const reply = await claim(server.redis, fn, {
      now: NOW + LEASE_MS,
      outcomes: ['1:1', 'success', 'x', ''],
    });
    expect(reply).toEqual({
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
    await expect(server.redis.hget(`job:${fn}:1`, 'status')).resolves.toBe('success');
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['3', '2']);
    await pause(fn, false);
    const { claims } = await claim(server.redis, fn, { now: NOW + LEASE_MS });
    expect(claims.map(({ id }) => id)).toEqual(['2', '3']);
  });

  it('takes a control key of another type for a function that is not paused', async () => {
    const fn = server.fn();
    await server.redis.set(`control:${fn}`, 'x');
    await enqueue(server.redis, fn, ['a']);
    await expect(claim(server.redis, fn)).resolves.toMatchObject({ claims: [{ id: '1' }] });
  });
});

describe('look.lua of a paused function', () => {
  it('wakes no worker for its jobs, and does for an expired lease', async () => {
    const [fn, other] = [server.fn(), server.fn()];
    await enqueue(server.redis, fn, ['a', 'b']);
    await enqueue(server.redis, fn, ['due'], { queue: 'scheduled', score: NOW / 1000 });
    await claim(server.redis, fn, { slots: 1 });
    await pause(fn);
    await server.redis.lpush(`queue:${other}:normal`, '1');
    await server.redis.del(`wake:${fn}`);
    const unwoken = await look(server.redis, [fn, other]);
    expect(unwoken.map(({ wait }) => wait)).toEqual([-1, -1]);
    await expect(Promise.all([marked(fn), marked(other)])).resolves.toEqual([false, true]);
    await look(server.redis, [fn, other], NOW + LEASE_MS);
    await expect(marked(fn)).resolves.toBe(true);
  });
});
