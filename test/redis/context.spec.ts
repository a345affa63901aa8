import { describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

const requests = new AsyncLocalStorage<string>();

describe('a connection that a request opens', () => {
  const server = useRedis();

  it('does not run its later events in the context of that request', async () => {
    const connection = new RedisConnection(server.url, 'commands');
    const seen: unknown[] = [];
    await requests.run('first request', () => connection.ready());
    connection.onReady(() => seen.push(requests.getStore()));
    connection.renew();
    await eventually(() => expect(seen).toHaveLength(2));
    expect(seen).toEqual([undefined, undefined]);
    connection.close();
  });
});
