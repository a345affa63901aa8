import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { hostOf, usersOf } from './client-users.js';

/** A provider without a value, in the module that also provides `beside`. */
export interface AbsentProvider {
  readonly token: InjectionToken;
  readonly beside: InjectionToken;
  readonly modules: ModulesContainer;
  /** Throws an error that tells the class or factory of that name why there is none. */
  readonly refuse: (user: string) => void;
}

/** Removes a provider from its module: classes that need it fail now, and `get` finds none later. */
export function withdrawProvider({ token, beside, modules, refuse }: AbsentProvider): undefined {
  const host = hostOf(beside, modules);
  if (!host) return;
  for (const user of usersOf(token, host, modules)) refuse(user);
  host.providers.delete(token);
  host.exports.delete(token);
}
