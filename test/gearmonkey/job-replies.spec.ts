import { describe, expect, it } from '@jest/globals';
import { readProgress, toStored } from '../../lib/gearmonkey/redis-store.js';
import { useRedis } from '../support/use-redis.js';

describe('The progress in the hash of a job', () => {
  const server = useRedis();

  it.each<[string, Record<string, string>, object]>([
    ['there is no such job', {}, { isOver: true }],
    ['it has not begun', { status: 'idle' }, { isOver: false }],
    [
      'it runs on a plain worker',
      { status: 'busy', 'status:dividend': '3', 'status:divisor': '8' },
      { isOver: false, progress: { dividend: 3, divisor: 8, mark: 0 } },
    ],
    [
      'it has succeeded',
      { status: 'success', 'status:dividend': '8', 'status:divisor': '8', mark: '7' },
      { isOver: true, progress: { dividend: 8, divisor: 8, mark: 7 } },
    ],
    ['it has failed', { status: 'error' }, { isOver: true }],
    [
      'its numbers are none',
      { status: 'busy', 'status:dividend': 'x', 'status:divisor': '8' },
      { isOver: false },
    ],
  ])('is read where %s', async (_, hash, expected) => {
    const key = server.fn('job');
    if (Object.keys(hash).length > 0) await server.redis.hset(key, hash);
    await expect(readProgress(server.redis, key)).resolves.toEqual(expected);
  });
});

describe('The hash of a job', () => {
  it('is none without fields', () => {
    expect(toStored({})).toBeUndefined();
    expect(toStored({ status: Buffer.from('idle') })).toEqual(new Map([['status', Buffer.from('idle')]]));
  });
});
