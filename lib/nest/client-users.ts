import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

type NestModule = ModulesContainer extends Map<string, infer M> ? M : never;
type Wrapper = NestModule['providers'] extends Map<unknown, infer W> ? W : never;

/** Metadata of a class's dependencies, from TypeScript and Nest: types, `@Inject` and `@Optional` of parameters and properties. */
const PARAMETER_TYPES = 'design:paramtypes';
const PARAMETER_TOKENS = 'self:paramtypes';
const OPTIONAL_PARAMETERS = 'optional:paramtypes';
const PROPERTY_TOKENS = 'self:properties_metadata';
const OPTIONAL_PROPERTIES = 'optional:properties_metadata';

/** Names of the app's classes and factories that need the token of this module. */
export function usersOf(token: InjectionToken, host: NestModule, modules: ModulesContainer): string[] {
  const users = [...modules.values()]
    .filter((module) => module !== host && !hasItsOwn(module, token, host))
    .flatMap((module) => [
      ...module.providers.values(),
      ...module.controllers.values(),
      ...module.injectables.values(),
    ])
    .filter((wrapper) => dependenciesOf(wrapper).some((each) => tokenOf(each) === token));
  return [...new Set(users.map((wrapper) => String(wrapper.name)))];
}

/** The module that provides a token. */
export function hostOf(token: InjectionToken, modules: ModulesContainer): NestModule | undefined {
  return [...modules.values()].find(({ providers }) => providers.has(token));
}

/** Whether a module gets the token from elsewhere, such as a substitute in a test: Nest takes the nearest one. */
function hasItsOwn(module: NestModule, token: InjectionToken, host: NestModule): boolean {
  if (module.providers.has(token)) return true;
  return [...module.imports].some(
    (each) => each !== host && each.providers.has(token) && each.exports.has(token),
  );
}

function dependenciesOf({ metatype, inject }: Wrapper): readonly unknown[] {
  if (inject) return inject.filter((each) => !isOptional(each));
  if (typeof metatype !== 'function') return [];
  const read = <T>(key: string) => (Reflect.getMetadata(key, metatype) ?? []) as readonly T[];
  const types = [...read<unknown>(PARAMETER_TYPES)];
  for (const { index, param } of read<{ index: number; param: unknown }>(PARAMETER_TOKENS))
    types[index] = param;
  const optional = read<number>(OPTIONAL_PARAMETERS);
  const optionalKeys = read<string>(OPTIONAL_PROPERTIES);
  const properties = read<{ key: string; type: unknown }>(PROPERTY_TOKENS);
  return [
    ...types.filter((_, index) => !optional.includes(index)),
    ...properties.filter(({ key }) => !optionalKeys.includes(key)).map(({ type }) => type),
  ];
}

/** Whether a factory's dependency is optional: `{ token, optional: true }`. */
function isOptional(dependency: unknown): boolean {
  return has(dependency, 'optional') && dependency.optional === true;
}

function tokenOf(dependency: unknown): unknown {
  if (has(dependency, 'forwardRef') && typeof dependency.forwardRef === 'function')
    return dependency.forwardRef();
  return has(dependency, 'token') ? tokenOf(dependency.token) : dependency;
}

function has<K extends string>(value: unknown, key: K): value is Record<K, unknown> {
  return typeof value === 'object' && value !== null && key in value;
}
