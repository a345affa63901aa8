import { afterAll, beforeAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisServer, type RedisServerOptions } from './redis-server.js';

export interface UsedRedis {
  readonly server: RedisServer;
  readonly url: string;
  /** Connected to the server; closed when the `describe` ends. */
  readonly redis: Redis;
  /** A function name that no other call has given: pub/sub knows no databases, so names keep tests apart. */
  fn(name?: string): string;
}

/**
 * For a `describe`: one private server from its first test to its last. Its properties are there from
 * `beforeAll` on.
 * @param args more of redis-server's command line
 * @param options asked for in `beforeAll`, so that certificates of `useTls` are there
 */
export function useRedis(
  args: readonly string[] = [],
  options: () => RedisServerOptions = () => ({}),
): UsedRedis {
  let started: { server: RedisServer; redis: Redis } | undefined;
  let names = 0;

  beforeAll(async () => {
    const server = await RedisServer.start(args, options());
    started = { server, redis: new Redis(server.url) };
    // A test that stops the server loses this connection too; ioredis connects again by itself.
    started.redis.on('error', () => undefined);
  });

  afterAll(async () => {
    started?.redis.disconnect();
    await started?.server.stop();
  });

  function current() {
    if (!started)
      throw new Error('The server of useRedis() starts in beforeAll: use it inside a test or hook.');
    return started;
  }

  return {
    get server() {
      return current().server;
    },
    get url() {
      return current().server.url;
    },
    get redis() {
      return current().redis;
    },
    fn: (name = 'fn') => `${name}-${++names}`,
  };
}
