import { ContextIdFactory, ModuleRef, type ContextId } from '@nestjs/core';
import { ConfigurationError } from '../job/errors.js';
import type { HostWrapper, MethodBinding } from './worker.explorer.js';

type Host = NonNullable<HostWrapper['host']>;

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
 *
 * @param enhancers the global ones that are request-scoped, durable or transient: made with it
 */
export async function resolvedFor(
  wrapper: HostWrapper,
  request: object,
  enhancers: readonly HostWrapper[] = [],
): Promise<ScopedInstance> {
  const moduleRef = moduleRefOf(wrapper) as ModuleRef;
  const contextId = ContextIdFactory.getByRequest(request);
  const all = [wrapper, ...enhancers];
  const isDurable = all.every((each) => each.isDependencyTreeStatic() || each.isDependencyTreeDurable());
  moduleRef.registerRequestByContextId((isDurable && contextId.payload) || request, contextId);
  // As for a controller: `resolve` would make that behind an alias, and one of a transient class that is not for this handler.
  const load = (each: HostWrapper) =>
    moduleRef['injector'].loadInjectable(each, each.host as Host, contextId, wrapper);
  await Promise.all(enhancers.map(load));
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
