import { defined } from '../job/defined.js';
import {
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { checkLimit } from '../job/check-limit.js';
import { GearMonkeyError, messageOf } from '../job/errors.js';
import { functionName } from '../job/job-definition.js';
import type { Limit } from '../job/limit.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';
import { HandlerBinder } from './handler-binder.js';
import { InstanceRegistry } from './instance.registry.js';
import { InstanceWorkers } from './instance-workers.js';
import { nestLog } from './nest-log.js';
import { ObserverOrchestrator } from './observer.orchestrator.js';
import { RecurringOrchestrator } from './recurring.orchestrator.js';
import { Isolation } from '../worker/isolation.js';
import { refuseTransient } from './scoped-instance.js';
import { logStart } from './start-line.js';
import { checkRoles, workerRole } from './worker-role.js';
import type { WorkerAnnotation } from './worker.decorator.js';
import { WorkerExplorer, type WorkerBinding } from './worker.explorer.js';

/** Starts workers and observers when the app is ready, and stops them in order when it closes. */
@Injectable()
export class WorkerOrchestrator
  implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown
{
  private readonly log = nestLog('GearMonkey');
  private readonly workers = new Map<GearMonkeyInstance, InstanceWorkers>();
  /** All workers of the process share it. */
  private readonly isolation = new Isolation();
  private started = false;
  private closed = false;

  constructor(
    private readonly registry: InstanceRegistry,
    private readonly explorer: WorkerExplorer,
    private readonly binder: HandlerBinder,
    private readonly observers: ObserverOrchestrator,
    private readonly recurring: RecurringOrchestrator,
  ) {}

  /** If an app is closed while it starts, Nest may have called the shutdown hooks before this one. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.closed) return;
    try {
      await this.startAll();
    } catch (error) {
      // Nest prints what is thrown, if at all, under a line of this package's source.
      this.log.error(`The app does not start: ${startError(error)}`);
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

  /** The handlers of an instance, by name. @throws ConfigurationError naming `user` when there is none, InvalidOptionError */
  workersOf(name: string, user: string): InstanceWorkers {
    const instance = this.registry.get(name, user);
    let workers = this.workers.get(instance);
    if (!workers) {
      const role = workerRole(name, instance.options.workers, process.env);
      const made = new InstanceWorkers(instance, role, this.log, this.isolation);
      workers = made;
      this.workers.set(instance, workers);
      const warn = (message: string) => this.log.warn(message);
      instance.client?.reportHandlers({ functions: () => made.functions, warn });
      // An instance of a lazily loaded module comes after the start.
      if (this.closed) void workers.stop(0);
      else if (this.started) void workers.start();
    }
    return workers;
  }

  /** Of every instance. */
  allWorkers(): InstanceWorkers[] {
    return this.registry.all().map(({ name }) => this.workersOf(name, 'GearMonkeyModule'));
  }

  private async startAll(): Promise<void> {
    for (const binding of this.explorer.workers()) await this.prepare(binding);
    const all = this.allWorkers();
    const roles = all.map(({ instance, role, functions }) => ({ instance: instance.name, role, functions }));
    checkRoles(roles, process.env);
    const observers = await this.observers.prepare();
    const schedules = await this.recurring.prepare((name, user) => this.workersOf(name, user));
    // Options may take their time, and a signal may close the app meanwhile.
    if (this.closed) return;
    this.started = true;
    this.observers.start(observers);
    const starts = await Promise.allSettled(all.map((workers) => workers.start()));
    const failed = starts.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    await this.recurring.declare(schedules);
    for (const workers of all) logStart(this.log, workers.instance, workers.started());
    if (all.some(({ role }) => role.workers !== false))
      for (const line of this.explorer.unused()) this.log.warn(line);
  }

  /** What this process doesn't run is known all the same: clients want its definition, and its options are not made. */
  private async prepare(binding: WorkerBinding): Promise<void> {
    const { annotation, label } = binding;
    const { ref } = annotation;
    const workers = this.workersOf(annotation.instance, `@Worker on ${label}`);
    refuseTransient(binding);
    if (typeof ref !== 'string') workers.instance.client?.register(ref);
    const fn = functionName(ref);
    if (!workers.runs(fn)) {
      workers.instance.client?.addHandler(fn, defined({ limit: limitOf(fn, annotation) }));
      return workers.keep(fn, { owner: label, binding: undefined });
    }
    const bound = await this.binder.bind(workers.instance, binding);
    workers.instance.client?.addHandler(fn, defined({ limit: bound?.limits.limit }));
    if (bound) workers.keep(fn, { owner: label, binding: bound });
    else workers.disable(fn);
  }

  /** If the start fails, the app may never be closed: releases running jobs and closes all connections. */
  private async withdraw(): Promise<void> {
    const failed = (error: unknown) =>
      this.log.error(`Cleaning up after the failed start failed: ${messageOf(error)}`);
    await this.stopAll(() => 0).catch(failed);
    for (const instance of this.registry.all()) await instance.onApplicationShutdown().catch(failed);
  }

  /** Observers have what is left of the time for handlers. */
  private async stopAll(timeoutOf: (instance: GearMonkeyInstance) => number): Promise<void> {
    const workers = [...this.workers.values()];
    const deadline = performance.now() + Math.max(0, ...this.registry.all().map(timeoutOf));
    await Promise.all(workers.map((each) => each.stop(timeoutOf(each.instance))));
    await this.observers.stop(deadline - performance.now());
  }
}

/** The limit of a handler that this process doesn't run, unless a function makes its options. */
function limitOf(fn: string, { ref, options }: WorkerAnnotation): Limit | undefined {
  if (options?.limit === undefined) return undefined;
  return checkLimit(fn, options.limit, typeof ref === 'string' ? undefined : ref.limit);
}

/** The class, the code and the message, which has the remedy. */
function startError(error: unknown): string {
  return error instanceof GearMonkeyError
    ? `${error.name} (${error.code}): ${error.message}`
    : messageOf(error);
}
