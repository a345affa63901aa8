import { ConfigurableModuleBuilder, Logger, Module, type DynamicModule, type Provider } from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import type { AnyJobDefinition } from '../job/job-definition.js';
import { inLines } from '../worker/worker-log.js';
import { createInstance, type GearMonkeyInstance } from './gearmonkey.instance.js';
import { GearMonkeyHealth } from './gearmonkey.health.js';
import { DEFAULT_INSTANCE, type GearMonkeyModuleOptions } from './gearmonkey.options.js';
import { HandlerContext } from './handler-context.js';
import { InstanceRegistry } from './instance.registry.js';
import { getClientToken, getInstanceToken } from './tokens.js';
import { WorkerExplorer } from './worker.explorer.js';
import { WorkerOrchestrator } from './worker.orchestrator.js';

const NEARER_THAN_ROOT = 0;

/** What all instances of an app share. */
@Module({
  imports: [DiscoveryModule],
  providers: [InstanceRegistry, GearMonkeyHealth, WorkerExplorer, HandlerContext, WorkerOrchestrator],
  exports: [InstanceRegistry, GearMonkeyHealth],
})
export class GearMonkeyCoreModule {
  /**
   * Nest calls hooks from the module farthest from the root to the nearest when an app starts, and the
   * other way round when it closes. Workers start after all others and stop before them.
   */
  constructor(modules: ModulesContainer) {
    for (const module of modules.values()) {
      if (module.metatype === GearMonkeyCoreModule) module.distance = NEARER_THAN_ROOT;
    }
  }
}

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<GearMonkeyModuleOptions>({
    moduleName: 'GearMonkey',
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createGearMonkeyOptions')
    .setExtras({ name: DEFAULT_INSTANCE }, (definition, { name }) => ({
      ...definition,
      global: true,
      imports: [...(definition.imports ?? []), GearMonkeyCoreModule],
      providers: [...(definition.providers ?? []), ...instanceProviders(name)],
      exports: [getClientToken(name), getInstanceToken(name), GearMonkeyCoreModule],
    }))
    .build();

/**
 * Background jobs for an app: `GearMonkeyModule.forRoot({ connection })` in the root module makes
 * `GearMonkeyClient` injectable everywhere and runs the methods decorated with `@Worker`.
 *
 * @see GearMonkeyModuleOptions
 */
@Module({})
export class GearMonkeyModule extends ConfigurableModuleClass {
  /** A client for these definitions only, in the module that imports it. */
  static forFeature(
    definitions: readonly AnyJobDefinition[],
    name: string = DEFAULT_INSTANCE,
  ): DynamicModule {
    const client = getClientToken(name);
    return {
      module: GearMonkeyModule,
      imports: [GearMonkeyCoreModule],
      providers: [
        {
          provide: client,
          inject: [getInstanceToken(name)],
          useFactory: (instance: GearMonkeyInstance) => instance.client.only(definitions),
        },
      ],
      exports: [client],
    };
  }
}

function instanceProviders(name: string): Provider[] {
  return [
    {
      provide: getInstanceToken(name),
      inject: [MODULE_OPTIONS_TOKEN, InstanceRegistry],
      useFactory: (options: GearMonkeyModuleOptions, registry: InstanceRegistry) =>
        registry.add(createInstance(name, options, inLines(new Logger('GearMonkey')))),
    },
    {
      provide: getClientToken(name),
      inject: [getInstanceToken(name)],
      useFactory: (instance: GearMonkeyInstance) => instance.client,
    },
  ];
}
