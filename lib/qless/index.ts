export { qless, type QlessOptions } from './qless.js';
export { QlessModule } from './qless.module.js';
export { QlessClient, type QlessClientOptions } from './qless-client.js';
export type { QlessServer } from './connections.js';
export { QlessQueue, type NewJob, type QueueState } from './qless-queue.js';
export { QlessPopper, type PopOptions } from './qless-popper.js';
export { QlessJobs } from './qless-jobs.js';
export { QlessJob, type CompleteOptions, type RetryJobOptions } from './qless-job.js';
export { QlessRecurring, QlessRecurringJob, type RecurringUpdate } from './qless-recurring.js';
export { QlessWorkers } from './qless-workers.js';
export { QlessConfig } from './qless-config.js';
export { QlessEvents, type QlessEvent, type TrackedEvent } from './qless-events.js';
export type { PageOptions, PutOptions, RecurOptions } from './placing.js';
export * from './errors.js';
export type {
  Consistency,
  HistoryItem,
  JobFailure,
  JobRecord,
  JobState,
  Page,
  QueueCounts,
  QueueStats,
  RecurringRecord,
  Summary,
} from './replies.js';
