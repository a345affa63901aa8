import { afterAll, beforeAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisServer, type RedisServerOptions } from './redis-server.js';
import { shareRedis } from './shared-redis.js';

/** What a `describe` uses from its first test to its last; its properties are there from `beforeAll` on. */
export interface UsedRedis {
  readonly url: string;
  readonly port: number;
  /** Connected to the server; closed when the `describe` ends. */
  readonly redis: Redis;
  /** A function name that no other call has given: pub/sub knows no databases, so names keep tests apart. */
  fn(name?: string): string;
}

export interface UsedRedisServer extends UsedRedis {
  readonly server: RedisServer;
}

/** For a `describe` that takes the server as it is: the one that this Jest worker's suites share, emptied. */
export function useRedis(): UsedRedis {
  return used(async () => {
    const { redis, url, port, release } = await shareRedis();
    return { redis, url, port, end: release };
  });
}

/**
 * For a `describe` that changes settings or users of the server, or stops it: a private one.
 * @param args more of redis-server's command line
 * @param options asked for in `beforeAll`, so that certificates of `useTls` are there
 */
export function useRedisServer(
  args: readonly string[] = [],
  options: () => RedisServerOptions = () => ({}),
): UsedRedisServer {
  let server: RedisServer | undefined;
  const redis = used(async () => {
    const started = (server = await RedisServer.start(args, options()));
    const connection = new Redis(started.url);
    // A test that stops the server loses this connection too; ioredis connects again by itself.
    connection.on('error', () => undefined);
    const end = async () => {
      connection.disconnect();
      await started.stop();
    };
    return { redis: connection, url: started.url, port: started.port, end };
  });
  return Object.defineProperties(redis, {
    server: { get: () => server ?? fail() },
  }) as UsedRedisServer;
}

function used(start: () => Promise<Omit<UsedRedis, 'fn'> & { end: () => Promise<void> }>): UsedRedis {
  let started: Awaited<ReturnType<typeof start>> | undefined;
  let names = 0;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(() => started?.end());
  return {
    get url() {
      return (started ?? fail()).url;
    },
    get port() {
      return (started ?? fail()).port;
    },
    get redis() {
      return (started ?? fail()).redis;
    },
    fn: (name = 'fn') => `${name}-${++names}`,
  };
}

function fail(): never {
  throw new Error('The server starts in beforeAll: use it inside a test or hook.');
}
