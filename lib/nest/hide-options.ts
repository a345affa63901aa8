import type { DynamicModule, Provider } from '@nestjs/common';

/**
 * Makes factories of its values: what `forRoot` returns may be logged, and `JSON.stringify` and `inspect` would show
 * options, which have passwords.
 */
export function hideOptions(definition: DynamicModule): DynamicModule {
  return { ...definition, providers: (definition.providers ?? []).map(hidden) };
}

function hidden(provider: Provider): Provider {
  if (!('useValue' in provider)) return provider;
  const { provide, useValue } = provider;
  return { provide, useFactory: () => useValue as unknown };
}
