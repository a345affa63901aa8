import { Injectable } from '@nestjs/common';
import { ContextIdFactory, ExternalContextCreator, ModuleRef, type ContextId } from '@nestjs/core';
import { settleResult } from '../worker/handler-result.js';
import type { JobHandler } from '../worker/job-handler.js';
import type { RunningJob } from '../worker/running-job.js';
import { PARAMETERS_METADATA } from './worker.decorator.js';
import type { WorkerBinding } from './worker.explorer.js';

type Method = (...args: unknown[]) => unknown;

/** Nest asks it only for its own kinds of parameters; ours are all of the custom kind. */
const NO_PARAMETERS = { exchangeKeyForValue: () => undefined };
const ALL_ENHANCERS = { guards: true, interceptors: true, filters: true };

/** Wraps decorated methods in Nest's guards, pipes, interceptors, filters and parameter decorators. */
@Injectable()
export class HandlerContext {
  private readonly local: ExternalContextCreator;

  constructor(private readonly contexts: ExternalContextCreator) {
    this.local = withoutGlobals(contexts);
  }

  /** A handler as `worker/` runs it. With `globals`, the app's global enhancers hold too. */
  handlerOf(binding: WorkerBinding, globals: boolean): JobHandler {
    const contexts = globals ? this.contexts : this.local;
    const { wrapper } = binding;
    if (!wrapper.isDependencyTreeStatic()) return this.requestScoped(binding, contexts);
    const run = contextOf(contexts, binding, wrapper.instance as object);
    return (input, job) => run(input, job);
  }

  /** One context a job: its providers live as long as the job, and may inject it as REQUEST. */
  private requestScoped(binding: WorkerBinding, contexts: ExternalContextCreator): JobHandler {
    const moduleRef = binding.wrapper.host?.getProviderByKey<ModuleRef>(ModuleRef)?.instance as ModuleRef;
    return async (input, job) => {
      const contextId = ContextIdFactory.getByRequest(job);
      moduleRef.registerRequestByContextId(job, contextId);
      const instance = await moduleRef.resolve<object>(binding.wrapper.token, contextId, { strict: true });
      return contextOf(contexts, binding, instance, contextId)(input, job);
    };
  }
}

function contextOf(
  contexts: ExternalContextCreator,
  binding: WorkerBinding,
  instance: object,
  contextId?: ContextId,
) {
  const { method, wrapper } = binding;
  return contexts.create(
    instance as Record<string, Method>,
    settling(instance, binding),
    method,
    PARAMETERS_METADATA,
    NO_PARAMETERS,
    contextId,
    contextId ? wrapper.id : undefined,
    ALL_ENHANCERS,
    'gearmonkey',
  );
}

/**
 * The method, with generators and observables turned into a Promise of the output, and their progress
 * reported: Nest would keep but the last value. It carries the method's metadata, where enhancers look.
 */
function settling(instance: object, { method, annotation }: WorkerBinding): Method {
  const handler = (instance as Record<string, Method>)[method] as Method;
  const wrapped: Method = function (this: unknown, ...args) {
    return settleResult(handler.apply(this, args), args[annotation.jobIndex] as RunningJob);
  };
  for (const key of Reflect.getMetadataKeys(handler) as string[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), wrapped);
  }
  return Object.defineProperty(wrapped, 'name', { value: handler.name });
}

/** The same creator, of which no part knows the app's global enhancers. Nest has no public way to say so. */
function withoutGlobals(contexts: ExternalContextCreator): ExternalContextCreator {
  const local = <T extends object>(part: T): { value: T } => ({
    value: Object.create(part, { config: { value: undefined } }) as T,
  });
  return Object.create(contexts, {
    guardsContextCreator: local(contexts['guardsContextCreator']),
    interceptorsContextCreator: local(contexts['interceptorsContextCreator']),
    pipesContextCreator: local(contexts['pipesContextCreator']),
    filtersContextCreator: local(contexts['filtersContextCreator']),
  }) as ExternalContextCreator;
}
