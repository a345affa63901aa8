import { afterEach, describe, expect, it } from '@jest/globals';
import { claimOne } from '../contract/claiming.js';
import { until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

describe('The server notes how long leases are', () => {
  const server = useRedisServer();
  let actors: RedisActors | undefined;
  afterEach(() => actors?.close());

  it('with the first job that it gives away, also if the line breaks under the first call', async () => {
    const [fn, opened] = [server.fn(), (actors = new RedisActors(server.url))];
    const source = opened.source();
    await source.open([fn]);
    await opened.client().run(fn, 1);
    await server.redis.client('PAUSE', 60_000, 'WRITE');
    const claim = claimOne(source, fn);
    await until(async () => /cmd=evalsha/.test(String(await server.redis.client('LIST'))));
    await server.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await server.redis.client('UNPAUSE');
    await claim;
    // A leader would note it within a second.
    await expect(server.redis.exists(`recovery:${fn}`)).resolves.toBe(1);
    await source.close();
  });
});
