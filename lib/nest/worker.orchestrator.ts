import {
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { filter, type Observable, type Subscription } from 'rxjs';
import { maxPayloadBytesOf } from '../gearmonkey/client/known-functions.js';
import { codecOf } from '../job/codec.js';
import { ConfigurationError, InvalidOptionError, messageOf } from '../job/errors.js';
import { functionName } from '../job/job-definition.js';
import { bindHandler, type HandlerBinding } from '../worker/job-handler.js';
import { JobWorker } from '../worker/job-worker.js';
import { clientOf, type GearMonkeyInstance } from './gearmonkey.instance.js';
import { HandlerContext } from './handler-context.js';
import { InstanceRegistry } from './instance.registry.js';
import { nestLog } from './nest-log.js';
import { logStart } from './start-line.js';
import {
  WorkerExplorer,
  type MethodBinding,
  type ObserverBinding,
  type WorkerBinding,
} from './worker.explorer.js';

/** Starts workers and observers when the app is ready, and stops them in order when it closes. */
@Injectable()
export class WorkerOrchestrator
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private readonly log = nestLog('GearMonkey');
  private readonly workers = new Map<GearMonkeyInstance, JobWorker>();
  private subscriptions: Subscription[] = [];
  private closed = false;

  constructor(
    private readonly registry: InstanceRegistry,
    private readonly explorer: WorkerExplorer,
    private readonly contexts: HandlerContext,
  ) {}

  /** If an app is closed while it starts, Nest may have called the shutdown hooks before this one. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.closed) return;
    try {
      await this.startAll();
    } catch (error) {
      await this.withdraw();
      throw error;
    }
  }

  /** Running jobs may still use other providers and clients, because this hook is called before all others. */
  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    await this.stopAll(({ shutdownTimeout }) => shutdownTimeout);
  }

  /** Ends event streams, because Nest now waits for their HTTP connections. Clients still work. */
  beforeApplicationShutdown(): void {
    for (const { client } of this.registry.all()) client?.endObservers();
  }

  private async startAll(): Promise<void> {
    const handlers = this.handlersByInstance(this.explorer.workers());
    const observers = this.explorer
      .observers()
      .map((binding) => ({ binding, messages: this.messagesFor(binding) }));
    this.subscriptions = observers.map(({ binding, messages }) => this.observe(binding, messages));
    const starts = [...handlers].map(([instance, bindings]) => this.start(instance, bindings));
    const failed = (await Promise.allSettled(starts)).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    for (const instance of this.registry.all()) logStart(this.log, instance, handlers.get(instance) ?? []);
  }

  /** If the start fails, the app may never be closed: releases running jobs and closes all connections. */
  private async withdraw(): Promise<void> {
    const failed = (error: unknown) =>
      this.log.error(`Cleaning up after the failed start failed: ${messageOf(error)}`);
    await this.stopAll(() => 0).catch(failed);
    for (const instance of this.registry.all()) await instance.onApplicationShutdown().catch(failed);
  }

  private async stopAll(timeoutOf: (instance: GearMonkeyInstance) => number): Promise<void> {
    const workers = [...this.workers];
    this.workers.clear();
    await Promise.all(workers.map(([instance, worker]) => worker.stop(timeoutOf(instance))));
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
    refuseTransient(binding);
    if (typeof ref !== 'string') instance.client?.register(ref);
    const { globalEnhancers = false } = instance.options;
    const handle = this.contexts.handlerOf(binding, globalEnhancers, instance.beforeRun);
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
    const { codec, errorDetail } = instance.options;
    const worker = new JobWorker(instance.source, bindings, {
      codec: codecOf(codec ?? instance.source.codec),
      maxPayloadBytes: maxPayloadBytesOf(instance.options),
      errorDetail: errorDetail ?? 'stack',
      // The default stores them and keeps the log to one line.
      logStacks: errorDetail === 'stack',
      log: this.log,
    });
    this.workers.set(instance, worker);
    await worker.start();
  }

  private messagesFor(binding: ObserverBinding): Observable<unknown> {
    const { annotation, observed, label, wrapper } = binding;
    refuseTransient(binding);
    if (!wrapper.isDependencyTreeStatic()) {
      throw new ConfigurationError(
        `${label} observes jobs, but its class is request-scoped. Make it a singleton.`,
      );
    }
    const user = `The observer ${label}`;
    const client = clientOf(this.registry.get(annotation.instance, user), user);
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

/** A transient class has one instance for each class that injects it, and none to run jobs on. */
function refuseTransient({ wrapper, label }: MethodBinding): void {
  if (!wrapper.isTransient) return;
  throw new ConfigurationError(
    `${label} has no instance to run on, because its class is transient-scoped. Make it a singleton or request-scoped.`,
  );
}
