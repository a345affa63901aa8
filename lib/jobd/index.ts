export { RequestError, PeerLostError } from './vocabulary/errors.js';
export { DatabaseError, DatabaseSetupError } from './storage/errors.js';
export type { DatabaseLocation, FileLocation, ServerLocation } from './storage/database-location.js';
export type { OrphanPolicy } from './storage/daemon-registry.js';
export type { JobsTable, JobStatus as JobdStatus } from './storage/schema.js';
export { initDatabase } from './storage/init-database.js';
export type { JobdLog } from './vocabulary/log.js';
export type { JobResult } from './vocabulary/job-result.js';
export type { ManualReply } from './protocol/job-results.js';
export type { UsePosixSpawn } from './launcher/start-process.js';
export type { LauncherOptions } from './launcher/launcher.js';
export { JobdDaemon } from './daemon/jobd-daemon.js';
export type { DaemonOptions } from './daemon/daemon-options.js';
export type { TargetOptions } from './rows/targets.js';
export type {
  DaemonOperations,
  DaemonStatus,
  JobRun,
  ManualResults,
  TargetStatus,
} from './vocabulary/operations.js';
export { JobdWorker, type JobdWorkerOptions } from './worker/jobd-worker.js';
export { JobdMaster, type JobdMasterOptions } from './master/jobd-master.js';
export type { JobAddress } from './master/manual-jobs.js';
export type { AuthOptions } from './protocol/authentication.js';
export type { MasterAddress as JobdMasterAddress } from './protocol/master-address.js';
export { JobdSource } from './source/jobd-source.js';
export { jobd } from './nest/jobd.js';
export type { TableRow } from './source/row-input.js';
export type { JobdSourceOptions } from './source/source-options.js';
export { JobdClient, type JobRow, type NewRow } from './nest/jobd.client.js';
export { JobdInstance } from './nest/jobd.instance.js';
export { JobdModule } from './nest/jobd.module.js';
export type {
  JobdModuleAsyncOptions,
  JobdModuleOptions,
  JobdOptionsFactory,
  ListenOptions as JobdListenOptions,
  MasterModuleOptions,
  ServerAddress as JobdServerAddress,
  WorkerModuleOptions,
} from './nest/jobd.options.js';
