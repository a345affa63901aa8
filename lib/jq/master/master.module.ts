import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { nestLog } from '../../nest/nest-log.js';
import { JqEngine } from '../engine/engine.js';
import { DeadLettersController } from './api/dead-letters.controller.js';
import { JobsApiController } from './api/jobs-api.controller.js';
import { OverviewController } from './api/overview.controller.js';
import { ClientPolls } from './client-polls.js';
import { ConstraintController } from './constraint.controller.js';
import { ErrorFilter } from './error.filter.js';
import { HealthController } from './health.controller.js';
import { JobController } from './job.controller.js';
import { MASTER_SETTINGS, masterSettings, type JqMasterOptions } from './master-options.js';
import { MasterLifecycle } from './master.lifecycle.js';
import { JqMetrics } from './metrics/jq-metrics.js';
import { MetricsController } from './metrics/metrics.controller.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { AccessGuard } from './access.guard.js';
import { WorkerController } from './worker.controller.js';
import { WorkerPusher } from './worker-pusher.js';

/** The master as a Nest module. It needs the adapter and the settings of `startJqMaster`. */
@Module({})
export class MasterModule {
  /** @throws InvalidOptionError, ConfigurationError */
  static forRoot(options: JqMasterOptions): DynamicModule {
    const settings = masterSettings(options);
    return {
      module: MasterModule,
      controllers: [
        WorkerController,
        JobController,
        ConstraintController,
        JobsApiController,
        DeadLettersController,
        OverviewController,
        HealthController,
        MetricsController,
        OpenApiController,
      ],
      providers: [
        { provide: MASTER_SETTINGS, useFactory: () => settings },
        { provide: APP_FILTER, useClass: ErrorFilter },
        { provide: APP_GUARD, useClass: AccessGuard },
        { provide: JqMetrics, useFactory: () => JqMetrics.load(settings.metrics) },
        ClientPolls,
        WorkerPusher,
        MasterLifecycle,
        {
          provide: JqEngine,
          inject: [WorkerPusher, JqMetrics],
          useFactory: (pusher: WorkerPusher, metrics: JqMetrics) => engineOf(options, pusher, metrics),
        },
      ],
    };
  }
}

function engineOf(options: JqMasterOptions, pusher: WorkerPusher, metrics: JqMetrics): JqEngine {
  const log = nestLog('JqMaster');
  const engine: JqEngine = new JqEngine({
    ...options,
    onHanded: (jobs) => pusher.pushAll(engine, jobs),
    onProbes: (probes) => pusher.probeAll(engine, probes),
    onTally: (tally) => metrics.count(tally),
    onProblem: (message) => log.warn(message),
  });
  return engine;
}
