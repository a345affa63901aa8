import type { OnApplicationShutdown } from '@nestjs/common';
import { GearMonkeyClient } from '../gearmonkey/client.js';
import { RedisSource } from '../gearmonkey/redis-source.js';
import { RedisStore } from '../gearmonkey/redis-store.js';
import type { JobStore } from '../gearmonkey/job-store.js';
import { toMilliseconds } from '../job/duration.js';
import { ConfigurationError } from '../job/errors.js';
import type { JobSource } from '../job/job-source.js';
import { memoryServer } from '../memory/memory-server.js';
import { MemorySource } from '../memory/memory-source.js';
import { MemoryStore } from '../memory/memory-store.js';
import { RedisConnection, type ConnectionSpec } from '../redis/redis-connection.js';
import type { WorkerLog } from '../worker/job-worker.js';
import type { GearMonkeyModuleOptions } from './gearmonkey.options.js';

/**
 * What one `forRoot` stands for: a client, a source for handlers, and the connections of both. Provided by
 * a global module, it is among the last that Nest tells of a shutdown: other hooks may still enqueue.
 */
export interface GearMonkeyInstance extends OnApplicationShutdown {
  readonly name: string;
  readonly options: GearMonkeyModuleOptions;
  readonly client: GearMonkeyClient;
  readonly source: JobSource;
  /** Milliseconds. */
  readonly shutdownTimeout: number;
  onApplicationShutdown(): Promise<void>;
}

interface Backend {
  readonly store: JobStore;
  readonly source: JobSource;
  close(): void;
}

/** @throws ConfigurationError, InvalidOptionError */
export function createInstance(
  name: string,
  options: GearMonkeyModuleOptions,
  log: WorkerLog,
): GearMonkeyInstance {
  const { store, source, close } = backendOf(name, options, log);
  const client = new GearMonkeyClient(store, options);
  return {
    name,
    options,
    client,
    source,
    shutdownTimeout: toMilliseconds('shutdownTimeout', options.shutdownTimeout ?? '10s'),
    onApplicationShutdown: async () => {
      await client.close();
      close();
    },
  };
}

function backendOf(
  name: string,
  { connection, source, enqueueTimeout = '5s' }: GearMonkeyModuleOptions,
  log: WorkerLog,
): Backend {
  if ((connection === undefined) === (source === undefined)) {
    throw new ConfigurationError(
      `GearMonkeyModule "${name}" wants either \`connection\` or \`source\`. For a start without a server: forRoot({ connection: 'memory:' }).`,
    );
  }
  if (source) return { store: foreignStore(name), source, close: () => undefined };
  if (typeof connection === 'string' && connection.startsWith('memory:')) return memoryBackend(connection);
  return redisBackend(connection as ConnectionSpec, toMilliseconds('enqueueTimeout', enqueueTimeout), log);
}

function memoryBackend(url: string): Backend {
  const server = memoryServer(url);
  return { store: new MemoryStore(server), source: new MemorySource(server), close: () => undefined };
}

/** Three connections, opened when they are first needed. */
function redisBackend(spec: ConnectionSpec, timeout: number, log: WorkerLog): Backend {
  const commands = new RedisConnection(spec, 'commands');
  const subscriber = new RedisConnection(spec, 'subscriber');
  const blocking = new RedisConnection(spec, 'blocking');
  return {
    store: new RedisStore(commands, subscriber, timeout),
    source: new RedisSource({ commands, blocking }, { onProblem: (message) => log.warn(message) }),
    close: () => blocking.close(),
  };
}

/** An instance with a `source` only runs handlers: its jobs are enqueued by that system's own client. */
function foreignStore(name: string): JobStore {
  const refuse = () =>
    Promise.reject(
      new ConfigurationError(
        `The instance "${name}" runs jobs of another source. Enqueue with that system's own client.`,
      ),
    );
  return {
    enqueue: refuse,
    read: refuse,
    readProgress: refuse,
    count: refuse,
    listen: refuse,
    close: async () => undefined,
  };
}
