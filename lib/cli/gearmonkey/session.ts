import { GearMonkeyClient } from '../../gearmonkey/client.js';
import { RedisStore } from '../../gearmonkey/redis-store.js';
import { openConnections } from '../../gearmonkey/redis-connections.js';
import type { KeysOf } from '../../gearmonkey/core/wire/protocol.js';
import type { CodecName } from '../../job/codec.js';
import { messageOf } from '../../job/errors.js';
import { checkSpec } from '../../redis/check-spec.js';
import { redisOptions } from '../../redis/connect.js';
import type { RedisConnection } from '../../redis/redis-connection.js';

const DEFAULT_URL = 'redis://127.0.0.1:6379';
/** A server that refuses connections for so long is down. */
const SOON_MS = 2_000;
/** A server, or this machine, may be slow. */
const PATIENCE_MS = 30_000;
const IS_DOWN = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT/;

/** Flags that every command has. */
export interface ConnectionFlags {
  readonly redis?: string | undefined;
  readonly hashTag?: true;
  readonly codec?: CodecName;
}

/** A client and its connections, opened when they are first needed. */
export interface Session {
  readonly client: GearMonkeyClient;
  readonly connection: RedisConnection;
  readonly keysOf: KeysOf;
  close(): Promise<void>;
}

/** The server that a command asks, checked. @throws ConfigurationError that never shows the URL, which may hold a password */
export function redisUrl({ redis }: Pick<ConnectionFlags, 'redis'>): string {
  const url = redis ?? process.env['REDIS_URL'] ?? DEFAULT_URL;
  checkSpec(url);
  return url;
}

/** @throws ConfigurationError that never shows the URL, which may hold a password */
export function openSession({ redis, hashTag = undefined, codec }: ConnectionFlags): Session {
  const url = redisUrl({ redis });
  // ioredis' check needs the right to INFO, and warns on the console without it.
  const spec = { ...redisOptions(url), enableReadyCheck: false };
  const { keysOf, close, ...connections } = openConnections(spec, hashTag === true);
  const onProblem = (message: string) => void process.stderr.write(`${message}\n`);
  const stored = { timeout: PATIENCE_MS, keysOf, onProblem };
  const store = new RedisStore(connections.commands, connections.hub, stored);
  const client = new GearMonkeyClient(store, codec === undefined ? {} : { codec });
  return {
    client,
    keysOf,
    connection: connections.commands,
    close: async () => {
      await client.close();
      close();
    },
  };
}

/** @throws ConnectionError soon if there is no server, and later if it does not answer */
export async function reachServer(connection: RedisConnection): Promise<void> {
  try {
    await connection.reach(SOON_MS);
  } catch (error) {
    if (IS_DOWN.test(messageOf(error)) || !/no connection within|did not answer/.test(messageOf(error)))
      throw error;
    await connection.reach(PATIENCE_MS);
  }
}
