import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { hostOf, usersOf } from './client-users.js';

/** A provider that there may be none of, in the module that provides `beside` too. */
export interface AbsentProvider {
  readonly token: InjectionToken;
  readonly beside: InjectionToken;
  readonly modules: ModulesContainer;
  /** Throws what tells the class or factory of that name why it can't have one. */
  readonly refuse: (user: string) => void;
}

/** Takes a provider out of its module: what needs it is refused now, and what asks Nest for it later finds nothing. */
export function withdrawProvider({ token, beside, modules, refuse }: AbsentProvider): undefined {
  const host = hostOf(beside, modules);
  if (!host) return;
  for (const user of usersOf(token, host, modules)) refuse(user);
  host.providers.delete(token);
  host.exports.delete(token);
}
