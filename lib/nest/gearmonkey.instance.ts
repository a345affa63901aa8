import type { OnApplicationShutdown } from '@nestjs/common';
import { defined } from '../job/defined.js';
import { GearMonkeyClient } from '../gearmonkey/client.js';
import { RedisStore } from '../gearmonkey/redis-store.js';
import { openConnections } from '../gearmonkey/redis-connections.js';
import { RedisSource } from '../gearmonkey/redis-source.js';
import { POLLS_A_LEASE } from '../gearmonkey/core/source/source-options.js';
import { millisecondsOr, toMilliseconds, type Duration } from '../job/duration.js';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import { checkKeep } from '../job/keep.js';
import type { JobSource } from '../job/job-source.js';
import { recordsOf } from '../job/show-as.js';
import { embeddedServer, openEmbedded } from '../embedded/open-embedded.js';
import type { WorkerLog } from '../worker/job-worker.js';
import type { RunningJob } from '../worker/running-job.js';
import { checkedOptions, isForMemory, isForSource } from './check-options.js';
import type {
  CommonModuleOptions,
  EnqueueModuleOptions,
  GearMonkeyModuleOptions,
  MemoryModuleOptions,
  RedisModuleOptions,
} from './gearmonkey.options.js';

/**
 * What one `forRoot` makes: a source for handlers, a client unless another system's client enqueues, and their
 * connections. A global module provides it, so Nest calls its shutdown hook among the last: other hooks may still
 * enqueue jobs.
 */
export interface GearMonkeyInstance extends OnApplicationShutdown {
  readonly name: string;
  readonly options: CommonModuleOptions & Pick<EnqueueModuleOptions, 'app'>;
  /** Undefined if jobs come from a `source` of another system. */
  readonly client: GearMonkeyClient | undefined;
  readonly source: JobSource;
  /** Called before each run of a handler, inside its guards and filters: what it throws the handler throws. */
  readonly beforeRun?: ((job: RunningJob) => void) | undefined;
  /** Milliseconds. */
  readonly shutdownTimeout: number;
  onApplicationShutdown(): Promise<void>;
}

/** What an instance reaches its jobs by. */
export type Backend = Pick<GearMonkeyInstance, 'client' | 'source' | 'beforeRun'> &
  Partial<Pick<GearMonkeyInstance, 'shutdownTimeout'>> & { close(): void | Promise<void> };

/** Makes the backend of each instance from its checked options. Tests put another in place of `backendOf`. */
export type BackendFactory = (name: string, options: GearMonkeyModuleOptions, log: WorkerLog) => Backend;

const asInstance = recordsOf<GearMonkeyInstance>('GearMonkeyInstance', ({ name, source }) => ({
  name,
  source,
}));

/** @throws ConfigurationError, InvalidOptionError */
export function createInstance(
  name: string,
  given: GearMonkeyModuleOptions,
  log: WorkerLog,
  backends: BackendFactory = backendOf,
): GearMonkeyInstance {
  const options = checkedOptions(name, given);
  // `connection` is not kept, because it may hold a password.
  const {
    codec,
    maxPayloadBytes,
    maxStepBytes,
    errorDetail,
    jobLimits,
    globalEnhancers,
    workers,
    middleware,
    app,
  } = options;
  const { close, ...backend } = backends(name, options, log);
  return asInstance({
    ...backend,
    name,
    options: {
      codec,
      maxPayloadBytes,
      maxStepBytes,
      errorDetail,
      jobLimits,
      globalEnhancers,
      workers,
      middleware,
      app,
    },
    shutdownTimeout:
      backend.shutdownTimeout ?? millisecondsOr('10s', 'shutdownTimeout', options.shutdownTimeout),
    onApplicationShutdown: async () => {
      await backend.client?.close();
      await close();
    },
  });
}

/** The client of an instance. @throws ConfigurationError that names `user`, if jobs come from another system */
export function clientOf({ client, name, source }: GearMonkeyInstance, user: string): GearMonkeyClient {
  if (client) return client;
  const other = source.client ?? 'the client of that system';
  throw new ConfigurationError(
    `${user} uses the GearMonkeyClient of the instance "${name}", but there is none: its jobs come from a \`source\`. Use ${other} instead.`,
  );
}

function backendOf(_name: string, options: GearMonkeyModuleOptions, log: WorkerLog): Backend {
  if (isForSource(options)) {
    const { source } = options;
    return { client: undefined, source, close: () => source.close() };
  }
  return isForMemory(options) ? memoryBackend(options, log) : redisBackend(options, log);
}

function memoryBackend(options: MemoryModuleOptions, log: WorkerLog): Backend {
  const { connection, maxPayloadBytes, statistics, keep } = options;
  const { store, source, close } = openEmbedded(
    embeddedServer(connection),
    defined({
      maxPayloadBytes,
      statistics,
      keep: keep && checkKeep(keep),
      onProblem: (message: string) => log.warn(message),
    }),
  );
  return { client: new GearMonkeyClient(store, options), source, close };
}

const POLL_BOUNDS = { least: 100, most: 60_000 };
/** Workers look each second: an outage that ends shorter leases can't be told from the time between two looks. */
const LEASE_BOUNDS = { least: 2000 };

/** @throws InvalidOptionError */
function timesOf(lease?: Duration, pollInterval?: Duration): { lease?: number; pollInterval?: number } {
  const ms = lease === undefined ? undefined : toMilliseconds('lease', lease, LEASE_BOUNDS);
  if (pollInterval === undefined) return defined({ lease: ms });
  const interval = toMilliseconds('pollInterval', pollInterval, POLL_BOUNDS);
  if (ms !== undefined && ms < POLLS_A_LEASE * interval)
    throw new InvalidOptionError('lease', lease, `at least ${POLLS_A_LEASE} times \`pollInterval\``);
  return defined({ lease: ms, pollInterval: interval });
}

function redisBackend(options: RedisModuleOptions, log: WorkerLog): Backend {
  const {
    connection,
    hashTag,
    lease,
    pollInterval,
    maxStalls,
    maxPayloadBytes,
    durability,
    waitReplicas = 1,
    statistics,
    keep,
  } = options;
  const timeout = millisecondsOr('5s', 'enqueueTimeout', options.enqueueTimeout);
  const onProblem = (message: string) => log.warn(message);
  const { keysOf, close, ...connections } = openConnections(connection, hashTag, log);
  const source = new RedisSource(
    connections,
    defined({
      ...timesOf(lease, pollInterval),
      maxStalls,
      maxPayloadBytes,
      statistics,
      keep: keep && checkKeep(keep),
      keysOf,
      onProblem,
    }),
  );
  const replicas = durability === 'wait' ? waitReplicas : undefined;
  const stored = { timeout, keysOf, replicas, onProblem };
  const store = new RedisStore(connections.commands, connections.hub, stored);
  return { client: new GearMonkeyClient(store, options), source, close };
}
