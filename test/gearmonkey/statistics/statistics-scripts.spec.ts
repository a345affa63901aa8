import { describe, expect, it } from '@jest/globals';
import { LUA } from '../../../lib/gearmonkey/core/wire/lua.embedded.js';
import { scriptsIn } from '../../../lib/redis/script.js';
import { useRedis } from '../../support/use-redis.js';

const statistics = scriptsIn(LUA)<[now: number, seconds: number, counts: (string | number)[]], void>(
  'statistics',
  () => undefined,
);

describe('statistics.lua', () => {
  const server = useRedis();

  it('adds to the minute and to the hour, which expires', async () => {
    const at = (hour: number, minute: number) => hour * 3_600_000 + minute * 60_000;
    const add = (now: number, counts: (string | number)[]) =>
      statistics.run(server.redis, ['s:'], now, 7200, counts);
    await add(at(7, 5), ['success', 3, 'failed', 1]);
    await add(at(7, 59), ['success', 4]);
    await add(at(8, 0), ['success', 5]);
    await expect(server.redis.hgetall('s:7')).resolves.toEqual({
      '5:success': '3',
      '59:success': '4',
      ':success': '7',
      '5:failed': '1',
      ':failed': '1',
    });
    await expect(server.redis.hgetall('s:8')).resolves.toEqual({ '0:success': '5', ':success': '5' });
    await expect(server.redis.ttl('s:7')).resolves.toBe(7200);
  });
});
