import { ContextIdFactory, ModuleRef, type ContextId } from '@nestjs/core';
import { ConfigurationError } from '../job/errors.js';
import type { HostWrapper, MethodBinding } from './worker.explorer.js';

export interface ScopedInstance {
  readonly instance: object;
  readonly contextId: ContextId;
}

/** The ModuleRef of a class's module. */
export function moduleRefOf(wrapper: HostWrapper): ModuleRef | undefined {
  return wrapper.host?.getProviderByKey<ModuleRef>(ModuleRef)?.instance;
}

/**
 * Makes an instance of a request-scoped or durable class for one job or event, which its providers may inject as
 * REQUEST. Durable instances are shared as the app's ContextIdStrategy decides.
 */
export async function resolvedFor(wrapper: HostWrapper, request: object): Promise<ScopedInstance> {
  const moduleRef = moduleRefOf(wrapper) as ModuleRef;
  const contextId = ContextIdFactory.getByRequest(request);
  const payload = wrapper.isDependencyTreeDurable() ? contextId.payload : undefined;
  moduleRef.registerRequestByContextId(payload ?? request, contextId);
  const instance = await moduleRef.resolve<object>(wrapper.token, contextId, { strict: true });
  return { instance, contextId };
}

/** A transient class has one instance for each class that injects it, and none to run jobs on. @throws ConfigurationError */
export function refuseTransient({ wrapper, label }: MethodBinding): void {
  if (!wrapper.isTransient) return;
  throw new ConfigurationError(
    `${label} has no instance to run on, because its class is transient-scoped. Make it a singleton or request-scoped.`,
  );
}
