import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ConfigurationError } from '../../lib/job/errors.js';
import { missingCalls, requireRights, type Call } from '../../lib/redis/rights.js';
import { useRedisServer } from '../support/use-redis.js';

const calls: Call[] = [
  ['GET', 'mine'],
  ['SET', 'mine', 'x'],
  ['GET', 'other'],
  ['PUBLISH', 'news', 'x'],
];

describe('The rights of a user', () => {
  const server = useRedisServer();
  let user: Redis;

  beforeEach(() => {
    user = new Redis(server.url, { username: 'app', password: 'pw', lazyConnect: true });
  });
  afterEach(() => user.disconnect());

  /** @param rules beside those that the check itself needs */
  async function allow(...rules: string[]): Promise<void> {
    await server.redis.call(
      'ACL',
      'SETUSER',
      'app',
      'reset',
      'on',
      '>pw',
      '+@connection',
      '+evalsha',
      '+eval',
      ...rules,
    );
  }

  it.each<[string, string[], number[]]>([
    ['all', ['+@all', '~*', '&*'], []],
    ['a key', ['+@all', '~mine', '&*'], [2]],
    ['a command', ['+get', '+publish', '~*', '&*'], [1]],
    ['a channel and a key', ['+@all', '~mine'], [2, 3]],
  ])('are found without making a call: it lacks what is beyond %s', async (_, rules, missing) => {
    await allow(...rules);
    await expect(missingCalls(user, calls)).resolves.toEqual(missing.map((index) => calls[index]));
    await expect(server.redis.exists('mine')).resolves.toBe(0);
  });

  it('are required: a single one that is missing is an error which names it', async () => {
    await allow('+@all', '~*', '&*');
    await expect(requireRights(user, calls, 'a worker')).resolves.toBeUndefined();
    await allow('+@all', '~mine', '&*');
    const required = requireRights(user, calls, 'a worker');
    await expect(required).rejects.toThrow(ConfigurationError);
    await expect(required).rejects.toThrow('no right to what a worker needs: GET other. Grant it');
  });

  it('include that to the check itself', async () => {
    await allow('-evalsha', '-eval');
    await expect(missingCalls(user, calls)).resolves.toEqual([['EVALSHA']]);
  });
});
