export { GearMonkeyTracingModule, type TracingModuleOptions } from './tracing.module.js';
export type { TraceRelation } from './job-traces.js';
