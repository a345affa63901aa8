export { UnrecoverableError } from '../job/retry.js';
export { BullModule } from './bull.module.js';
export type {
  BullRootModuleOptions,
  RegisterQueueAsyncOptions,
  RegisterQueueOptions,
  RegisterQueueOptionsFactory,
  SharedBullAsyncConfiguration,
  SharedBullConfigurationFactory,
} from './bull.options.js';
export { DelayedError, Job, type BullJobState } from './job.js';
export type { BackoffOptions, DeduplicationOptions, JobsOptions, KeepJobs, Untyped } from './job-options.js';
export {
  InjectQueue,
  JOB_REF,
  OnWorkerEvent,
  Processor,
  getQueueToken,
  type NestWorkerOptions,
  type ProcessorOptions,
  type WorkerEvent,
} from './processor.decorator.js';
export { ProcessorWorker, WorkerHost } from './worker-host.js';
export { Queue, type BulkJob } from './queue.js';
export { QueueEvents } from './queue-events.js';
export type { JobSchedulerJson, JobSchedulerTemplate, RepeatOptions } from './job-schedulers.js';
