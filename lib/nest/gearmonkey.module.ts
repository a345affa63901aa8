import { ConfigurableModuleBuilder, Module, type DynamicModule, type Provider } from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import type { GearMonkeyError } from '../job/errors.js';
import type { AnyJobDefinition } from '../job/job-definition.js';
import type { ConnectionSpec } from '../redis/connect.js';
import { asyncProblem, listed, optionsOf, type AsyncOptions } from './async-options.js';
import {
  clientOf,
  createInstance,
  type BackendFactory,
  type GearMonkeyInstance,
} from './gearmonkey.instance.js';
import { GearMonkeyHealth } from './gearmonkey.health.js';
import {
  DEFAULT_INSTANCE,
  type GearMonkeyModuleAsyncOptions,
  type GearMonkeyModuleOptions,
  type InstanceName,
} from './gearmonkey.options.js';
import { GearMonkeyWorkers } from './gearmonkey.workers.js';
import { ConfiguredOptions } from './configured-options.js';
import { HandlerBinder } from './handler-binder.js';
import { HandlerContext } from './handler-context.js';
import { InstanceRegistry } from './instance.registry.js';
import { nestLog } from './nest-log.js';
import { ObserverOrchestrator } from './observer.orchestrator.js';
import { RecurringOrchestrator } from './recurring.orchestrator.js';
import { BACKENDS, getGearMonkeyClientToken, getInstanceToken } from './tokens.js';
import { WorkerExplorer } from './worker.explorer.js';
import { WorkerOrchestrator } from './worker.orchestrator.js';
import { withdrawProvider } from './withdraw-provider.js';
import { noteModule } from './without-module.js';

const NEARER_THAN_ROOT = 0;

/** Providers that all instances of an app share. */
@Module({
  imports: [DiscoveryModule],
  providers: [
    InstanceRegistry,
    GearMonkeyHealth,
    GearMonkeyWorkers,
    WorkerExplorer,
    HandlerContext,
    ConfiguredOptions,
    HandlerBinder,
    ObserverOrchestrator,
    RecurringOrchestrator,
    WorkerOrchestrator,
  ],
  exports: [InstanceRegistry, GearMonkeyHealth, GearMonkeyWorkers],
})
export class GearMonkeyCoreModule {
  /**
   * When an app starts, Nest calls hooks from the module farthest from the root to the nearest; when it closes, the other
   * way round. This distance makes workers start after everything else, and stop first.
   */
  constructor(modules: ModulesContainer) {
    noteModule();
    for (const module of modules.values()) {
      if (module.metatype === GearMonkeyCoreModule) module.distance = NEARER_THAN_ROOT;
    }
  }
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<object>({
  moduleName: 'GearMonkey',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createGearMonkeyOptions')
  .build();

/**
 * Background jobs for an app: `GearMonkeyModule.forRoot({ connection })` in the root module makes
 * `GearMonkeyClient` injectable everywhere and runs the methods decorated with `@Worker`.
 *
 * @see GearMonkeyModuleOptions
 */
@Module({})
export class GearMonkeyModule {
  /**
   * Makes an instance: where its jobs come from, and how they are run.
   *
   * Does not throw: with wrong options the app fails to start, with a ConfigurationError or InvalidOptionError.
   */
  static forRoot<Connection extends ConnectionSpec>(
    options: GearMonkeyModuleOptions<Connection> & InstanceName,
  ): DynamicModule {
    // No value: a log of the module would show its passwords.
    const given = { provide: MODULE_OPTIONS_TOKEN, useFactory: () => options };
    return instanceModule((options as InstanceName | undefined)?.name, { providers: [given] });
  }

  /** The same with options from a factory, which may inject providers. `name` is given beside the factory. */
  static forRootAsync(options: GearMonkeyModuleAsyncOptions & InstanceName): DynamicModule {
    const problem = asyncProblem(options);
    if (problem) return instanceModule(undefined, { providers: [refusing(problem)] });
    const { imports, providers = [] } = ConfigurableModuleClass.forRootAsync(options);
    return instanceModule(options.name, { imports, providers: [...providers, ...factoryOptions(options)] });
  }

  /** Gives the importing module a client for these definitions only. */
  static forFeature(
    definitions: readonly AnyJobDefinition[],
    name: string = DEFAULT_INSTANCE,
  ): DynamicModule {
    const client = getGearMonkeyClientToken(name);
    return {
      module: GearMonkeyModule,
      imports: [GearMonkeyCoreModule],
      providers: [
        {
          provide: client,
          inject: [getInstanceToken(name)],
          useFactory: (instance: GearMonkeyInstance) =>
            clientOf(instance, 'GearMonkeyModule.forFeature').only(listed(definitions)),
        },
      ],
      exports: [client],
    };
  }
}

function instanceModule(
  name: string = DEFAULT_INSTANCE,
  { imports = [], providers = [] }: Pick<DynamicModule, 'imports' | 'providers'>,
): DynamicModule {
  return {
    module: GearMonkeyModule,
    global: true,
    imports: [...imports, GearMonkeyCoreModule],
    providers: [...providers, ...instanceProviders(name)],
    exports: [getGearMonkeyClientToken(name), getInstanceToken(name), GearMonkeyCoreModule],
  };
}

function refusing(problem: GearMonkeyError): Provider {
  return {
    provide: MODULE_OPTIONS_TOKEN,
    useFactory: () => {
      throw problem;
    },
  };
}

/** Replaces Nest's own provider, whose error does not explain that the class lacks the method. */
function factoryOptions({ useFactory, useClass, useExisting }: AsyncOptions): Provider[] {
  const factory = useExisting ?? useClass;
  if (useFactory || !factory) return [];
  return [{ provide: MODULE_OPTIONS_TOKEN, inject: [factory], useFactory: optionsOf }];
}

function instanceProviders(name: string): Provider[] {
  return [
    {
      provide: getInstanceToken(name),
      inject: [MODULE_OPTIONS_TOKEN, InstanceRegistry, { token: BACKENDS, optional: true }],
      useFactory: (
        options: GearMonkeyModuleOptions,
        registry: InstanceRegistry,
        backends: BackendFactory | undefined,
      ) => registry.add(createInstance(name, options, nestLog('GearMonkey'), backends)),
    },
    {
      provide: getGearMonkeyClientToken(name),
      inject: [getInstanceToken(name), ModulesContainer],
      useFactory: (instance: GearMonkeyInstance, modules: ModulesContainer) =>
        instance.client ??
        withdrawProvider({
          token: getGearMonkeyClientToken(name),
          beside: getInstanceToken(name),
          modules,
          refuse: (user) => clientOf(instance, user),
        }),
    },
  ];
}
