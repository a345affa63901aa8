import {
  Inject,
  Module,
  Optional,
  type DynamicModule,
  type INestApplicationContext,
  type ModuleMetadata,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { InvalidOptionError } from '../job/errors.js';
import { GearMonkeyModule } from '../nest/gearmonkey.module.js';
import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import { withdrawProvider } from '../nest/withdraw-provider.js';
import { BACKENDS, getGearMonkeyClientToken } from '../nest/tokens.js';
import { GearMonkeyTestClient } from './test-client.js';
import { TestInstances } from './test-instances.js';
import type { TestJobs } from './test-jobs.js';
import { JobTestingError } from './testing-errors.js';
import { splitOptions, type TestingModuleOptions, type TestingOptions } from './testing-options.js';

/**
 * Runs the jobs of an app in a test: without a server, with the test's clock, and only when the test says so. Its clients
 * are GearMonkeyTestClients: `module.get(GearMonkeyTestClient).test`.
 */
@Module({})
export class GearMonkeyTestingModule {
  /** @internal @throws JobTestingError for the class itself in `imports` */
  constructor(@Optional() @Inject(TestInstances) instances?: TestInstances) {
    if (instances) return;
    throw new JobTestingError(
      'GearMonkeyTestingModule is imported without options. Import GearMonkeyTestingModule.forRoot(), or .override(AppModule) ' +
        'for a whole app.',
    );
  }

  /** Replaces `GearMonkeyModule.forRoot`, for tests that choose their providers. */
  static forRoot(options: TestingModuleOptions = {}): DynamicModule {
    const { testing, instances = [DEFAULT_INSTANCE], module } = splitOptions(options);
    const roots = instances.map((name) =>
      GearMonkeyModule.forRoot({
        connection: 'memory:',
        ...module,
        ...(name === DEFAULT_INSTANCE ? {} : { name }),
      }),
    );
    return testingModule(roots, testing);
  }

  /**
   * Imports a whole app with all its instances, for any source of jobs. Nothing connects to a server of the app.
   * `Test.createTestingModule({ imports: [GearMonkeyTestingModule.override(AppModule)] })`.
   */
  static override(
    app: NonNullable<ModuleMetadata['imports']>[number],
    options: TestingOptions = {},
  ): DynamicModule {
    if (Array.isArray(app)) throw new InvalidOptionError('app', app, 'one module, as in override(AppModule)');
    return testingModule([app], options);
  }
}

function testingModule(
  imports: NonNullable<ModuleMetadata['imports']>,
  options: TestingOptions,
): DynamicModule {
  return {
    module: GearMonkeyTestingModule,
    global: true,
    imports,
    providers: [
      { provide: TestInstances, useFactory: () => new TestInstances(options) },
      { provide: BACKENDS, inject: [TestInstances], useFactory: (test: TestInstances) => test.backendOf },
      {
        provide: GearMonkeyTestClient,
        inject: [{ token: getGearMonkeyClientToken(), optional: true }, ModulesContainer],
        useFactory: (client: unknown, modules: ModulesContainer) =>
          client instanceof GearMonkeyTestClient ? client : withdraw(modules),
      },
    ],
    exports: [TestInstances, BACKENDS, GearMonkeyTestClient],
  };
}

/** Of an app whose instances all have names: a test that asks Nest for the client finds nothing. */
function withdraw(modules: ModulesContainer): undefined {
  return withdrawProvider({
    token: GearMonkeyTestClient,
    beside: TestInstances,
    modules,
    refuse: () => undefined,
  });
}

/**
 * Returns the methods for tests of a named instance, also of one whose jobs come from a `source` of another system, where
 * the app has no GearMonkeyClient. @throws JobTestingError
 */
export function testJobsOf(
  app: Pick<INestApplicationContext, 'get'>,
  instance: string = DEFAULT_INSTANCE,
): TestJobs {
  return instancesOf(app).get(instance);
}

function instancesOf(app: Pick<INestApplicationContext, 'get'>): TestInstances {
  try {
    return app.get<TestInstances>(TestInstances, { strict: false });
  } catch (cause) {
    throw new JobTestingError(
      'This app runs without GearMonkeyTestingModule. Import GearMonkeyTestingModule.forRoot(), or .override(AppModule) in place ' +
        'of the app, in Test.createTestingModule.',
      { cause },
    );
  }
}
