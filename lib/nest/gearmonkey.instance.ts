import type { OnApplicationShutdown } from '@nestjs/common';
import { defined } from '../job/defined.js';
import { GearMonkeyClient } from '../gearmonkey/client/client.js';
import { RedisSource } from '../gearmonkey/source/redis-source.js';
import { RedisStore } from '../gearmonkey/client/redis-store.js';
import type { JobStore } from '../gearmonkey/client/job-store.js';
import { toMilliseconds } from '../job/duration.js';
import { ConfigurationError, InvalidOptionError, type ErrorDetail } from '../job/errors.js';
import type { JobSource } from '../job/job-source.js';
import { checkOptions } from '../job/known-options.js';
import { memoryServer } from '../memory/memory-server.js';
import { MemorySource } from '../memory/memory-source.js';
import { MemoryStore } from '../memory/memory-store.js';
import { openConnections } from '../gearmonkey/redis-connections.js';
import type { ConnectionSpec } from '../redis/connect.js';
import { checkJobLimits } from '../worker/job-handler.js';
import type { WorkerLog } from '../worker/job-worker.js';
import { MODULE_OPTIONS, type GearMonkeyModuleOptions } from './gearmonkey.options.js';

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
  close(): void | Promise<void>;
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
      await close();
    },
  };
}

function backendOf(name: string, options: GearMonkeyModuleOptions, log: WorkerLog): Backend {
  checkOptions('GearMonkeyModule.forRoot', options, MODULE_OPTIONS);
  const { connection, source, maxStalls = 0, waitReplicas = 1 } = options;
  checkCount('maxStalls', maxStalls, 0);
  checkCount('waitReplicas', waitReplicas, 1);
  checkJobLimits(options.jobLimits ?? {});
  checkChoices(options);
  if ((connection === undefined) === (source === undefined)) {
    throw new ConfigurationError(
      `GearMonkeyModule "${name}" wants either \`connection\` or \`source\`. For a start without a server: forRoot({ connection: 'memory:' }).`,
    );
  }
  if (source) return { store: foreignStore(name), source, close: () => source.close() };
  const enqueueTimeout = toMilliseconds('enqueueTimeout', options.enqueueTimeout ?? '5s');
  if (typeof connection === 'string' && connection.startsWith('memory:'))
    return memoryBackend(connection, options);
  return redisBackend(connection as ConnectionSpec, { ...options, enqueueTimeout }, log);
}

function memoryBackend(url: string, { maxStalls, lease }: GearMonkeyModuleOptions): Backend {
  const server = memoryServer(url, maxStalls === undefined ? {} : { maxStalls });
  const source = new MemorySource(
    server,
    lease === undefined ? {} : { lease: toMilliseconds('lease', lease) },
  );
  return { store: new MemoryStore(server), source, close: () => undefined };
}

function redisBackend(
  spec: ConnectionSpec,
  options: GearMonkeyModuleOptions & { enqueueTimeout: number },
  log: WorkerLog,
): Backend {
  const { keysOf, close, ...connections } = openConnections(spec, options.hashTag, log);
  const source = new RedisSource(
    connections,
    defined({
      lease: options.lease === undefined ? undefined : toMilliseconds('lease', options.lease),
      maxStalls: options.maxStalls,
      maxPayloadBytes: options.maxPayloadBytes,
      keysOf,
      onProblem: (message) => log.warn(message),
    }),
  );
  const replicas = options.durability === 'wait' ? (options.waitReplicas ?? 1) : undefined;
  const store = new RedisStore(connections.commands, connections.hub, {
    timeout: options.enqueueTimeout,
    keysOf,
    replicas,
  });
  return { store, source, close };
}

const DETAILS: ReadonlySet<unknown> = new Set<ErrorDetail | undefined>(['message', 'stack', undefined]);

/** What comes from a configuration may be text: `'false'` is no choice. */
function checkChoices({
  errorDetail,
  durability,
  hashTag = false,
  globalEnhancers = false,
}: GearMonkeyModuleOptions) {
  if (!DETAILS.has(errorDetail))
    throw new InvalidOptionError('errorDetail', errorDetail, "'message' or 'stack'");
  if (durability !== undefined && durability !== 'wait')
    throw new InvalidOptionError('durability', durability, "'wait' or absent");
  for (const [option, value] of Object.entries({ hashTag, globalEnhancers })) {
    if (typeof value !== 'boolean') throw new InvalidOptionError(option, value, 'true or false');
  }
}

/** Redis takes these as they are, in the middle of a script. */
function checkCount(option: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least)
    throw new InvalidOptionError(option, value, `a whole number, ${least} or more`);
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
    cancel: refuse,
    count: refuse,
    listen: refuse,
    close: async () => undefined,
  };
}
