import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { expire } from '../../../lib/gearmonkey/core/wire/scripts.js';
import { useRedis } from '../../support/use-redis.js';
import { claim, enqueue, NOW } from './scripts.js';

describe('expire.lua', () => {
  const server = useRedis();
  let fn = '';
  beforeEach(async () => {
    fn = server.fn();
    await enqueue(server.redis, fn, ['a'], { options: `{"expires":${NOW + 50}}`, mark: 7_000_000 });
  });

  const run = (now: number, mark: number | '' = '') => {
    const { jobs, locks, channel } = keysOf(fn);
    return expire.run(server.redis, [jobs, locks, channel], now, '1', mark);
  };
  const status = () => server.redis.hget(`job:${fn}:1`, 'status');

  it('returns how long the job may still wait, and ends it then', async () => {
    await expect(run(NOW + 49)).resolves.toBe(1);
    await expect(status()).resolves.toBe('idle');
    await expect(run(NOW + 50)).resolves.toBe(0);
    await expect(server.redis.hmget(`job:${fn}:1`, 'status', 'queued')).resolves.toEqual(['error', '1']);
    await expect(run(NOW + 50)).resolves.toBe(0);
  });

  it('says that what follows has to be done, once, when it ends a job that others wait for', async () => {
    await server.redis.zadd(`queue:${fn}:flows`, 1, '1');
    await expect(run(NOW + 50)).resolves.toBe(-2);
    await expect(server.redis.zscore(`queue:${fn}:flows`, '1')).resolves.toBe('2');
    await expect(run(NOW + 50)).resolves.toBe(0);
  });

  it('leaves a job that runs, or that has been begun', async () => {
    await claim(server.redis, fn);
    await expect(run(NOW + 50)).resolves.toBe(-1);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:7000001', 'retry', '5', '{}'] });
    await expect(run(NOW + 50)).resolves.toBe(-1);
    await expect(status()).resolves.toBe('idle');
  });

  it('leaves a job that a plain worker runs', async () => {
    await server.redis.hset(`job:${fn}:1`, 'status', 'busy');
    await expect(run(NOW + 50)).resolves.toBe(-1);
    await expect(status()).resolves.toBe('busy');
  });

  it('ends a job that was begun only to be released', async () => {
    await claim(server.redis, fn);
    await claim(server.redis, fn, { slots: 0, outcomes: ['1:7000001', 'released', '', ''] });
    await expect(run(NOW + 50)).resolves.toBe(0);
  });

  it('leaves another job that got the id after a failover', async () => {
    await expect(run(NOW + 50, 8_000_000)).resolves.toBe(-1);
    await expect(status()).resolves.toBe('idle');
    await expect(run(NOW + 50, 7_000_000)).resolves.toBe(0);
  });
});
