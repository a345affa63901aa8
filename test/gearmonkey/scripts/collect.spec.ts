import { describe, expect, it } from '@jest/globals';
import { collect } from '../../../lib/gearmonkey/core/wire/scripts.js';
import { useRedis } from '../../support/use-redis.js';

const server = useRedis();

describe('collect.lua', () => {
  it('ignores keys of another type', async () => {
    await server.redis.set('wake:string', 'x');
    await server.redis.lpush('wake:list', '1');
    await expect(collect.run(server.redis, ['wake:string', 'wake:list'])).resolves.toEqual([1]);
  });

  it('takes the markers that are set and returns their indexes', async () => {
    await server.redis.lpush('wake:b', '1');
    await server.redis.lpush('wake:d', '1');
    const markers = ['wake:a', 'wake:b', 'wake:c', 'wake:d'];
    await expect(collect.run(server.redis, markers)).resolves.toEqual([1, 3]);
    await expect(collect.run(server.redis, markers)).resolves.toEqual([]);
  });
});
