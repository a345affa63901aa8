import { Injectable } from '@nestjs/common';
import { ExternalContextCreator, type ContextId } from '@nestjs/core';
import { runBatch } from '../worker/batch-collector.js';
import { settleResult } from '../worker/handler-result.js';
import type { JobHandler } from '../worker/job-handler.js';
import { RunningJob } from '../worker/running-job.js';
import { inputOf } from './input.decorator.js';
import { JobContextCreator } from './job-context.creator.js';
import { JOB_CONTEXT } from './job-exceptions.js';
import { resolvedFor } from './scoped-instance.js';
import { PARAMETERS_METADATA } from './worker.decorator.js';
import type { WorkerBinding } from './worker.explorer.js';

type ParamsFactory = NonNullable<Parameters<ExternalContextCreator['create']>[4]>;
type Method = (...args: unknown[]) => unknown;
type BeforeRun = (job: RunningJob) => void;

/** Nest's number for `@Body` and `@Payload`; `@Input` uses it too. */
const INPUT = 3;

/** Resolves Nest's own kinds of parameters for a job. */
const PARAMETERS: ParamsFactory = {
  exchangeKeyForValue: (kind, property, [input]: unknown[]) =>
    kind === INPUT ? inputOf(input, property as string | undefined) : undefined,
};
const ALL_ENHANCERS = { guards: true, interceptors: true, filters: true };

/** Wraps decorated methods in Nest's guards, pipes, interceptors, filters and parameter decorators. */
@Injectable()
export class HandlerContext {
  constructor(private readonly app: ExternalContextCreator) {}

  /**
   * A handler as `worker/` runs it. With `globals`, the app's global enhancers hold too. What `beforeRun` throws, the
   * method throws.
   */
  handlerOf(binding: WorkerBinding, globals: boolean, beforeRun?: BeforeRun): JobHandler {
    const contexts = new JobContextCreator(this.app, globals);
    const { wrapper } = binding;
    if (!wrapper.isDependencyTreeStatic() || contexts.scopedGlobals.length > 0)
      return this.requestScoped(binding, contexts, beforeRun);
    const run = contextOf(contexts, binding, wrapper.instance as object, beforeRun);
    return (input, job) => run(input, job);
  }

  /** Creates a context per job. Its request-scoped providers live as long as the job, and may inject it as REQUEST. */
  private requestScoped(
    binding: WorkerBinding,
    contexts: JobContextCreator,
    beforeRun?: BeforeRun,
  ): JobHandler {
    return async (input, job) => {
      const { instance, contextId } = await resolvedFor(binding.wrapper, job, contexts.scopedGlobals);
      return contextOf(contexts, binding, instance, beforeRun, contextId)(input, job);
    };
  }
}

function contextOf(
  contexts: ExternalContextCreator,
  binding: WorkerBinding,
  instance: object,
  beforeRun?: BeforeRun,
  contextId?: ContextId,
) {
  const { method, wrapper } = binding;
  return contexts.create(
    instance as Record<string, Method>,
    settling(instance, binding, beforeRun),
    method,
    PARAMETERS_METADATA,
    PARAMETERS,
    contextId,
    contextId ? wrapper.id : undefined,
    ALL_ENHANCERS,
    JOB_CONTEXT,
  );
}

/**
 * Wraps the method: reports progress of generators and Observables and returns a Promise of their output, since Nest
 * would only keep the last value. The wrapper has the method's metadata, which enhancers read.
 */
function settling(instance: object, { method, annotation }: WorkerBinding, beforeRun?: BeforeRun): Method {
  const handler = (instance as Record<string, Method>)[method] as Method;
  const wrapped: Method = function (this: unknown, ...args) {
    const job = args[annotation.jobIndex] as RunningJob | readonly RunningJob[];
    if (!(job instanceof RunningJob)) {
      return runBatch(job, () => {
        for (const each of job) beforeRun?.(each);
        return handler.apply(this, args);
      });
    }
    // Guards, interceptors, pipes and providers may have taken long.
    const uncertain = job.beSure();
    if (uncertain) return uncertain.then(() => wrapped.apply(this, args) as unknown);
    beforeRun?.(job);
    return settleResult(handler.apply(this, args), job);
  };
  for (const key of Reflect.getMetadataKeys(handler) as string[]) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), wrapped);
  }
  return Object.defineProperty(wrapped, 'name', { value: handler.name });
}
