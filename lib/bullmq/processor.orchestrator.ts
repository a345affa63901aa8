import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { defined } from '../job/defined.js';
import { ConfigurationError } from '../job/errors.js';
import type { Job as JobSnapshot } from '../job/job.js';
import { defineJob, type FunctionRef } from '../job/job-definition.js';
import { clientOf, type GearMonkeyInstance } from '../nest/gearmonkey.instance.js';
import { DEFAULT_INSTANCE } from '../nest/gearmonkey.options.js';
import { GearMonkeyWorkers } from '../nest/gearmonkey.workers.js';
import { InstanceRegistry } from '../nest/instance.registry.js';
import { resolvedFor } from '../nest/scoped-instance.js';
import type { HostWrapper } from '../nest/worker.explorer.js';
import type { RunningJob } from '../worker/running-job.js';
import { Job } from './job.js';
import { keepOf } from './job-options.js';
import { getQueueToken, processorOf, type ProcessorAnnotation } from './processor.decorator.js';
import { Queue } from './queue.js';
import type { QueueParts } from './queue-parts.js';
import { WorkerEvents } from './worker-events.js';
import { attachWorker, ProcessorWorker, WorkerHost } from './worker-host.js';

/** A provider with `@Processor`. */
interface Found {
  readonly wrapper: HostWrapper;
  readonly type: { readonly name: string; readonly prototype: object };
  readonly annotation: ProcessorAnnotation;
}

/** Finds the processors of an app, and adds each as the handler of its queue's function. */
@Injectable()
export class ProcessorOrchestrator implements OnModuleInit, OnApplicationShutdown {
  private readonly listening: WorkerEvents[] = [];
  /** The classes, by instance and queue. */
  private readonly runners = new Map<string, string>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly registry: InstanceRegistry,
    private readonly workers: GearMonkeyWorkers,
  ) {}

  /** Handlers that are added before the app has started begin with the others. */
  async onModuleInit(): Promise<void> {
    for (const found of this.processors()) await this.add(found);
  }

  onApplicationShutdown(): void {
    for (const events of this.listening.splice(0)) events.end();
  }

  private processors(): Found[] {
    return this.discovery.getProviders().flatMap((wrapper) => {
      const type = typeOf(wrapper);
      const annotation = processorOf(type);
      return type && annotation && !wrapper.isAlias ? [{ wrapper, type, annotation }] : [];
    });
  }

  private async add({ wrapper, type, annotation }: Found): Promise<void> {
    const { name, worker } = annotation;
    if (!(type.prototype instanceof WorkerHost))
      throw new ConfigurationError(`${type.name} has @Processor, but does not extend WorkerHost. Extend it.`);
    const queue = this.queueOf(name, annotation.configKey);
    const instance = annotation.configKey ?? queue?.instance ?? DEFAULT_INSTANCE;
    const found = this.registry.get(instance, `@Processor on ${type.name}`);
    const client = clientOf(found, type.name);
    this.refuseSecond({ wrapper, type, annotation }, instance);
    const parts: QueueParts = { name, client, priorities: queue?.priorities };
    const isStatic = wrapper.isDependencyTreeStatic();
    const host = isStatic ? (wrapper.instance as WorkerHost) : undefined;
    const events = new WorkerEvents(host ?? {}, host ? this.scanner.getAllMethodNames(type.prototype) : []);
    const hostFor = async (job: Job) => host ?? ((await resolvedFor(wrapper, job)).instance as WorkerHost);
    const { concurrency = 1, limiter } = worker;
    const limit = limiter && { rate: { max: limiter.max, per: limiter.duration } };
    const kept = keepOf({ ...queue?.opts.defaultJobOptions, ...defined(worker) });
    let own: ProcessorWorker | undefined;
    const handle = (data: unknown, running: RunningJob) => {
      const ended = run(parts, hostFor, events, data, running);
      return own ? own.track(ended) : ended;
    };
    const added = this.workers.add(
      refOf(found, name, kept),
      handle,
      defined({ concurrency, instance, limit }),
    );
    // Before the app has started it resolves at once.
    await added;
    events.listen();
    this.listening.push(events);
    own = new ProcessorWorker(name, concurrency, instance, this.workers, added);
    if (host) attachWorker(host, own);
  }

  /** @throws ConfigurationError */
  private refuseSecond({ type, annotation }: Found, instance: string): void {
    const key = `${instance} ${annotation.name}`;
    const first = this.runners.get(key);
    if (first !== undefined)
      throw new ConfigurationError(
        `@Processor on ${type.name}: the queue "${annotation.name}" has one in this process, ${first}. ` +
          'Provide one class in one module, and raise its `concurrency`.',
      );
    this.runners.set(key, type.name);
  }

  /** A process may run jobs of a queue that it does not register, and a test may put something else in its place. */
  private queueOf(name: string, configKey: string | undefined): Queue | undefined {
    const token = getQueueToken(name);
    for (const { token: own, instance } of this.discovery.getProviders())
      if (
        own === token &&
        instance instanceof Queue &&
        instance.instance === (configKey ?? instance.instance)
      )
        return instance;
    return undefined;
  }
}

/** The class of a provider; that of a value or a factory's result is its constructor. */
function typeOf({ metatype, inject, instance }: HostWrapper): Found['type'] | undefined {
  const type: unknown = !metatype || inject ? (instance as object | undefined | null)?.constructor : metatype;
  return typeof type === 'function' ? (type as unknown as Found['type']) : undefined;
}

/** The app's own definition of the function goes before one that only says what is kept. */
function refOf(instance: GearMonkeyInstance, name: string, keep: ReturnType<typeof keepOf>): FunctionRef {
  const known = instance.client?.definitionOf(name);
  if (known && keep)
    throw new ConfigurationError(
      `"${name}" is defined by defineJob, so \`keep\` there says which ended jobs are kept. Leave \`removeOnComplete\` and \`removeOnFail\` out.`,
    );
  return known ?? (keep ? defineJob(name, { keep }) : name);
}

async function run(
  parts: QueueParts,
  hostFor: (job: Job) => Promise<WorkerHost>,
  events: WorkerEvents,
  data: unknown,
  running: RunningJob,
): Promise<unknown> {
  const progressed = (progress: number) => events.tell('progress', job, progress);
  const job: Job = Job.ofRun(parts, data, { running, progressed }, await earlierRuns(parts, running));
  const run = events.begin(running.claim, job);
  try {
    const host = await hostFor(job);
    const result: unknown = await host.process(job, '', running.signal);
    if (job.postponed) throw job.postponed;
    run.result = result;
    return result;
  } catch (error) {
    run.error = error;
    throw job.postponed ?? job.failureOf(error);
  } finally {
    job.ended();
  }
}

/** A first run has nothing to read; without an answer the job runs without it. */
async function earlierRuns(
  { client, name }: QueueParts,
  { id, attempts, snoozes }: RunningJob,
): Promise<JobSnapshot | undefined> {
  if (attempts + snoozes <= 1) return undefined;
  return (await client.get(name, id).catch(() => null)) ?? undefined;
}
