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

/** What a function of the configuration is given: ConfigService of `@nestjs/config`, or what reads like it. */
export interface Configuration {
  get(key: never): unknown;
}

/** Options that a function makes of the configuration when the app starts. */
export type OptionsOf<Options, Config extends Configuration> = (config: Config) => Options | Promise<Options>;

/** Options that a factory makes of what it injects, as the decorated class could. */
export interface OptionsFactory<Options> {
  /** The module instance, which is known before the factory is called. @default the instance without a name */
  instance?: string;
  inject?: (InjectionToken | OptionalFactoryDependency)[];
  useFactory: (...injected: never[]) => Options | Promise<Options>;
}

/** A decorator's options, or what makes them. */
export interface Configured<Options> {
  readonly instance: string;
  /** Absent where a factory makes them. */
  readonly options?: Options;
  readonly factory?: Factory;
}

interface Factory {
  /** Absent: the configuration, if there is one. */
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[] | undefined;
  readonly make: (...injected: never[]) => unknown;
}

const FACTORY = optionNames<Required<OptionsFactory<object>>>({
  instance: true,
  inject: true,
  useFactory: true,
});

/** What a decorator was given. @throws ConfigurationError */
export function readConfigured<Options extends { instance?: string }>(
  decorator: string,
  given: Options | OptionsFactory<object> | ((config: never) => unknown),
  known: ReadonlySet<string>,
): Configured<Omit<Options, 'instance'>> {
  if (typeof given === 'function') return { instance: DEFAULT_INSTANCE, factory: { make: given } };
  if (typeof given === 'object' && given !== null && 'useFactory' in given) {
    const { instance = DEFAULT_INSTANCE, inject = [], useFactory } = checkOptions(decorator, given, FACTORY);
    if (typeof useFactory !== 'function')
      throw new ConfigurationError(`\`useFactory\` of ${decorator} is no function that returns options.`);
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
   * @param user as messages name it
   * @param host of the class's module, whose imports an `inject` sees
   * @throws ConfigurationError, and what the factory throws
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
    return checkOptions(user, fromText(made as Options), known);
  }

  /** A function that takes nothing may read process.env, which has the .env file by then. */
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

/** What a configuration reads from the environment is text; an empty one says nothing. */
function fromText<Options>(made: Options): Options {
  if (typeof made !== 'object' || made === null || Array.isArray(made)) return made;
  const entries = Object.entries(made).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(
    entries.map(([name, value]) => [name, READERS[name]?.(value) ?? value]),
  ) as Options;
}

const READERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  concurrency: (value) => (typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value),
  enabled: (value) => (value === 'true' ? true : value === 'false' ? false : value),
};

/** Nest resolves it as it does a constructor's parameters, and its message names the one that is missing. */
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
    const isOptional = typeof dependency === 'object' && 'optional' in dependency;
    Inject(isOptional ? dependency.token : (dependency as InjectionToken))(Injected, undefined, index);
    if (isOptional && dependency.optional) Optional()(Injected, undefined, index);
  });
  return (await moduleRef.create<Injected>(Injected)).all;
}

/**
 * The class that `@nestjs/config` provides, by the token that it has for it: the package need not be installed.
 * Where there is no such token, as in an app with a stand-in or a class of its own, a provider of that name.
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
