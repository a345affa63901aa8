export type { AuditEvent } from './audit.js';
export type { Action as DashboardAction, ApiError as DashboardApiError } from './api.js';
export { basicAuth, type BasicAuthOptions, type BasicUser } from './basic-auth.js';
export { DashboardOpenError } from './dashboard-errors.js';
export { DashboardUrl } from './dashboard-url.js';
export { DashboardModule, type DashboardModuleAsyncOptions } from './dashboard.module.js';
export type {
  DashboardAuth,
  DashboardModuleOptions,
  DashboardOptions,
  DashboardRequest,
  DashboardUser,
  ShownText,
} from './dashboard.options.js';
