import * as edits from '../../../lib/gearmonkey/features/edits/edit-scripts.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { DrainedKind } from '../../../lib/gearmonkey/features/edits/edit-store.js';
import { keysOf, type Queue } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { ChannelLog } from '../../conformance/wire.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueue, NOW } from '../scripts/scripts.js';

const server = useRedis();

/** Most jobs that one call ends. */
const STEP = 250;

function drain(fn: string, queue: Queue, last = 1e6, cursor = '0', kind: DrainedKind = '') {
  const { jobs, locks, channel, [queue]: drained } = keysOf(fn);
  return edits.drain.run(server.redis, [jobs, locks, channel, drained], NOW, last, cursor, kind);
}

const waiting = async (fn: string) => (await server.redis.lrange(`queue:${fn}:normal`, 0, -1)).toReversed();
const statusOf = (fn: string, id: string) => server.redis.hget(`job:${fn}:${id}`, 'status');

describe('drain.lua', () => {
  afterEach(() => server.redis.config('SET', 'maxmemory', '0'));

  it('ignores queues of another type', async () => {
    const fn = server.fn();
    await server.redis.set(`queue:${fn}:normal`, 'x');
    await server.redis.set(`queue:${fn}:scheduled`, 'x');
    await expect(drain(fn, 'normal')).resolves.toEqual({ ids: [], cursor: '0' });
    await expect(drain(fn, 'scheduled', 1e6, '0', 'both')).resolves.toEqual({ ids: [], cursor: '0' });
  });

  it('ends jobs as the protocol ends them', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    const log = await ChannelLog.open(server.redis, fn);
    await expect(drain(fn, 'normal')).resolves.toEqual({ ids: ['1', '2'], cursor: '0' });
    await expect(server.redis.hgetall(`job:${fn}:1`)).resolves.toMatchObject({
      status: 'error',
      output: 'drained',
      finished: String(NOW),
      error: '{"name":"JobDrainedError","code":"JOB_DRAINED","message":"drained"}',
    });
    await expect(server.redis.ttl(`job:${fn}:1`)).resolves.toBeGreaterThan(89_000);
    await expect(server.redis.lrange(`lock:${fn}:2`, 0, -1)).resolves.toEqual(['OK']);
    await expect(server.redis.ttl(`lock:${fn}:2`)).resolves.toBeGreaterThan(0);
    await expect(log.close()).resolves.toEqual(['finish:1', 'finish:2']);
  });

  it('drops ids that no worker would run, and does not count them', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b', 'c']);
    await server.redis.hset(`job:${fn}:1`, 'status', 'success');
    await server.redis.set(`job:${fn}:9`, 'x');
    await server.redis.lpush(`queue:${fn}:normal`, '7', '9', 'no number');
    await server.redis.hset(`job:${fn}:2`, 'status', 'busy');
    await expect(drain(fn, 'normal')).resolves.toEqual({ ids: ['3'], cursor: '0' });
    await expect(waiting(fn)).resolves.toEqual(['2']);
    await expect(statusOf(fn, '1')).resolves.toBe('success');
    await expect(statusOf(fn, '2')).resolves.toBe('busy');
  });

  it('ends a bounded number of jobs in a call, the oldest first', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, Array<string>(STEP + 10).fill('a'));
    const { ids, cursor } = await drain(fn, 'normal');
    expect([ids.length, ids[0], cursor]).toEqual([STEP, '1', '1']);
    const rest = await drain(fn, 'normal', 1e6, cursor);
    expect([rest.ids.length, rest.cursor]).toEqual([10, '0']);
  });

  it('ends as many in a call if later jobs are in front', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, Array<string>(3 * STEP).fill('a'));
    const later = Array.from({ length: STEP - 1 }, (_, index) => String(index + 1001));
    await server.redis.rpush(`queue:${fn}:normal`, ...later);
    const { ids, cursor } = await drain(fn, 'normal', 1000);
    expect([ids.length, ids[0], cursor]).toEqual([STEP + 1, '1', '1']);
  });

  it('leaves later jobs in their order, wherever they are', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, Array<string>(600).fill('a'));
    await server.redis.del(`queue:${fn}:normal`);
    const ids = Array.from({ length: 600 }, (_, index) => String(index + 1));
    // Jobs above 300 came after the drain began; those of a worker that died are in front.
    const [old, added] = [ids.slice(0, 300), ids.slice(300)];
    const order = [...added.slice(0, 280), ...old, ...added.slice(280)];
    await server.redis.lpush(`queue:${fn}:normal`, ...order);
    let [cursor, ended]: [string, string[]] = ['0', []];
    do {
      const step = await drain(fn, 'normal', 300, cursor);
      [cursor, ended] = [step.cursor, [...ended, ...step.ids]];
    } while (cursor !== '0');
    expect(ended).toEqual(old);
    await expect(waiting(fn)).resolves.toEqual(added);
  });

  it('chooses among scheduled jobs those that have begun, or have not', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b', 'c'], { queue: 'scheduled', score: 1 });
    await claim(server.redis, fn, { slots: 1 });
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:1', 'retry', '5', '{}'] });
    const step = (kind: DrainedKind, last?: number) => drain(fn, 'scheduled', last, '0', kind);
    await expect(step('scheduled', 2)).resolves.toEqual({ ids: ['2'], cursor: '0' });
    await expect(step('retrying')).resolves.toEqual({ ids: ['1'], cursor: '0' });
    await expect(step('both')).resolves.toEqual({ ids: ['3'], cursor: '0' });
    await expect(server.redis.zcard(`queue:${fn}:scheduled`)).resolves.toBe(0);
  });

  it('scans very many scheduled jobs in bounded steps', async () => {
    const fn = server.fn();
    for (let i = 0; i < 10; i++)
      await enqueue(server.redis, fn, Array<string>(500).fill('a'), { queue: 'scheduled', score: 1 });
    const ended = new Set<string>();
    let [cursor, steps] = ['0', 0];
    do {
      const step = await drain(fn, 'scheduled', 4900, cursor, 'both');
      for (const id of step.ids) ended.add(id);
      expect(step.ids.length).toBeLessThan(2 * STEP);
      [cursor, steps] = [step.cursor, steps + 1];
    } while (cursor !== '0');
    expect(steps).toBeGreaterThan(10);
    expect(ended.size).toBe(4900);
    await expect(server.redis.zcard(`queue:${fn}:scheduled`)).resolves.toBe(100);
  });

  it('needs no memory', async () => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    await enqueue(server.redis, fn, ['c'], { queue: 'scheduled', score: 1 });
    await server.redis.config('SET', 'maxmemory', '1');
    await expect(drain(fn, 'normal', 1)).resolves.toEqual({ ids: ['1'], cursor: '0' });
    await expect(drain(fn, 'scheduled', 3, '0', 'both')).resolves.toEqual({ ids: ['3'], cursor: '0' });
    await expect(waiting(fn)).resolves.toEqual(['2']);
  });
});
