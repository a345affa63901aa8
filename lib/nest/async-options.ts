import { ConfigurationError, GearMonkeyError } from '../job/errors.js';
import type { AnyJobDefinition } from '../job/job-definition.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type {
  ConfiguredModuleOptions,
  GearMonkeyModuleAsyncOptions,
  InstanceName,
} from './gearmonkey.options.js';

export type AsyncOptions = Pick<GearMonkeyModuleAsyncOptions, 'useFactory' | 'useClass' | 'useExisting'>;

const USER = 'GearMonkeyModule.forRootAsync';
const KNOWN = optionNames<Required<GearMonkeyModuleAsyncOptions & InstanceName>>({
  useFactory: true,
  useClass: true,
  useExisting: true,
  inject: true,
  imports: true,
  provideInjectionTokensFrom: true,
  name: true,
});

/** Checks the argument of `forRootAsync`. The error is thrown when the app starts, as those of `forRoot` are. */
export function asyncProblem(given: GearMonkeyModuleAsyncOptions): GearMonkeyError | undefined {
  try {
    const { useFactory, useClass, useExisting } = checkOptions(USER, given, KNOWN);
    const ways = Object.entries({ useFactory, useClass, useExisting }).filter(([, way]) => way !== undefined);
    if (ways.length !== 1)
      throw new ConfigurationError(
        `${USER} needs exactly one of \`useFactory\`, \`useClass\` and \`useExisting\`, but has ${ways.length}. For example: { useFactory: () => ({ connection: 'memory:' }) }.`,
      );
    const [name, way] = ways[0] as [string, unknown];
    if (name === 'useExisting' ? way === null : typeof way !== 'function')
      throw new ConfigurationError(
        `\`${name}\` of ${USER} must be a ${name === 'useFactory' ? 'function that returns the options' : 'class'}.`,
      );
    return undefined;
  } catch (error) {
    if (error instanceof GearMonkeyError) return error;
    throw error;
  }
}

/** Gets the options from the class of `useClass` or `useExisting`. @throws ConfigurationError */
export async function optionsOf(factory: {
  createGearMonkeyOptions?: () => ConfiguredModuleOptions | Promise<ConfiguredModuleOptions>;
}): Promise<ConfiguredModuleOptions> {
  if (typeof factory?.createGearMonkeyOptions !== 'function')
    throw new ConfigurationError(
      `The class that ${USER} was given has no method createGearMonkeyOptions(). Implement GearMonkeyOptionsFactory.`,
    );
  return factory.createGearMonkeyOptions();
}

/** Checks and returns a list of definitions. @throws ConfigurationError */
export function listed(definitions: readonly AnyJobDefinition[]): readonly AnyJobDefinition[] {
  if (Array.isArray(definitions)) return definitions;
  throw new ConfigurationError(
    'GearMonkeyModule.forFeature takes a list of definitions: forFeature([resize]).',
  );
}
