import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import type { ClientOptions } from '../gearmonkey/client/client.js';
import type { Duration } from '../job/duration.js';
import type { ErrorDetail } from '../job/errors.js';
import type { JobSource } from '../job/job-source.js';
import { optionNames } from '../job/known-options.js';
import type { ConnectionSpec } from '../redis/connect.js';
import type { JobLimits } from '../worker/job-handler.js';

/** What `forRoot` takes, wherever jobs come from. */
export interface CommonModuleOptions extends ClientOptions {
  /**
   * How much of what a handler throws is stored, and sent to the readers of the job: with `'message'` neither its
   * stack nor those of its causes. Credentials of URLs are hidden in either. The log has stacks at the level `debug`
   * only; with a `'stack'` that is written out, behind each failed attempt. @default stored, and logged as debug
   */
  errorDetail?: ErrorDetail;

  /**
   * The most that a job's own `retry.attempts` and `jobTimeout` may say, which go before a handler's: for apps that
   * don't trust all who enqueue. A handler's own `jobLimits` go before these. @default 1000 attempts, 24 days
   */
  jobLimits?: JobLimits;

  /** How long running jobs may go on when the app closes; then they go back to their queue. @default '10s' */
  shutdownTimeout?: Duration;

  /** Whether guards, pipes, interceptors and filters that are global in the app also hold for handlers. @default false */
  globalEnhancers?: boolean;
}

/** What only an instance on a Redis has. */
export interface RedisOnlyOptions {
  /**
   * Writes functions as `{fn}` on the wire, so that all keys of a function are in one slot of a Redis
   * Cluster. All clients and workers of these functions must do so; code still says `fn`. @default false
   */
  hashTag?: boolean;

  /** How long an enqueue waits for the server before it rejects. @default '5s' */
  enqueueTimeout?: Duration;

  /** `'wait'` acknowledges an enqueue only when `waitReplicas` replicas have it. @default the server's own word */
  durability?: 'wait';

  /** How many replicas `durability: 'wait'` asks for. @default 1 */
  waitReplicas?: number;

  /** How long a worker may be silent before its jobs go to others. It renews four times as often. @default '8s' */
  lease?: Duration;

  /** How often a job may lose its worker before it ends as an error. @default 3 */
  maxStalls?: number;
}

/** `'memory:'` or `'memory:NAME'`. */
export type MemoryConnection = `memory:${string}`;

/** What may not be there: given as `undefined` at most. */
type Absent<Names extends PropertyKey> = { readonly [Name in Names]?: undefined };

/** An instance on a Redis. `Connection` is what the compiler knows of `connection`: a `'memory:'` is refused. */
export interface RedisModuleOptions<Connection extends ConnectionSpec = ConnectionSpec>
  extends CommonModuleOptions, RedisOnlyOptions, Absent<'source'> {
  /**
   * `'redis://…'`, ioredis options (with `sentinels` and `name` too), `{ nodes }` of a Redis Cluster, or an
   * ioredis client, `Redis` or `Cluster`, whose settings are used (it is left open).
   */
  connection: Connection & (Connection extends MemoryConnection ? never : unknown);
}

/** An instance without a server: jobs live and die in this process. */
export interface MemoryModuleOptions extends CommonModuleOptions, Absent<keyof RedisOnlyOptions | 'source'> {
  /** `'memory:'`: jobs live and die with this module; `'memory:NAME'` is shared in this process. */
  connection: MemoryConnection;
}

/** An instance whose handlers run the jobs of another system, whose own client enqueues them. */
export interface SourceModuleOptions
  extends CommonModuleOptions, Absent<keyof RedisOnlyOptions | 'connection'> {
  /** Another job system whose jobs the handlers of this instance run. */
  source: JobSource;
}

/** What `forRoot` takes. Either `connection` or `source` says where jobs come from. */
export type GearMonkeyModuleOptions<Connection extends ConnectionSpec = ConnectionSpec> =
  SourceModuleOptions | MemoryModuleOptions | RedisModuleOptions<Connection>;

/** A further instance has a name: handlers say it as `instance`, `@InjectGearMonkey(name)` injects its client. */
export interface InstanceName {
  /** @default 'default' */
  name?: string;
}

/** What `forRootAsync` takes: `useFactory` and `inject`, `useClass` or `useExisting`. */
export type GearMonkeyModuleAsyncOptions<Connection extends ConnectionSpec = ConnectionSpec> =
  ConfigurableModuleAsyncOptions<GearMonkeyModuleOptions<Connection>, 'createGearMonkeyOptions'>;

/** Those that only Redis has, by their names. */
export const REDIS_OPTIONS = optionNames<Required<RedisOnlyOptions>>({
  hashTag: true,
  enqueueTimeout: true,
  durability: true,
  waitReplicas: true,
  lease: true,
  maxStalls: true,
});

/** Every option by its name. */
export const MODULE_OPTIONS = optionNames<GearMonkeyModuleOptions & InstanceName>({
  connection: true,
  name: true,
  hashTag: true,
  source: true,
  codec: true,
  maxPayloadBytes: true,
  enqueueTimeout: true,
  durability: true,
  waitReplicas: true,
  lease: true,
  maxStalls: true,
  shutdownTimeout: true,
  globalEnhancers: true,
  errorDetail: true,
  jobLimits: true,
});

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface GearMonkeyOptionsFactory {
  createGearMonkeyOptions(): GearMonkeyModuleOptions | Promise<GearMonkeyModuleOptions>;
}

/** The instance of handlers and clients that name none. */
export const DEFAULT_INSTANCE = 'default';
