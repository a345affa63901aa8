import type { Redis } from 'ioredis';
import { RedisStore, type RedisStoreOptions } from '../gearmonkey/redis-store.js';
import { RedisSource } from '../gearmonkey/redis-source.js';
import type { RedisSourceOptions } from '../gearmonkey/core/source/source-options.js';
import { ChannelHub } from '../redis/channel-hub.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { systemClock } from '../job/clock.js';
import type { Health } from '../job/health.js';
import { EmbeddedClient } from './embedded-client.js';
import { EmbeddedServer } from './embedded-server.js';

const SYSTEM = 'memory';
/** No command waits for a server. */
const TIMEOUT_MS = 5000;

const named = new Map<string, EmbeddedServer>();

/** `memory:` makes a server for this caller alone; `memory:NAME` is shared by all callers in this process. */
export function embeddedServer(url: string): EmbeddedServer {
  const name = url.slice('memory:'.length);
  const server = named.get(name) ?? new EmbeddedServer(systemClock);
  if (name !== '') named.set(name, server);
  return server;
}

/** A connection to an embedded server. */
export class EmbeddedConnection extends RedisConnection {
  constructor(server: EmbeddedServer, role: string) {
    // It has what this package uses of ioredis.
    super(() => new EmbeddedClient(server) as unknown as Redis, role);
    // Nothing can go wrong while it connects.
    this.open();
  }

  override get address(): string {
    return 'memory:';
  }
}

/** Jobs of an embedded server, which is always there. */
export class EmbeddedSource extends RedisSource {
  override health(): Health {
    return { connected: true, server: this.address };
  }
}

/** The client's and the worker's side of GearMonkey on an embedded server. */
export interface Embedded {
  readonly store: RedisStore;
  readonly source: RedisSource;
  /** Closes what store and source don't close. */
  close(): void;
}

/** Leases are renewed from this thread: all workers live in it. */
export function openEmbedded(
  server: EmbeddedServer,
  options: RedisSourceOptions & Partial<RedisStoreOptions> = {},
): Embedded {
  const { close, ...connections } = embeddedConnections(server);
  const { commands, hub } = connections;
  return {
    store: new RedisStore(commands, hub, { timeout: TIMEOUT_MS, ...options, system: SYSTEM }),
    source: new EmbeddedSource(connections, { ...options, system: SYSTEM }),
    close,
  };
}

/** The connections of an instance to an embedded server. */
export function embeddedConnections(server: EmbeddedServer) {
  const blocking = new EmbeddedConnection(server, 'blocking');
  return {
    commands: new EmbeddedConnection(server, 'commands'),
    blocking,
    hub: new ChannelHub(new EmbeddedConnection(server, 'subscriber')),
    keeper: undefined,
    close: () => blocking.close(),
  };
}
