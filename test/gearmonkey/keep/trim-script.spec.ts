import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { overview, trim } from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueue, NOW } from '../scripts/scripts.js';

const DAY_MS = 86_400_000;
const KEPT_MS = 90_000_000;

describe('trim', () => {
  const server = useRedis();
  const redis = () => server.redis;
  let fn = '';
  beforeEach(() => void (fn = server.fn()));

  const list = (state: string) => `ended:${fn}:${state}`;
  const run = (now: number, step: number, ...rules: (number | '')[]) => {
    const { jobs, ended, retrying } = keysOf(fn);
    const keys = [jobs, `${ended}success`, `${ended}failed`, `${ended}cancelled`, retrying];
    return trim.run(redis(), keys, now, step, rules);
  };
  /** Jobs that ended one millisecond after the other, from `NOW` on. */
  const ended = async (state: string, count: number) => {
    const status = state === 'success' ? 'success' : 'error';
    const writing = redis().pipeline();
    for (let id = 1; id <= count; id++) {
      writing.hset(`job:${fn}:${id}`, { status, finished: NOW + id });
      writing.zadd(list(state), NOW + id, id);
    }
    await writing.exec();
  };

  it('removes jobs that have expired, a bounded number in each call', async () => {
    await ended('success', 10);
    await expect(run(NOW + KEPT_MS + 5, 3, KEPT_MS, KEPT_MS, '', '')).resolves.toBe(true);
    await expect(redis().zrange(list('success'), '0', '0')).resolves.toEqual(['4']);
    await expect(run(NOW + KEPT_MS + 5, 3, KEPT_MS, KEPT_MS, '', '')).resolves.toBe(false);
    await expect(redis().zrange(list('success'), '0', '0')).resolves.toEqual(['6']);
  });

  it('deletes 10,000 jobs beyond the count in bounded calls, the oldest first', async () => {
    await ended('failed', 10_100);
    let calls = 1;
    while (await run(NOW + 20_000, 500, KEPT_MS, KEPT_MS, '', 100)) calls += 1;
    expect(calls).toBe(21);
    await expect(redis().zrange(list('failed'), '0', '0')).resolves.toEqual(['10001']);
    await expect(redis().exists(`job:${fn}:10000`, `job:${fn}:10001`)).resolves.toBe(1);
  });

  it('leaves jobs beyond the count for five seconds', async () => {
    await ended('failed', 3);
    await run(NOW + 5001, 500, KEPT_MS, KEPT_MS, '', 1);
    await expect(redis().zrange(list('failed'), '0', '-1')).resolves.toEqual(['2', '3']);
    await run(NOW + 5002, 500, KEPT_MS, KEPT_MS, '', 1);
    await expect(redis().zrange(list('failed'), '0', '-1')).resolves.toEqual(['3']);
  });

  it.each([
    ['runs again', { status: 'busy', finished: NOW + 1 }],
    ['waits again', { status: 'idle' }],
    ['has ended again', { status: 'error', finished: NOW + 99 }],
  ])('leaves a job beyond the count that %s', async (_, fields) => {
    await ended('failed', 2);
    await redis().del(`job:${fn}:1`);
    await redis().hset(`job:${fn}:1`, fields);
    await run(NOW + 6000, 500, KEPT_MS, KEPT_MS, '', 1);
    await expect(redis().zrange(list('failed'), '0', '-1')).resolves.toEqual(['2']);
    await expect(redis().exists(`job:${fn}:1`)).resolves.toBe(1);
  });

  it('leaves a job beyond the count that others have not read yet, which then expires soon', async () => {
    await ended('failed', 2);
    await redis().hset(`job:${fn}:1`, { held: 1, kept: 90_000 });
    await run(NOW + 6000, 500, KEPT_MS, KEPT_MS, '', 1);
    await expect(redis().zrange(list('failed'), '0', '-1')).resolves.toEqual(['2']);
    await expect(redis().hget(`job:${fn}:1`, 'kept')).resolves.toBe('60');
  });

  it('leaves a job beyond the count whose end others have not learned of', async () => {
    await ended('failed', 3);
    for (const id of [1, 2]) await redis().hset(`job:${fn}:${id}`, { held: 0, kept: 90_000 });
    await redis().zadd(keysOf(fn).members, 2, '1');
    await run(NOW + 6000, 500, KEPT_MS, KEPT_MS, '', 1);
    await expect(redis().exists(`job:${fn}:1`)).resolves.toBe(1);
    await expect(redis().exists(`job:${fn}:2`)).resolves.toBe(0);
  });

  it('removes retries that are due', async () => {
    const { retrying } = keysOf(fn);
    await redis().zadd(retrying, NOW, '1', NOW + 1, '2');
    await run(NOW, 500, KEPT_MS, KEPT_MS, '', '');
    await expect(redis().zrange(retrying, '0', '-1')).resolves.toEqual(['2']);
  });

  it('has the lists expire an hour after their last job', async () => {
    await ended('success', 1);
    await ended('failed', 1);
    await run(NOW + 10, 500, 60_000, 7 * DAY_MS, '', '');
    await expect(redis().ttl(list('success'))).resolves.toBe(3660);
    await expect(redis().ttl(list('failed'))).resolves.toBe(7 * 86_400 + 3600);
    await expect(redis().exists(list('cancelled'))).resolves.toBe(0);
  });

  it('tells readers of lists whose jobs are kept for longer than 25 hours, until they are not', async () => {
    await ended('failed', 3);
    const failed = async () => {
      const k = keysOf(fn);
      const lists = ['success', 'failed', 'cancelled'].map((state) => k.ended + state);
      const keys = [k.jobs, k.control, k.leases, k.scheduled, k.high, k.normal, k.low, k.retrying];
      const texts = await overview.run(redis(), [...keys, ...lists, k.count, k.workers], later, KEPT_MS);
      return Number(texts[7]);
    };
    const later = NOW + 2 * DAY_MS;
    await run(NOW + 6000, 500, KEPT_MS, 7 * DAY_MS, '', 2);
    await expect(failed()).resolves.toBe(2);
    await run(later, 500, KEPT_MS, 7 * DAY_MS, '', 2);
    await expect(failed()).resolves.toBe(2);
    await run(NOW + 10, 500, KEPT_MS, KEPT_MS, '', '');
    await expect(redis().zrange(list('failed'), '0', '-1')).resolves.toEqual(['2', '3']);
    await expect(failed()).resolves.toBe(0);
  });

  it('goes on when a list or a job has another type', async () => {
    await ended('failed', 3);
    await redis().set(list('success'), 'text');
    await redis().del(`job:${fn}:1`);
    await redis().set(`job:${fn}:1`, 'text');
    await expect(run(NOW + 6000, 500, KEPT_MS, KEPT_MS, 1, 1)).resolves.toBe(false);
    await expect(redis().zrange(list('failed'), '0', '-1')).resolves.toEqual(['3']);
    await expect(redis().exists(`job:${fn}:1`)).resolves.toBe(1);
  });
});

describe('A claim', () => {
  const server = useRedis();

  it('keeps successes and errors as long as it says, and sets when their lists expire', async () => {
    const { redis } = server;
    const fn = server.fn();
    await enqueue(redis, fn, ['a', 'b', 'c']);
    await claim(redis, fn);
    const outcomes = ['1:1', 'success', 'output', '', '2:1', 'error', 'message', '{}'];
    await claim(redis, fn, { slots: 0, outcomes, kept: '120:86400:1' });
    await expect(redis.ttl(`job:${fn}:1`)).resolves.toBe(120);
    await expect(redis.ttl(`job:${fn}:2`)).resolves.toBe(86_400);
    await expect(redis.ttl(`ended:${fn}:success`)).resolves.toBe(90_000);
    await expect(redis.ttl(`ended:${fn}:failed`)).resolves.toBe(90_000);
    await redis.persist(`ended:${fn}:success`);
    await claim(redis, fn, { slots: 0, outcomes: ['3:1', 'success', 'output', ''] });
    await expect(redis.ttl(`ended:${fn}:success`)).resolves.toBe(-1);
    await expect(redis.ttl(`job:${fn}:3`)).resolves.toBe(90_000);
  });
});
