export * from './job/errors.js';
export * from './job/abort-errors.js';
export * from './job/server-errors.js';
export * from './job/job.js';
export { codecOf, type Codec, type CodecName, type Payload } from './job/codec.js';
export type { Duration } from './job/duration.js';
export {
  RetryLaterError,
  UnrecoverableError,
  type Backoff,
  type JobRetryOptions,
  type RetryOptions,
} from './job/retry.js';
export * from './job/job-definition.js';
export type { Claim, FreeSlots, JobSource, Outcome } from './job/job-source.js';
export { ALL_CAPABILITIES, type SourceCapabilities } from './job/source-capabilities.js';
export * from './worker/job-handler.js';
export { JobWorker, type WorkerLog, type WorkerOptions } from './worker/job-worker.js';
export { RunningJob } from './worker/running-job.js';
export { GearMonkeyClient, type ClientOptions } from './gearmonkey/client/client.js';
export { JobHandle } from './gearmonkey/client/job-handle.js';
export type { CallOptions, Priority, RunManyOptions, RunOptions } from './gearmonkey/client/run-options.js';
export type { ConnectionSpec } from './redis/connect.js';
export { GearMonkeyModule } from './nest/gearmonkey.module.js';
export type {
  CommonModuleOptions,
  GearMonkeyModuleAsyncOptions,
  GearMonkeyModuleOptions,
  GearMonkeyOptionsFactory,
  InstanceName,
  MemoryConnection,
  MemoryModuleOptions,
  RedisModuleOptions,
  RedisOnlyOptions,
  SourceModuleOptions,
} from './nest/gearmonkey.options.js';
export { InjectGearMonkey } from './nest/inject-gearmonkey.decorator.js';
export { CurrentJob, Input } from './nest/input.decorator.js';
export {
  OnCreate,
  OnFinish,
  OnProgress,
  OnStart,
  type ObserverDecoratorOptions,
} from './nest/observer.decorators.js';
export { getClientToken } from './nest/tokens.js';
export { Worker, type WorkerDecoratorOptions } from './nest/worker.decorator.js';
export { GearMonkeyHealth, type InstanceHealth } from './nest/gearmonkey.health.js';
