import {
  ConfigurableModuleBuilder,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { JobdDaemon } from '../daemon/jobd-daemon.js';
import { JobdMaster } from '../master/jobd-master.js';
import { JobdClient } from './jobd.client.js';
import { JobdInstance } from './jobd.instance.js';
import { nestLog } from './nest-log.js';
import type { JobdModuleOptions } from './jobd.options.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<JobdModuleOptions>({
  moduleName: 'Jobd',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createJobdOptions')
  .setExtras({}, (definition) => ({ ...definition, global: true }))
  .build();

/**
 * jobd in an app: `JobdClient` always, `JobdDaemon` and `JobdMaster` where the options have a `worker` and a
 * `master` (undefined is injected where they haven't). They start when the app is ready, and stop in order.
 *
 * @see JobdModuleOptions
 */
@Module({
  providers: [
    {
      provide: JobdInstance,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: JobdModuleOptions) => new JobdInstance(options, nestLog()),
    },
    { provide: JobdClient, inject: [JobdInstance], useFactory: ({ client }: JobdInstance) => client },
    { provide: JobdDaemon, inject: [JobdInstance], useFactory: ({ daemon }: JobdInstance) => daemon },
    { provide: JobdMaster, inject: [JobdInstance], useFactory: ({ master }: JobdInstance) => master },
  ],
  exports: [JobdInstance, JobdClient, JobdDaemon, JobdMaster],
})
export class JobdModule
  extends ConfigurableModuleClass
  implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  /** @internal */
  constructor(private readonly instance: JobdInstance) {
    super();
  }

  onApplicationBootstrap(): Promise<void> {
    return this.instance.start();
  }

  /** Running jobs may still use what the app has: no other hook has been called yet. */
  onModuleDestroy(): Promise<void> {
    return this.instance.stopWork();
  }

  onApplicationShutdown(): Promise<void> {
    return this.instance.close();
  }
}
