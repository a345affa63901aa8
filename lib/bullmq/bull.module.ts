import {
  Module,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ConfigurationError } from '../job/errors.js';
import { clientOf, type GearMonkeyInstance } from '../nest/gearmonkey.instance.js';
import { GearMonkeyCoreModule, GearMonkeyModule } from '../nest/gearmonkey.module.js';
import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import { getInstanceToken } from '../nest/tokens.js';
import {
  queueOptionsOf,
  rootOptionsOf,
  type BullAsyncOptions,
  type BullRootModuleOptions,
  type RegisterQueueAsyncOptions,
  type RegisterQueueOptions,
  type RootOptions,
  type SharedBullAsyncConfiguration,
} from './bull.options.js';
import { getQueueToken } from './processor.decorator.js';
import { ProcessorOrchestrator } from './processor.orchestrator.js';
import { Queue } from './queue.js';
import { unsupported } from './unsupported.js';

/** What all queues of an app share. */
@Module({ imports: [DiscoveryModule, GearMonkeyCoreModule], providers: [ProcessorOrchestrator] })
class BullCoreModule {}

/**
 * `BullModule` of @nestjs/bullmq with the jobs of GearMonkey: an app changes its imports file by file, and its code later. A
 * queue is a function of the queue's name, so files that are not moved yet and files that are enqueue and run the same jobs.
 *
 * @see docs/guides/from-bullmq.md
 */
@Module({})
export class BullModule {
  /** Makes an instance of GearMonkeyModule, whose client can be injected too; with a key, one of that name. */
  static forRoot(options: BullRootModuleOptions): DynamicModule;
  static forRoot(configKey: string, options: BullRootModuleOptions): DynamicModule;
  static forRoot(first: string | BullRootModuleOptions, second?: BullRootModuleOptions): DynamicModule {
    const [key, options] = typeof first === 'string' ? [first, second] : [undefined, first];
    return rootModule(key, { useFactory: () => options as BullRootModuleOptions });
  }

  /** The same with options from a factory, which may inject providers. */
  static forRootAsync(options: SharedBullAsyncConfiguration): DynamicModule;
  static forRootAsync(configKey: string, options: SharedBullAsyncConfiguration): DynamicModule;
  static forRootAsync(
    first: string | SharedBullAsyncConfiguration,
    second?: SharedBullAsyncConfiguration,
  ): DynamicModule {
    const [key, options] = typeof first === 'string' ? [first, second] : [undefined, first];
    return rootModule(key, options ?? {});
  }

  /** Makes queues that the importing module may inject with `@InjectQueue(name)`. */
  static registerQueue(...options: RegisterQueueOptions[]): DynamicModule {
    return queueModule(options.map((each) => [each, { useFactory: () => each }]));
  }

  /** The same with options from a factory. */
  static registerQueueAsync(...options: RegisterQueueAsyncOptions[]): DynamicModule {
    return queueModule(options.map((each) => [each, each]));
  }

  /** @throws ConfigurationError always */
  static registerFlowProducer(): never {
    throw unsupported('FlowProducer', 'Use GearMonkeyClient.flow (docs/guides/flows.md).');
  }
}

type AnyFactory = (...args: unknown[]) => unknown;

function rootModule(name: string = DEFAULT_INSTANCE, given: SharedBullAsyncConfiguration): DynamicModule {
  const options = optionsModule(rootToken(name), given, 'createSharedConfiguration', (made) =>
    rootOptionsOf(made as BullRootModuleOptions),
  );
  const instance = GearMonkeyModule.forRootAsync({
    name,
    imports: [options],
    inject: [rootToken(name)],
    useFactory: (root: RootOptions) => root.instance,
  });
  return {
    module: BullModule,
    global: true,
    imports: [options, instance, BullCoreModule],
    exports: [options],
  };
}

function queueModule(
  queues: readonly (readonly [RegisterQueueOptions | RegisterQueueAsyncOptions, RegisterQueueAsyncOptions])[],
): DynamicModule {
  const options = queues.map(([{ name }, given]) =>
    optionsModule(queueOptionsToken(name), given, 'createRegisterQueueOptions', (made) =>
      queueOptionsOf(made as RegisterQueueOptions),
    ),
  );
  const providers = queues.map(([{ name, configKey }]) => queueProvider(name, configKey));
  return {
    module: BullModule,
    imports: [...options, BullCoreModule],
    providers,
    exports: providers.map(({ provide }) => provide),
  };
}

function queueProvider(name: string = 'default', instance: string = DEFAULT_INSTANCE): FactoryProvider {
  return {
    provide: getQueueToken(name),
    inject: [
      queueOptionsToken(name),
      { token: getInstanceToken(instance), optional: true },
      { token: rootToken(instance), optional: true },
    ],
    useFactory: (own: RegisterQueueOptions, found?: GearMonkeyInstance, root?: RootOptions) => {
      const user = `The queue "${name}"`;
      const key = instance === DEFAULT_INSTANCE ? '' : `'${instance}', `;
      if (!found)
        throw new ConfigurationError(
          `${user} has no server: import BullModule.forRoot(${key}{ connection }) of nestjs-gearmonkey/bullmq in the root module.`,
        );
      const { priorities = root?.rules.priorities, defaultJobOptions } = own;
      const defaults = { ...root?.rules.defaultJobOptions, ...defaultJobOptions };
      return new Queue({ name, client: clientOf(found, user), priorities }, instance, defaults);
    },
  };
}

/** A module that makes options once, for all that inject them. */
function optionsModule(
  token: string,
  given: BullAsyncOptions<object, object>,
  method: string,
  check: (options: unknown) => object,
): DynamicModule {
  const { imports = [], extraProviders = [], useFactory, useClass, useExisting, inject = [] } = given;
  const factory = useClass ?? useExisting;
  const make = useFactory as AnyFactory | undefined;
  const provider: Provider = factory
    ? {
        provide: token,
        inject: [factory],
        useFactory: async (made: Readonly<Record<string, AnyFactory | undefined>>) =>
          check(await made[method]?.call(made)),
      }
    : { provide: token, inject, useFactory: async (...args: unknown[]) => check(await make?.(...args)) };
  const classes: Provider[] = useClass ? [useClass as Type] : [];
  return {
    module: BullOptionsModule,
    imports: imports as NonNullable<ModuleMetadata['imports']>,
    providers: [...extraProviders, ...classes, provider],
    exports: [token],
  };
}

@Module({})
class BullOptionsModule {}

function rootToken(name: string): string {
  return `GearMonkeyBullRoot:${name}`;
}

function queueOptionsToken(name: string = 'default'): string {
  return `GearMonkeyBullQueue:${name}`;
}
