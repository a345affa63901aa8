import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import type { ClientOptions } from '../gearmonkey/client.js';
import type { PayloadOptions } from '../gearmonkey/core/client/known-functions.js';
import type { Duration } from '../job/duration.js';
import type { ErrorDetail } from '../job/errors.js';
import type { KeepOptions } from '../job/keep.js';
import type { JobSource } from '../job/job-source.js';
import { optionNames } from '../job/known-options.js';
import type { ConnectionSpec } from '../redis/connect.js';
import type { JobLimits } from '../worker/job-handler.js';
import type { AppOptions } from './app-version.js';
import type { JobMiddleware } from './middleware.js';
import type { WorkersOption } from './worker-role.js';

/** Options of `forRoot` for all kinds of instances. */
export interface CommonModuleOptions extends PayloadOptions {
  /**
   * Which handlers of this instance run in this process: `true` for all, `false` for none, or the functions by name.
   * The environment variable `GEARMONKEY_WORKERS` goes before it: `true`, `false`, or names with commas. @default true
   */
  workers?: WorkersOption;

  /**
   * How much of a handler's error is stored, and sent to readers of the job. `'message'` leaves out its stack and those
   * of its causes. Credentials of URLs are always hidden. The log has stacks only at the level `debug`; an explicit
   * `'stack'` logs them with each failed attempt. @default stored, and logged as debug
   */
  errorDetail?: ErrorDetail;

  /**
   * Upper limits of a job's own `retry.attempts` and `jobTimeout`, which override those of the handler: for apps that
   * don't trust all clients. A handler's own `jobLimits` override these. @default 1000 attempts, 24 days
   */
  jobLimits?: JobLimits;

  /** How long running jobs may continue when the app closes; the rest goes back to the queue. @default '10s' */
  shutdownTimeout?: Duration;

  /**
   * What this app does around all of its jobs, such as running each handler in a context made from the job's headers:
   * `middleware: [{ aroundRun: (job, next) => storage.run({ tenant: job.headers.tenant }, next) }]`. The first is outermost.
   * `aroundEnqueue` is only for GearMonkey and `memory:`. @default none
   */
  middleware?: readonly JobMiddleware[];

  /** Limit of what a step returns, in bytes. @default 256 KiB */
  maxStepBytes?: number;

  /** Whether workers count what happens to their jobs, for `jobs.statistics`. Only GearMonkey and `memory:`. @default true */
  statistics?: boolean;

  /** Whether the app's global guards, pipes, interceptors and filters also apply to handlers. @default false */
  globalEnhancers?: boolean;
}

/** Options of an instance with a client, whose server keeps the jobs. */
export interface EnqueueModuleOptions extends Pick<ClientOptions, 'headers'> {
  /**
   * The app whose code declares schedules with `@Recurring`. Where versions run side by side, the higher one decides.
   * @default name and version of the nearest package.json of the program
   */
  app?: AppOptions;

  /** How long ended jobs can be read that this app's workers end; a definition's own `keep` overrides it. @default 25 hours */
  keep?: KeepOptions;
}

/** Options of an instance on Redis only. */
export interface RedisOnlyOptions {
  /**
   * Writes functions as `{fn}` on the wire, which puts all keys of a function into one slot of a Redis Cluster. All
   * clients and workers of these functions need the same setting; code still uses `fn`. @default false
   */
  hashTag?: boolean;

  /** How long an enqueue waits for the server before it rejects. @default '5s' */
  enqueueTimeout?: Duration;

  /** `'wait'` resolves an enqueue only when `waitReplicas` replicas have the job. @default when the master has it */
  durability?: 'wait';

  /** How many replicas `durability: 'wait'` needs. @default 1 */
  waitReplicas?: number;

  /**
   * How long a lease lasts without renewal; then another worker gets the job. At least '2s'. Renewed four times as often. With `pollInterval`
   * at least four times that, if nothing is said. @default '8s'
   */
  lease?: Duration;

  /**
   * Asks for jobs each so often, from '100ms' to '1m', for servers that are paid by the command: then no call blocks, and an
   * idle app sends few commands. A job of an idle function waits for the next time. @default a job begins at once
   */
  pollInterval?: Duration;

  /** How often a job may lose its worker before it ends as an error. @default 3 */
  maxStalls?: number;
}

/** `'memory:'` or `'memory:NAME'`. */
export type MemoryConnection = `memory:${string}`;

/** Options that must be absent or `undefined`. */
type Absent<Names extends PropertyKey> = { readonly [Name in Names]?: undefined };

/** An instance on Redis. The type parameter lets the compiler refuse `'memory:'` together with Redis-only options. */
export interface RedisModuleOptions<Connection extends ConnectionSpec = ConnectionSpec>
  extends CommonModuleOptions, EnqueueModuleOptions, RedisOnlyOptions, Absent<'source'> {
  /**
   * `'redis://…'`, ioredis options (also with `sentinels` and `name`), `{ nodes }` of a Redis Cluster, or an ioredis
   * client (`Redis` or `Cluster`), whose settings are copied. The client itself is neither used nor closed.
   */
  connection: Connection & (Connection extends MemoryConnection ? never : unknown);
}

/** An instance without a server: jobs exist only in this process. */
export interface MemoryModuleOptions
  extends CommonModuleOptions, EnqueueModuleOptions, Absent<keyof RedisOnlyOptions | 'source'> {
  /** `'memory:'` keeps jobs in this instance; `'memory:NAME'` shares them within this process. */
  connection: MemoryConnection;
}

/** An instance whose handlers run jobs of another system. Jobs are enqueued with that system's client. */
export interface SourceModuleOptions
  extends CommonModuleOptions, Absent<keyof RedisOnlyOptions | keyof EnqueueModuleOptions | 'connection'> {
  /** The job system whose jobs the handlers of this instance run. */
  source: JobSource;
}

/** Options of `forRoot`. Either `connection` or `source` says where jobs come from. */
export type GearMonkeyModuleOptions<Connection extends ConnectionSpec = ConnectionSpec> =
  SourceModuleOptions | MemoryModuleOptions | RedisModuleOptions<Connection>;

/** A second instance needs a name: handlers select it with `instance`, and `@InjectGearMonkey(name)` injects its client. */
export interface InstanceName {
  /** @default 'default' */
  name?: string;
}

type OrUndefined<T> = { [Name in keyof T]: T[Name] | undefined };

/** Options of a factory for an instance on Redis or in memory. */
export interface ConfiguredConnectionOptions
  extends OrUndefined<CommonModuleOptions & EnqueueModuleOptions & RedisOnlyOptions>, Absent<'source'> {
  /** As in `forRoot`. The app doesn't start with `undefined`. */
  connection: ConnectionSpec | undefined;
}

/**
 * What a factory returns. Its types accept `config.get('REDIS_URL', 'memory:')`, so options that need Redis are only
 * checked when the app starts.
 */
export type ConfiguredModuleOptions = ConfiguredConnectionOptions | SourceModuleOptions;

/** Options of `forRootAsync`: `useFactory` with `inject`, `useClass` or `useExisting`. */
export type GearMonkeyModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  ConfiguredModuleOptions,
  'createGearMonkeyOptions'
>;

/** Names of the Redis-only options. */
export const REDIS_OPTIONS = optionNames<Required<RedisOnlyOptions>>({
  hashTag: true,
  enqueueTimeout: true,
  durability: true,
  waitReplicas: true,
  lease: true,
  pollInterval: true,
  maxStalls: true,
});

/** Names of all options. */
export const MODULE_OPTIONS = optionNames<GearMonkeyModuleOptions & InstanceName>({
  connection: true,
  name: true,
  hashTag: true,
  source: true,
  codec: true,
  maxPayloadBytes: true,
  maxStepBytes: true,
  enqueueTimeout: true,
  durability: true,
  waitReplicas: true,
  lease: true,
  pollInterval: true,
  maxStalls: true,
  shutdownTimeout: true,
  globalEnhancers: true,
  errorDetail: true,
  jobLimits: true,
  workers: true,
  headers: true,
  app: true,
  keep: true,
  middleware: true,
  statistics: true,
});

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface GearMonkeyOptionsFactory {
  createGearMonkeyOptions(): ConfiguredModuleOptions | Promise<ConfiguredModuleOptions>;
}

/** Name of the default instance. */
export const DEFAULT_INSTANCE = 'default';
