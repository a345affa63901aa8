import {
  ConfigurableModuleBuilder,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { ConfigurationError } from '../../job/errors.js';
import { withdrawProvider } from '../../nest/withdraw-provider.js';
import { JobdDaemon } from '../daemon/jobd-daemon.js';
import { JobdMaster } from '../master/jobd-master.js';
import { hideOptions } from '../../nest/hide-options.js';
import { JobdClient } from './jobd.client.js';
import { JobdInstance } from './jobd.instance.js';
import { jobdLog } from './jobd-log.js';
import type { JobdModuleOptions } from './jobd.options.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<JobdModuleOptions>({
  moduleName: 'Jobd',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createJobdOptions')
  .setExtras({}, (definition) => ({ ...hideOptions(definition), global: true }))
  .build();

/** A provider that exists only with its option. An app that needs it without the option does not start. */
function partOf<T extends object>(
  part: abstract new (...args: never[]) => T,
  option: 'worker' | 'master',
  read: (instance: JobdInstance) => T | undefined,
): Provider {
  const refuse = (user: string): never => {
    throw new ConfigurationError(
      `${user} uses ${part.name}, but the options of JobdModule have no \`${option}\`. Give them one, or inject it with @Optional().`,
    );
  };
  return {
    provide: part,
    inject: [JobdInstance, ModulesContainer],
    useFactory: (instance: JobdInstance, modules: ModulesContainer) =>
      read(instance) ?? withdrawProvider({ token: part, beside: JobdInstance, modules, refuse }),
  };
}

/**
 * jobd in an app: `JobdClient` always, `JobdDaemon` where the options have a `worker`, `JobdMaster` where they have a
 * `master`. An app that injects one of these without the option does not start, unless it is `@Optional()`. All start
 * when the app is ready, and stop in order.
 *
 * @see JobdModuleOptions
 */
@Module({
  providers: [
    {
      provide: JobdInstance,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: JobdModuleOptions) => new JobdInstance(options, jobdLog()),
    },
    { provide: JobdClient, inject: [JobdInstance], useFactory: ({ client }: JobdInstance) => client },
    partOf(JobdDaemon, 'worker', ({ daemon }) => daemon),
    partOf(JobdMaster, 'master', ({ master }) => master),
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

  /** Running jobs may still use all of the app: no other hook has been called yet. */
  onModuleDestroy(): Promise<void> {
    return this.instance.stopWork();
  }

  onApplicationShutdown(): Promise<void> {
    return this.instance.close();
  }
}
