export { qless, type QlessOptions } from './source/qless.js';
export { QlessModule } from './nest/qless.module.js';
export { QlessClient, type QlessClientOptions } from './client/qless-client.js';
export type { QlessServer } from './connection/connections.js';
export { QlessQueue, type NewJob, type QueueState } from './client/qless-queue.js';
export { QlessPopper, type PopOptions, type PopperOptions } from './client/qless-popper.js';
export { QlessJobs } from './client/qless-jobs.js';
export {
  QlessJob,
  type CompleteOptions,
  type QlessFailure,
  type QlessHistoryItem,
  type RetryJobOptions,
} from './client/qless-job.js';
export { QlessRecurring, QlessRecurringJob, type RecurringUpdate } from './client/qless-recurring.js';
export { QlessWorkers } from './client/qless-workers.js';
export { QlessConfig } from './client/qless-config.js';
export { QlessEvents, type QlessEvent, type TrackedEvent } from './client/qless-events.js';
export type { PageOptions, PutOptions, RecurOptions } from './client/options.js';
export {
  QlessArgumentError,
  QlessDependencyError,
  QlessError,
  QlessJobLostError,
  QlessJobNotFoundError,
  QlessStateError,
} from './client/errors.js';
export type {
  Consistency,
  HistoryItem,
  JobFailure,
  JobRecord,
  QlessState,
  Page,
  QueueCounts,
  QueueStats,
  RecurringRecord,
  Summary,
} from './wire/replies.js';
