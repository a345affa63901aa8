import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { filter, type Observable, type Subscription } from 'rxjs';
import { DEFAULT_MAX_PAYLOAD_BYTES } from '../gearmonkey/known-functions.js';
import { codecOf } from '../job/codec.js';
import { ConfigurationError, InvalidOptionError, messageOf } from '../job/errors.js';
import { functionName } from '../job/job-definition.js';
import { bindHandler, type HandlerBinding } from '../worker/job-handler.js';
import { JobWorker } from '../worker/job-worker.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';
import { HandlerContext } from './handler-context.js';
import { InstanceRegistry } from './instance.registry.js';
import {
  WorkerExplorer,
  type MethodBinding,
  type ObserverBinding,
  type WorkerBinding,
} from './worker.explorer.js';

/** Owns the lifetime of everything that runs: starts workers and observers when the app is ready, and stops them in order. */
@Injectable()
export class WorkerOrchestrator implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly log = new Logger('GearMonkey');
  private readonly workers = new Map<GearMonkeyInstance, JobWorker>();
  private subscriptions: Subscription[] = [];

  constructor(
    private readonly registry: InstanceRegistry,
    private readonly explorer: WorkerExplorer,
    private readonly contexts: HandlerContext,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const handlers = this.handlersByInstance(this.explorer.workers());
    const observers = this.explorer
      .observers()
      .map((binding) => ({ binding, messages: this.messagesFor(binding) }));
    this.subscriptions = observers.map(({ binding, messages }) => this.observe(binding, messages));
    for (const [instance, bindings] of handlers) await this.start(instance, bindings);
  }

  /** Running jobs may still use other providers and clients: no other hook of the app has been called yet. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.workers].map(([{ shutdownTimeout }, worker]) => worker.stop(shutdownTimeout)));
    this.workers.clear();
    for (const subscription of this.subscriptions.splice(0)) subscription.unsubscribe();
  }

  private handlersByInstance(bindings: readonly WorkerBinding[]): Map<GearMonkeyInstance, HandlerBinding[]> {
    const owners = new Map<string, string>();
    const handlers = new Map<GearMonkeyInstance, HandlerBinding[]>();
    for (const binding of bindings) {
      const { ref, instance: name } = binding.annotation;
      const instance = this.registry.get(name, `@Worker on ${binding.label}`);
      const key = JSON.stringify([name, functionName(ref)]);
      const owner = owners.get(key);
      if (owner !== undefined) throw duplicate(functionName(ref), owner, binding.label);
      owners.set(key, binding.label);
      handlers.set(instance, [...(handlers.get(instance) ?? []), this.toHandler(instance, binding)]);
    }
    return handlers;
  }

  private toHandler(instance: GearMonkeyInstance, binding: WorkerBinding): HandlerBinding {
    const { ref, options } = binding.annotation;
    if (typeof ref !== 'string') instance.client.register(ref);
    const handle = this.contexts.handlerOf(binding, instance.options.globalEnhancers ?? false);
    try {
      const { jobLimits = instance.options.jobLimits, ...handler } = options;
      const limits = jobLimits === undefined ? {} : { jobLimits };
      return bindHandler(typeof ref === 'string' ? { name: ref } : ref, { ...handler, ...limits }, handle);
    } catch (error) {
      if (!(error instanceof InvalidOptionError)) throw error;
      throw new InvalidOptionError(`${error.option} of ${binding.label}`, error.value, error.expected);
    }
  }

  private async start(instance: GearMonkeyInstance, bindings: readonly HandlerBinding[]): Promise<void> {
    const { codec, errorDetail = 'stack', maxPayloadBytes = DEFAULT_MAX_PAYLOAD_BYTES } = instance.options;
    const worker = new JobWorker(instance.source, bindings, {
      codec: codecOf(codec ?? instance.source.codec),
      maxPayloadBytes,
      errorDetail,
      log: this.log,
    });
    this.workers.set(instance, worker);
    await worker.start();
  }

  private messagesFor({ annotation, observed, label, wrapper }: ObserverBinding): Observable<unknown> {
    if (!wrapper.isDependencyTreeStatic()) {
      throw new ConfigurationError(
        `${label} observes jobs, but its class is request-scoped. Make it a singleton.`,
      );
    }
    const { client } = this.registry.get(annotation.instance, `The observer ${label}`);
    if (observed === 'progress') return client.progress(annotation.ref);
    return client.events(annotation.ref).pipe(filter(({ type }) => type === observed));
  }

  private observe({ wrapper, method, label }: MethodBinding, messages: Observable<unknown>): Subscription {
    const host = wrapper.instance as Record<string, (message: unknown) => unknown>;
    const failed = (error: unknown) => this.log.error(`${label} failed: ${messageOf(error)}`);
    return messages.subscribe({
      next: (message) =>
        void Promise.resolve(message)
          .then((value) => host[method]?.(value))
          .catch(failed),
      error: failed,
    });
  }
}

function duplicate(fn: string, one: string, other: string): ConfigurationError {
  const who = one === other ? `${one}, whose class is provided by two modules,` : `${one} and ${other}`;
  return new ConfigurationError(
    `${who} both handle "${fn}". One method handles a function: remove one, or give it another instance.`,
  );
}
