import { describe, expect, it } from '@jest/globals';
import { useRedisServer } from '../../support/use-redis.js';
import { claim, enqueue } from '../scripts/scripts.js';

describe('the list of successes', () => {
  const server = useRedisServer();

  it.each([
    ['before', [1, 2]],
    ['after', [2, 1]],
  ])('has a job whose outcome comes %s one that raises an error', async (_, order) => {
    const fn = server.fn();
    await enqueue(server.redis, fn, ['a', 'b']);
    await claim(server.redis, fn);
    await server.redis.del(`wake:${fn}`);
    // All keys, but one job may only be read.
    const keys = ['lease', 'lock', 'queue', 'wake', 'channel', 'control', 'recovery', 'ended', 'limit'].map(
      (name) => `~${name}:*`,
    );
    keys.push(`~job:${fn}:`, `~job:${fn}:1`, `~job:${fn}:x`, `%R~job:${fn}:2`);
    await server.redis.call('ACL', 'SETUSER', 'app', 'resetkeys', 'on', '>pw', ...keys, '&*', '+@all');
    const user = server.redis.duplicate({ username: 'app', password: 'pw' });
    const outcomes = order.flatMap((id) =>
      id === 1 ? ['1:1', 'success', 'x', ''] : ['2:1', 'released', '', ''],
    );
    await expect(claim(user, fn, { slots: 0, outcomes })).rejects.toThrow(/script: /);
    user.disconnect();
    await expect(claim(server.redis, fn, { slots: 0, outcomes })).resolves.toMatchObject({ refused: [] });
    await expect(server.redis.zrange(`ended:${fn}:success`, '0', '-1')).resolves.toEqual(['1']);
  });
});
