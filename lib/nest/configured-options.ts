import {
  Inject,
  Injectable,
  Optional,
  type InjectionToken,
  type OptionalFactoryDependency,
  type Type,
} from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { ConfigurationError } from '../job/errors.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';

/** The argument of a function of the configuration: ConfigService of `@nestjs/config`, or an object with the same method. */
export interface Configuration {
  get(key: never): unknown;
}

/** A function that makes options from the configuration when the app starts. */
export type OptionsOf<Options, Config extends Configuration> = (config: Config) => Options | Promise<Options>;

/** A factory that makes options from injected providers, which the decorated class could also inject. */
export interface OptionsFactory<Options> {
  /** The module instance, which is known before the factory is called. @default the instance without a name */
  instance?: string;
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...injected: never[]) => Options | Promise<Options>;
}

/** A decorator's options, or the function that makes them. */
export interface Configured<Options> {
  readonly instance: string;
  /** Absent if a factory makes them. */
  readonly options?: Options;
  readonly factory?: Factory;
}

interface Factory {
  /** The injected providers; absent for the configuration, if there is one. */
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[] | undefined;
  readonly make: (...injected: never[]) => unknown;
}

const FACTORY = optionNames<Required<OptionsFactory<object>>>({
  instance: true,
  inject: true,
  useFactory: true,
});

/** Reads a decorator's argument. @throws ConfigurationError */
export function readConfigured<Options extends { instance?: string }>(
  decorator: string,
  given: Options | OptionsFactory<object> | ((config: never) => unknown),
  known: ReadonlySet<string>,
): Configured<Omit<Options, 'instance'>> {
  if (typeof given === 'function') return { instance: DEFAULT_INSTANCE, factory: { make: given } };
  if (typeof given === 'object' && given !== null && 'useFactory' in given) {
    const { instance = DEFAULT_INSTANCE, inject = [], useFactory } = checkOptions(decorator, given, FACTORY);
    if (typeof useFactory !== 'function')
      throw new ConfigurationError(`\`useFactory\` of ${decorator} must be a function that returns options.`);
    if (!Array.isArray(inject))
      throw new ConfigurationError(
        `\`inject\` of ${decorator} must be a list of providers: inject: [Settings].`,
      );
    return { instance, factory: { inject, make: useFactory } };
  }
  const { instance = DEFAULT_INSTANCE, ...options } = checkOptions(decorator, given, known);
  return { instance, options };
}

/** Makes the options of decorated methods when the app starts. */
@Injectable()
export class ConfiguredOptions {
  constructor(
    private readonly core: ModuleRef,
    private readonly modules: ModulesContainer,
  ) {}

  /**
   * @param user name for messages
   * @param host the class's module, whose imports `inject` can use
   * @throws ConfigurationError, and errors of the factory
   */
  async of<Options extends object>(
    configured: Configured<Options>,
    user: string,
    known: ReadonlySet<string>,
    host: ModuleRef | undefined,
  ): Promise<Options> {
    const { options, factory } = configured;
    if (options) return options;
    if (!factory) return {} as Options;
    const injected = factory.inject
      ? await inject(host ?? this.core, factory.inject, user)
      : [this.configuration(factory, user)];
    const made: unknown = await factory.make(...(injected as never[]));
    if (typeof made === 'object' && made !== null && 'instance' in made)
      throw new ConfigurationError(
        `The options that a function makes for ${user} contain \`instance\`. Write it beside the function: { instance: '…', inject: […], useFactory: … }.`,
      );
    return fromText(checkOptions(user, made as Options, known));
  }

  /** A function without parameters may read process.env, which contains the .env file by then. */
  private configuration({ make }: Factory, user: string): unknown {
    const token = configServiceOf(this.modules);
    if (token) return this.core.get<unknown>(token, { strict: false });
    if (make.length === 0) return undefined;
    throw new ConfigurationError(
      `The options of ${user} are a function of the configuration, and this app has no ConfigService. Import ` +
        'ConfigModule.forRoot() of @nestjs/config, or say what the function takes: { inject: [Settings], useFactory: (settings) => ({ … }) }.',
    );
  }
}

/** Converts text from the environment; empty text counts as absent. */
function fromText<Options extends object>(made: Options): Options {
  const entries = Object.entries(made).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(
    entries.map(([name, value]) => [name, READERS[name]?.(value) ?? value]),
  ) as Options;
}

const READERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  concurrency: (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value),
  enabled: (value) => (value === 'true' ? true : value === 'false' ? false : value),
};

/** Lets Nest resolve the providers like constructor parameters, so its message names a missing one. */
async function inject(
  moduleRef: ModuleRef,
  tokens: readonly (InjectionToken | OptionalFactoryDependency)[],
  user: string,
): Promise<readonly unknown[]> {
  class Injected {
    readonly all: readonly unknown[];
    constructor(...all: unknown[]) {
      this.all = all;
    }
  }
  Object.defineProperty(Injected, 'name', { value: `options of ${user}` });
  tokens.forEach((dependency, index) => {
    if (!dependency)
      throw new ConfigurationError(
        `The options of ${user} inject ${String(dependency)} as number ${index + 1} of \`inject\`. If files import ` +
          'each other in a cycle, move the provider to a file of its own.',
      );
    const isOptional = typeof dependency === 'object' && 'optional' in dependency;
    Inject(isOptional ? dependency.token : (dependency as InjectionToken))(Injected, undefined, index);
    if (isOptional && dependency.optional) Optional()(Injected, undefined, index);
  });
  return (await moduleRef.create<Injected>(Injected)).all;
}

/**
 * Finds ConfigService by the token of `@nestjs/config`, which need not be installed. Without this token, as in a
 * test with a substitute, it finds a provider of that name.
 */
function configServiceOf(modules: ModulesContainer): Type | undefined {
  const providers = [...modules.values()].flatMap(({ providers: own }) => [...own]);
  const byToken = providers.find(
    ([token]) => typeof token === 'symbol' && token.description === 'CONFIG_SERVICE',
  );
  const service: unknown = byToken?.[1].metatype;
  if (typeof service === 'function') return service as Type;
  const named = providers.find(([token]) => typeof token === 'function' && token.name === 'ConfigService');
  return named?.[0] as Type | undefined;
}
