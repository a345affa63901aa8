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
 *
 * @param enhancers the global ones that are request-scoped or durable: made with it
 */
export async function resolvedFor(
  wrapper: HostWrapper,
  request: object,
  enhancers: readonly HostWrapper[] = [],
): Promise<ScopedInstance> {
  const contextId = ContextIdFactory.getByRequest(request);
  const all = [wrapper, ...enhancers];
  const isDurable = all.every((each) => each.isDependencyTreeStatic() || each.isDependencyTreeDurable());
  moduleRefOf(wrapper)?.registerRequestByContextId((isDurable && contextId.payload) || request, contextId);
  const made = all.map((each) => moduleRefOf(each)?.resolve<object>(each.token, contextId, { strict: true }));
  const [instance] = await Promise.all(made);
  return { instance: instance as object, contextId };
}

/** A transient class has one instance for each class that injects it, and none to run jobs on. @throws ConfigurationError */
export function refuseTransient({ wrapper, label }: MethodBinding): void {
  if (!wrapper.isTransient) return;
  throw new ConfigurationError(
    `${label} has no instance to run on, because its class is transient-scoped. Make it a singleton or request-scoped.`,
  );
}
