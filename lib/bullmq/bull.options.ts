import type { FactoryProvider, ModuleMetadata, Provider, Type } from '@nestjs/common';
import { ConfigurationError } from '../job/errors.js';
import { optionNames } from '../job/known-options.js';
import { redisOptions, type ConnectionSpec } from '../redis/connect.js';
import type { ConfiguredConnectionOptions } from '../nest/gearmonkey.options.js';
import type { JobsOptions, PriorityRule } from './job-options.js';
import { checkBullOptions, type Refused, type Remedies } from './unsupported.js';

const ROOT_REMEDIES = {
  prefix: 'Choose other names for queues, or another Redis.',
  sharedConnection: 'Leave it out: all queues share connections.',
  streams: 'Leave it out: there are no event streams.',
  telemetry: 'Import the module of nestjs-gearmonkey/tracing.',
  extraOptions: 'In place of `manualRegistration` use `workers: false`, or GearMonkeyWorkers.',
} as const;

const QUEUE_REMEDIES = {
  ...ROOT_REMEDIES,
  connection: 'Give it to BullModule.forRoot, with a `configKey` if there is more than one.',
  processors: 'Processors in a file or a process of their own are not there: write a class with @Processor.',
} as const;

/** What queues are told beside where they are. */
interface QueueRules {
  /** Options of each job; its own go before them. `removeOnComplete` and `removeOnFail` say which ended jobs the queue keeps. */
  defaultJobOptions?: JobsOptions;
  /** Which priority a number of BullMQ is: `'high'`, `'normal'` or `'low'`. @default numbers are refused */
  priorities?: PriorityRule;
  /** Ignored: the version of the server is checked. */
  skipVersionCheck?: boolean;
}

/** Options of `BullModule.forRoot`: those of GearMonkeyModule, and what BullMQ has for all queues. */
export interface BullRootModuleOptions
  extends Omit<ConfiguredConnectionOptions, 'connection'>, QueueRules, Refused<typeof ROOT_REMEDIES> {
  /** As in BullMQ, also `{ url }`; or as in `GearMonkeyModule.forRoot`. */
  connection: ConnectionSpec | { url: string } | undefined;
}

/** Options of `BullModule.registerQueue`. */
export interface RegisterQueueOptions extends QueueRules, Refused<typeof QUEUE_REMEDIES> {
  /** @default 'default' */
  name?: string;
  /** The name of the BullModule.forRoot whose server it is on. @default that without a name */
  configKey?: string;
  /** Ignored: the app closes connections. */
  forceDisconnectOnShutdown?: boolean;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface SharedBullConfigurationFactory {
  createSharedConfiguration(): BullRootModuleOptions | Promise<BullRootModuleOptions>;
}

/** For `registerQueueAsync({ useClass })` and `useExisting`. */
export interface RegisterQueueOptionsFactory {
  createRegisterQueueOptions(): RegisterQueueOptions | Promise<RegisterQueueOptions>;
}

/** Where options come from. One of `useFactory`, `useClass` and `useExisting`. */
export interface BullAsyncOptions<Options, Factory> extends Pick<ModuleMetadata, 'imports'> {
  useFactory?: (...args: never[]) => Options | Promise<Options>;
  useClass?: Type<Factory>;
  useExisting?: Type<Factory>;
  inject?: FactoryProvider['inject'];
  extraProviders?: Provider[];
}

/** Options of `BullModule.forRootAsync`. */
export interface SharedBullAsyncConfiguration
  extends
    BullAsyncOptions<BullRootModuleOptions, SharedBullConfigurationFactory>,
    Refused<Pick<typeof ROOT_REMEDIES, 'extraOptions'>> {}

/** Options of `BullModule.registerQueueAsync`. Name and `configKey` are given here, as tokens are made from them. */
export interface RegisterQueueAsyncOptions
  extends
    BullAsyncOptions<RegisterQueueOptions, RegisterQueueOptionsFactory>,
    Pick<RegisterQueueOptions, 'name' | 'configKey'> {}

/** The options of all queues, split into those of the instance and the rest. */
export interface RootOptions {
  readonly instance: ConfiguredConnectionOptions;
  readonly rules: QueueRules;
}

const QUEUE = optionNames<Omit<RegisterQueueOptions, keyof typeof QUEUE_REMEDIES>>({
  name: true,
  configKey: true,
  defaultJobOptions: true,
  priorities: true,
  skipVersionCheck: true,
  forceDisconnectOnShutdown: true,
});

/** @throws ConfigurationError. Other options are checked by GearMonkeyModule. */
export function rootOptionsOf(given: BullRootModuleOptions): RootOptions {
  const user = 'BullModule.forRoot';
  if (typeof given !== 'object' || given === null)
    throw new ConfigurationError(`${user} needs options, at least { connection }.`);
  const known = new Set(Object.keys(given).filter((name) => !(name in ROOT_REMEDIES)));
  const { defaultJobOptions, priorities, skipVersionCheck, connection, ...instance } = checkBullOptions(
    user,
    given,
    known,
    ROOT_REMEDIES,
  );
  void skipVersionCheck;
  return {
    instance: { ...(instance as Remedies & object), connection: connectionOf(connection) },
    rules: { defaultJobOptions, priorities },
  };
}

/** @throws ConfigurationError */
export function queueOptionsOf(given: RegisterQueueOptions): RegisterQueueOptions {
  return checkBullOptions('BullModule.registerQueue', given, QUEUE, QUEUE_REMEDIES);
}

/** BullMQ takes a URL beside options of ioredis. */
function connectionOf(connection: BullRootModuleOptions['connection']): ConnectionSpec | undefined {
  if (typeof connection !== 'object' || connection === null || !('url' in connection)) return connection;
  const { url, ...options } = connection;
  return Object.keys(options).length === 0 ? url : { ...redisOptions(url), ...options };
}
