// The module, and what it puts into an app.
export { GearMonkeyModule } from './nest/gearmonkey.module.js';
export type {
  CommonModuleOptions,
  ConfiguredConnectionOptions,
  ConfiguredModuleOptions,
  EnqueueModuleOptions,
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
export type { Configuration, OptionsFactory, OptionsOf } from './nest/configured-options.js';
export type { AppOptions } from './nest/app-version.js';
export type { WorkersOption } from './nest/worker-role.js';
export type { ClusterSettings, ConnectionSpec, IoredisClient } from './redis/connect.js';
export type { ClientTls, Pem, ServerTls, TlsIdentity } from './net/tls.js';
export { InjectGearMonkey } from './nest/inject-gearmonkey.decorator.js';
export { getGearMonkeyClientToken } from './nest/tokens.js';
export {
  GearMonkeyWorkers,
  type AddWorkerOptions,
  type AddedWorker,
  type RunningWorker,
  type SetWorkerOptions,
  type StopWorkerOptions,
  type BatchFunction,
  type WorkerFunction,
} from './nest/gearmonkey.workers.js';
export { MissingPackageError } from './package/optional-package.js';

// What a job is.
export {
  defineJob,
  type AnyJobDefinition,
  type ChunkOf,
  type DefinitionOptions,
  type StepsOptions,
  type FunctionRef,
  type InputOf,
  type JobDefinition,
  type OutputOf,
  type ReceivedOf,
  type ReturnedOf,
  type RunLimits,
  type SchemaOptions,
} from './job/job-definition.js';
export { codecOf, type Codec, type CodecName, type Payload } from './job/codec.js';
export type { Duration } from './job/duration.js';
export {
  RetryLaterError,
  SnoozeError,
  UnrecoverableError,
  type Backoff,
  type JobRetryOptions,
  type RetryOptions,
} from './job/retry.js';
export type { Keep, KeepOptions, KeepRule, KeepSpan } from './job/keep.js';
export { defineLimit } from './job/check-limit.js';
export type {
  Limit,
  LimitNumbers,
  LimitOptions,
  LimitRules,
  LimitState,
  SharedLimit,
  WithLimit,
} from './job/limit.js';
export type { Unique, UniqueOptions, UniqueRule } from './job/unique.js';
export type { GivenHeaders, JobHeaders } from './job/headers.js';

// Handlers.
export { Worker } from './nest/worker.decorator.js';
export type { ConfiguredWorkerOptions, WorkerDecoratorOptions } from './nest/worker.decorator.js';
export { CurrentJob, Input, type InputOptions, type InputPipe } from './nest/input.decorator.js';
export { RunningJob } from './worker/running-job.js';
export type { BatchResult, HandlerOptions, HandlerResult, JobLimits } from './worker/job-handler.js';
export {
  BatchOutcome,
  BatchResultError,
  BatchStoppedError,
  fail,
  later,
  ok,
  type BatchOptions,
} from './worker/batch.js';
export { JobCursor, type CursorStart } from './worker/job-cursor.js';
export type { JobSignal, WaitOptions } from './worker/signal-wait.js';
export { chunk, OutputChunk, type StreamEntry, type StreamKind, type StreamOptions } from './job/streams.js';
export type { RecordedStep } from './job/steps.js';
export type { FlowProgress, OnParentError, ParentJob } from './job/flows.js';

// Clients.
export { GearMonkeyClient, type ClientOptions } from './gearmonkey/client.js';
export type {
  CallOptions,
  JobRef,
  Priority,
  ResultOptions,
  RunManyOptions,
  RunOptions,
} from './gearmonkey/core/client/run-options.js';
export type { CancelOptions, UpdateOptions } from './gearmonkey/core/client/run-options.js';
export type { PayloadOptions } from './gearmonkey/core/client/known-functions.js';
export { JobHandle } from './gearmonkey/core/client/job-handle.js';
export {
  ProgressUpdate,
  progress,
  type AttemptError,
  type Job,
  type JobEvent,
  type JobProgress,
  type JobTimes,
  type Progress,
} from './job/job.js';
export { isFinal, JOB_STATES, type FinalState, type JobState } from './job/job-state.js';
export { Flow } from './gearmonkey/features/flows/flow.js';
export type { FlowJobOptions, FlowNode, FlowRoot } from './gearmonkey/features/flows/flow-node.js';
export { JobSchedules } from './gearmonkey/features/schedules/job-schedules.js';
export type {
  ScheduleOptions,
  RecurringJobOptions,
  RecurringTimes,
  ScheduleChanges,
} from './gearmonkey/features/schedules/recur-options.js';
export type { Schedule } from './gearmonkey/features/schedules/schedule.js';
export type { CatchUp, DeclaringApp } from './gearmonkey/features/schedules/spec.js';
export type { RecurringTick } from './job/recurring.js';
export { Recurring } from './nest/recurring.decorator.js';
export type { ConfiguredRecurringOptions, RecurringOptions } from './nest/recurring.decorator.js';
export type { LimitsOptions } from './gearmonkey/features/limits/limits-client.js';
export type { DrainJobsOptions, WaitingState } from './gearmonkey/features/edits/drain.js';
export {
  OnCreate,
  OnFinish,
  OnProgress,
  OnStart,
  type ConfiguredObserverOptions,
  type ObserverDecoratorOptions,
} from './nest/observer.decorators.js';
export { sseOutput, sseWatch, type SseOptions, type SseWatchOptions } from './nest/server-sent-events.js';

// What people see of jobs, and do to them.
export type {
  FunctionOverview,
  JobList,
  ListedJob,
  ListedPayload,
  FindOptions,
  QueueOverview,
  ListOptions,
} from './job/job-views.js';
export type { BulkRun, EndedJobs, FailureGroup } from './job/failed-jobs.js';
export { TIME_BOUNDS } from './job/statistics.js';
export type { JobStatistics, StatisticsOptions, TimeClass, TimeStatistics } from './job/statistics.js';

// Around jobs: middleware, events, health.
export type { JobMiddleware } from './nest/middleware.js';
export type { EndedRun, RunMiddleware } from './worker/run-middleware.js';
export type {
  EnqueueMiddleware,
  JobEnqueued,
  JobsToEnqueue,
} from './gearmonkey/core/client/enqueue-middleware.js';
export {
  instrumentation,
  subscribeTo,
  type ClaimEvent,
  type EnqueueEvent,
  type EventChannel,
  type EventListeners,
  type InstrumentationChannels,
  type InstrumentedEvent,
  type LeaseEvent,
  type RunEnd,
  type RunEvent,
  type SettleEvent,
  type TurnEvent,
} from './job/instrumentation.js';
export type { Health } from './job/health.js';
export { GearMonkeyHealth, type InstanceHealth } from './nest/gearmonkey.health.js';
export { GearMonkeyExceptionFilter } from './nest/gearmonkey-exception.filter.js';

// Job systems of your own.
export type {
  Claim,
  FreeSlots,
  JobOptions,
  JobSource,
  OnRevoked,
  Outcome,
  SourceLimit,
} from './job/job-source.js';
export { ALL_CAPABILITIES, type SourceCapabilities } from './job/source-capabilities.js';
export type {
  SourceField,
  SourceRow,
  SourceTable,
  SourceTables,
  TableCell,
  TableEnqueue,
  TableRequest,
  TableVerb,
} from './job/source-tables.js';

// Errors.
export {
  ChangedByCodecError,
  ConfigurationError,
  GearMonkeyError,
  InvalidFunctionNameError,
  InvalidOptionError,
  JobBegunError,
  JobFailedError,
  JobLostError,
  JobNotFoundError,
  MalformedJobError,
  NoWorkersError,
  NotCancellableError,
  NotSerializableError,
  PayloadTooLargeError,
  type PayloadPart,
  UnknownFunctionError,
  UnreadablePayloadError,
  ValidationError,
  WaitTimeoutError,
  isErrorInfo,
  type ErrorDetail,
  type JobErrorInfo,
  type ValidationIssue,
} from './job/errors.js';
export {
  ConnectionError,
  EnqueueTimeoutError,
  NotDurableError,
  PartlyEnqueuedError,
  RefusedError,
} from './job/server-errors.js';
export {
  AttemptFailedError,
  JobAbortedError,
  JobCancelledError,
  JobTimeoutError,
  JobWaitsError,
  LeaseLostError,
  ShutdownError,
} from './job/abort-errors.js';
export {
  MalformedScheduleError,
  ScheduleExistsError,
  ScheduleNotFoundError,
  ScheduleOfOtherAppError,
} from './job/schedule-errors.js';
export {
  DuplicateStepError,
  SignalTimeoutError,
  StepsChangedError,
  StepTooLargeError,
} from './job/step-errors.js';
export {
  FlowCycleError,
  FlowSlotsError,
  FlowTooLargeError,
  ParentLostError,
  UnknownParentError,
} from './job/flow-errors.js';
export { HoldKeyError, LimitFullError, LimitKeyError, LimitUnknownError } from './job/limit-errors.js';
