import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RefusedError } from '../../lib/index.js';
import { eventually, until } from '../support/until.js';
import { HELD, RESUME_BOUND_MS, figure, statuses, timeToRun, useOutage, work } from './outage-rig.js';
import { onThisMachine } from '../support/machine.js';

describe('a server that is out of memory', () => {
  const outage = useOutage();

  it('refuses an enqueue at once, and its worker resumes when there is memory again', async () => {
    const worker = await outage.actor();
    const held = await worker.client.run(work, HELD);
    await eventually(() => expect(worker.runs).toHaveLength(1));
    await outage.redis.config('SET', 'maxmemory-policy', 'noeviction');
    await outage.redis.config('SET', 'maxmemory', '1mb');
    const since = performance.now();
    await expect(worker.client.run(work, 'x')).rejects.toThrow(RefusedError);
    await expect(worker.client.run(work, 'x')).rejects.toThrow('OOM');
    figure('out of memory: two enqueues are refused', performance.now() - since);
    expect(performance.now() - since).toBeLessThan(onThisMachine(1000));
    worker.letGo();

    await outage.redis.config('SET', 'maxmemory', '0');
    figure('out of memory: worker resumes', await timeToRun(outage.redis));
    await expect(held.result({ timeout: '30s' })).resolves.toBe('held, done');
    await expect(statuses(outage.redis)).resolves.toEqual({ success: 2 });
    expect(worker.repeated).toEqual([]);
    await until(() => worker.health.connected);
  });
});

describe('a server that is loading', () => {
  const KEYS = 4000;
  // A key takes 1 ms, and clients are answered in between.
  const slow = ['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024'];
  const outage = useOutage([...slow, '--appendonly', 'yes', '--appendfsync', 'always']);

  const probes: Redis[] = [];
  afterEach(() => probes.splice(0).forEach((probe) => probe.disconnect()));

  it('is awaited: workers resume, and an enqueue within its deadline succeeds', async () => {
    const worker = await outage.actor({ enqueueTimeout: '20s' });
    await worker.client.call(work, 'before', { timeout: '30s' });
    const ballast = Array.from({ length: KEYS }, (_, key) => [`ballast:${key}`, 'x'.repeat(100)]);
    await outage.redis.mset(Object.fromEntries(ballast));
    await outage.redis.bgrewriteaof();
    await eventually(async () =>
      expect(await outage.redis.info('persistence')).toContain('aof_rewrite_in_progress:0'),
    );
    await outage.server.kill();

    const restarted = outage.server.restart();
    const probe = new Redis(outage.server.url, { enableReadyCheck: false, retryStrategy: () => 20 });
    probe.on('error', () => undefined);
    probes.push(probe);
    await expect(until(() => probe.get('x').catch((error: Error) => error.message))).resolves.toMatch(
      /^LOADING/,
    );
    expect(worker.health.connected).toBe(false);
    const enqueued = worker.client.call(work, 'during', { timeout: '20s' });
    await eventually(async () => expect(await probe.get('x').catch(() => 'loading')).toBe(null), {
      timeout: 20_000,
    });
    const since = performance.now();
    await expect(enqueued).resolves.toBe('during, done');
    figure('LOADING: a call that waited is done', performance.now() - since);
    await restarted;
    const resumed = await timeToRun(probe);
    figure('LOADING: worker resumes', resumed);
    expect(resumed).toBeLessThan(onThisMachine(RESUME_BOUND_MS));
    await expect(statuses(probe)).resolves.toEqual({ success: 3 });
  });
});
