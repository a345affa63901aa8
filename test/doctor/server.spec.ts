import { afterEach, describe, expect, it } from '@jest/globals';
import { Examination } from '../../lib/gearmonkey/core/examination.js';
import { checkServer } from '../../lib/doctor/server-checks.js';
import { useRedisServer } from '../support/use-redis.js';

describe('The doctor’s look at a server', () => {
  const redis = useRedisServer(['--appendonly', 'yes']);
  const set = async (settings: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(settings)) await redis.redis.config('SET', name, value);
  };
  const found = () => checkServer(new Examination(redis.redis));
  afterEach(() => set({ maxmemory: '0', 'maxmemory-policy': 'noeviction' }));

  it('finds nothing on one that is well set up', async () => {
    expect(await found()).toEqual([]);
  });

  it('takes eviction for an error where memory is bounded', async () => {
    await set({ 'maxmemory-policy': 'allkeys-lru' });
    expect(await found()).toEqual([expect.objectContaining({ code: 'EVICTION', severity: 'warning' })]);
    await set({ maxmemory: '1gb' });
    expect(await found()).toEqual([expect.objectContaining({ code: 'EVICTION', severity: 'error' })]);
  });

  it('finds memory that is almost full', async () => {
    const used = Number(/used_memory:(\d+)/.exec(await redis.redis.info('memory'))?.[1]);
    await set({ maxmemory: String(used * 2) });
    expect(await found()).toEqual([]);
    await set({ maxmemory: String(Math.round(used * 1.02)) });
    expect(await found()).toEqual([expect.objectContaining({ code: 'MEMORY' })]);
  });
});

describe('The doctor’s look at a server without an append-only file', () => {
  const redis = useRedisServer();

  it('says what is lost with the server', async () => {
    const found = () => checkServer(new Examination(redis.redis));
    const losing = (what: string) => [
      expect.objectContaining({ code: 'PERSISTENCE', title: expect.stringContaining(what) }),
    ];
    await redis.redis.config('SET', 'save', '3600 1');
    expect(await found()).toEqual(losing('since its last snapshot'));
    await redis.redis.config('SET', 'save', '');
    expect(await found()).toEqual(losing('all jobs are lost'));
  });
});
