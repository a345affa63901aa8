import { Injectable } from '@nestjs/common';
import { filter, type Observable, type Subscription } from 'rxjs';
import { withDeadline } from '../job/clock.js';
import { JobLog } from '../worker/job-log.js';
import { ConfiguredOptions } from './configured-options.js';
import { clientOf } from './gearmonkey.instance.js';
import { checkEnabled } from './handler-binder.js';
import { InstanceRegistry } from './instance.registry.js';
import { nestLog } from './nest-log.js';
import { OBSERVER_OPTIONS } from './observer.decorators.js';
import { moduleRefOf, refuseTransient, resolvedFor } from './scoped-instance.js';
import { WorkerExplorer, type ObserverBinding } from './worker.explorer.js';

interface Observer {
  readonly binding: ObserverBinding;
  readonly messages: Observable<object>;
}

/** Runs the observers of an app. Each process with observers gets the events of all jobs, in any process. */
@Injectable()
export class ObserverOrchestrator {
  private readonly log = new JobLog(nestLog('GearMonkey'));
  private subscriptions: Subscription[] = [];
  /** The calls that have not ended, with the names of their methods. */
  private readonly running = new Map<Promise<void>, string>();

  constructor(
    private readonly registry: InstanceRegistry,
    private readonly explorer: WorkerExplorer,
    private readonly options: ConfiguredOptions,
  ) {}

  /** Finds the observers, without starting them. @throws ConfigurationError */
  async prepare(): Promise<readonly Observer[]> {
    const observers: Observer[] = [];
    for (const binding of this.explorer.observers()) {
      const messages = this.messagesFor(binding);
      if (await this.isEnabled(binding)) observers.push({ binding, messages });
    }
    return observers;
  }

  start(observers: readonly Observer[]): void {
    this.subscriptions = observers.map((observer) => this.observe(observer));
  }

  /** Calls them no more, and waits up to `timeout` milliseconds for those that run. */
  async stop(timeout: number): Promise<void> {
    for (const subscription of this.subscriptions.splice(0)) subscription.unsubscribe();
    if (this.running.size === 0) return;
    const ended = Promise.all(this.running.keys());
    const late = () => new Error('Observers still run');
    await withDeadline(ended, Math.max(0, timeout), late).catch(() =>
      this.log.observersLeft([...this.running.values()]),
    );
  }

  private async isEnabled(binding: ObserverBinding): Promise<boolean> {
    const { annotation, label, wrapper } = binding;
    const user = `The observer ${label}`;
    const host = moduleRefOf(wrapper);
    const { enabled = true } = await this.options.of(annotation, user, OBSERVER_OPTIONS, host);
    checkEnabled(enabled, label);
    return enabled;
  }

  private messagesFor(binding: ObserverBinding): Observable<object> {
    const { annotation, observed, label } = binding;
    refuseTransient(binding);
    const user = `The observer ${label}`;
    const client = clientOf(this.registry.get(annotation.instance, user), user);
    if (observed === 'progress') return client.progress(annotation.ref);
    return client.events(annotation.ref).pipe(filter(({ type }) => type === observed));
  }

  private observe({ binding, messages }: Observer): Subscription {
    const { wrapper, method, label } = binding;
    const failed = (error: unknown, message?: object) => this.log.observerFailed(label, error, message);
    const hostFor = wrapper.isDependencyTreeStatic()
      ? async () => wrapper.instance as object
      : async (message: object) => (await resolvedFor(wrapper, message)).instance;
    const tell = async (message: object) => {
      const host = (await hostFor(message)) as Record<string, (message: object) => unknown>;
      await host[method]?.(message);
    };
    return messages.subscribe({
      next: (message) => {
        const told = tell(message).catch((error: unknown) => failed(error, message));
        this.running.set(told, label);
        void told.then(() => this.running.delete(told));
      },
      error: failed,
    });
  }
}
