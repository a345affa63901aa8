export { startJqMaster } from './nest/start-jq-master.js';
export type { JqMaster } from './master/listen-master.js';
export { EmbeddedJqMaster, JqMasterModule } from './nest/jq-master.module.js';
export type {
  CallbackOptions,
  Identity as JqIdentity,
  JqMasterOptions,
  Pem,
  Role as JqRole,
  ServerTls as JqServerTls,
} from './master/master-options.js';
export type { EngineOptions } from './engine/settings.js';
export type { Condition, Constraint, RateLimit, StorableScalar } from './constraints/constraint.js';
export { jq } from './worker/jq-source.js';
export type { JqSourceOptions, ListenOptions as JqListenOptions } from './worker/source-options.js';
export { JqClient, type JqClientOptions } from './client/jq-client.js';
export type { JqEnqueueOptions } from './client/enqueue-options.js';
export type { JqJob, JqStatus } from './client/jq-job.js';
export { JqJobHandle, type JqPollOptions } from './client/jq-job-handle.js';
export { JqJobFailedError, JqJobNotFoundError, JqNotCancellableError } from './client/client-errors.js';
export { getJqClientToken, InjectJq, JqModule, type JqModuleOptions } from './nest/jq.module.js';
export type { MasterAddress as JqMasterAddress } from './http/master-http.js';
export { JqRefusedError, JqUnreachableError } from './http/master-errors.js';
export { messagePack, rawMessagePack } from './message-pack/codec.js';
export { sign, verify, type SignatureHeaders, type VerifyOptions } from './wire/signature.js';
