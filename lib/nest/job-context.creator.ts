import type { PipeTransform } from '@nestjs/common';
import { ExternalContextCreator, type ContextId } from '@nestjs/core';
import { RunningJob } from '../worker/running-job.js';
import { CurrentJob, Input } from './input.decorator.js';
import { leaveErrors } from './job-exceptions.js';
import { PARAMETERS_METADATA } from './worker.decorator.js';
import type { HostWrapper } from './worker.explorer.js';

/** Creates the contexts of one handler. Nest's caches of methods are not shared with other handlers. */
export class JobContextCreator extends ExternalContextCreator {
  private takesAsIs = false;
  /** The global enhancers that are request-scoped, durable or transient: Nest itself makes those for controllers only. */
  readonly scopedGlobals: readonly HostWrapper[];

  /** Without `globals`, the app's global enhancers are hidden from all parts. Nest has no public option for this. */
  constructor(app: ExternalContextCreator, globals: boolean) {
    const part = globals ? <T>(whole: T) => whole : withoutGlobals;
    super(
      part(app['guardsContextCreator']),
      app['guardsConsumer'],
      part(app['interceptorsContextCreator']),
      app['interceptorsConsumer'],
      app['modulesContainer'],
      part(app['pipesContextCreator']),
      app['pipesConsumer'],
      leaveErrors(part(app['filtersContextCreator'])),
    );
    this.scopedGlobals = [
      ...(this['guardsContextCreator']['config']?.getGlobalRequestGuards() ?? []),
      ...(this['interceptorsContextCreator']['config']?.getGlobalRequestInterceptors() ?? []),
      ...(this['pipesContextCreator']['config']?.getGlobalRequestPipes() ?? []),
      ...(this['filtersContextCreator']['config']?.getGlobalRequestFilters() ?? []),
    ];
  }

  /** A method without parameter decorators gets the input and the running job. */
  override getMetadata(...args: Parameters<ExternalContextCreator['getMetadata']>) {
    const known = super.getMetadata(...args);
    if (known.argsLength > 0) return known;
    const [instance, method, , factory, contextType] = args;
    if (!factory) return known;
    this.takesAsIs = true;
    const contextFactory = this['contextUtils'].getContextFactory(
      contextType,
      instance as object,
      (instance as Record<string, () => unknown>)[method],
    );
    const getParamsMetadata = (module: string, contextId?: ContextId, inquirerId?: string) =>
      this.exchangeKeysForValues(
        Object.keys(UNDECORATED),
        UNDECORATED,
        module,
        factory,
        contextId,
        inquirerId,
        contextFactory,
      );
    return { ...known, argsLength: Undecorated.prototype.handle.length, getParamsMetadata };
  }

  /** Pipes apply to the input only. For the running job, only pipes of `@CurrentJob` apply. */
  override createPipesFn(...[pipes, parameters]: Parameters<ExternalContextCreator['createPipesFn']>) {
    if (parameters.length === 0 || (this.takesAsIs && pipes.length === 0)) return null;
    return async (args: unknown[], ...given: unknown[]) => {
      const resolve = async ({
        index,
        extractValue,
        pipes: own,
        ...parameter
      }: (typeof parameters)[number]) => {
        const value: unknown = extractValue(...given);
        const through = [...(isJob(value) ? [] : pipes), ...(own as PipeTransform[])];
        args[index] = await this.getParamValue(value, parameter as never, through);
      };
      await Promise.all(parameters.map(resolve));
    };
  }
}

class Undecorated {
  handle(@Input() _input: unknown, @CurrentJob() _job: unknown): void {}
}
const UNDECORATED = Reflect.getMetadata(PARAMETERS_METADATA, Undecorated, 'handle') as object;

function withoutGlobals<T extends object>(part: T): T {
  return Object.create(part, { config: { value: undefined } }) as T;
}

/** Also those of a batch. */
function isJob(value: unknown): boolean {
  return (Array.isArray(value) ? (value as readonly unknown[])[0] : value) instanceof RunningJob;
}
