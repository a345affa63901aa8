import {
  Module,
  type DynamicModule,
  type InjectionToken,
  type ModuleMetadata,
  type OptionalFactoryDependency,
  type Provider,
} from '@nestjs/common';
import { GearMonkeyCoreModule } from '../nest/gearmonkey.module.js';
import { AccessGuard } from './access.guard.js';
import { DashboardActions } from './actions.js';
import { ApiFilter } from './api.filter.js';
import { BulkRuns } from './bulk-runs.js';
import { Closing } from './closing.js';
import { controllerAt } from './dashboard.controller.js';
import {
  checkDashboard,
  checkPath,
  DASHBOARD,
  DASHBOARD_PATH,
  type DashboardModuleOptions,
  type DashboardOptions,
} from './dashboard.options.js';
import { FlowReads } from './flow-reads.js';
import { FunctionReads } from './function-reads.js';
import { JobReads } from './job-reads.js';
import { LiveUpdates } from './live.js';
import { LocalAccess } from './local-access.js';
import { DashboardUrl } from './dashboard-url.js';
import { LoopbackOnly } from './loopback-only.js';
import { PageAssets } from './page-assets.js';
import { Redaction } from './redaction.js';
import { RouteGuard } from './route.guard.js';
import { SharedReads } from './shared-reads.js';
import { Snapshots } from './snapshots.js';
import { SystemReads } from './system-reads.js';
import { DashboardAccess } from './viewed-instance.js';

/** Options of `DashboardModule.forRootAsync`. */
export interface DashboardModuleAsyncOptions extends Pick<DashboardModuleOptions, 'path'> {
  imports?: ModuleMetadata['imports'];
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...injected: never[]) => DashboardOptions | Promise<DashboardOptions>;
}

/** A page at `path` that shows the jobs of all instances of the app. Import it beside `GearMonkeyModule`. */
@Module({})
export class DashboardModule {
  /** The app fails to start with a DashboardOpenError in production without `auth`. @throws ConfigurationError */
  static forRoot(options: DashboardModuleOptions = {}): DynamicModule {
    return dashboardAt(options.path, { provide: DASHBOARD, useFactory: () => checkDashboard(options) });
  }

  /** The same with options from a factory. `path` is given beside the factory. @throws ConfigurationError */
  static forRootAsync({
    path,
    imports = [],
    inject = [],
    useFactory,
  }: DashboardModuleAsyncOptions): DynamicModule {
    const make = async (...injected: never[]) => checkDashboard(await useFactory(...injected));
    return dashboardAt(path, { provide: DASHBOARD, inject, useFactory: make }, imports);
  }
}

function dashboardAt(
  path: string | undefined,
  options: Provider,
  imports: ModuleMetadata['imports'] = [],
): DynamicModule {
  const checked = checkPath(path);
  const { controller, providers } = controllerAt(checked);
  return {
    module: DashboardModule,
    imports: [...imports, GearMonkeyCoreModule],
    controllers: [controller],
    providers: [
      options,
      { provide: DASHBOARD_PATH, useValue: checked },
      ...providers,
      ...[AccessGuard, RouteGuard, ApiFilter, DashboardAccess, Redaction],
      ...[JobReads, FlowReads, FunctionReads, SystemReads],
      ...[BulkRuns, Snapshots, SharedReads, DashboardActions, LiveUpdates, PageAssets, Closing],
      ...[LocalAccess, DashboardUrl, LoopbackOnly],
    ],
  };
}
