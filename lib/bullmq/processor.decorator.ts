import 'reflect-metadata';
import { Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { checkWhole } from '../job/check-whole.js';
import { optionNames } from '../job/known-options.js';
import type { JobsOptions } from './job-options.js';
import { checkBullOptions, unsupported, type Refused } from './unsupported.js';

const LEASES =
  'Leases are renewed by a thread of their own: `lease` and `maxStalls` of BullModule.forRoot change them.';

const WORKER_REMEDIES = {
  connection: 'Give it to BullModule.forRoot: all its queues share its connections.',
  sharedConnection: 'Leave it out: all queues share connections.',
  prefix: 'Choose other names for queues, or another Redis.',
  lockDuration: LEASES,
  lockRenewTime: LEASES,
  stalledInterval: LEASES,
  maxStalledCount: LEASES,
  skipStalledCheck: LEASES,
  skipLockRenewal: LEASES,
  drainDelay: 'Leave it out: jobs begin at once.',
  autorun: 'Use `workers: false` of BullModule.forRoot, or the variable GEARMONKEY_WORKERS.',
  settings: 'For a backoff of your own use `retry.backoff` of @Worker.',
  metrics: 'Use GearMonkeyClient.statistics, or nestjs-gearmonkey/metrics.',
  telemetry: 'Import the module of nestjs-gearmonkey/tracing.',
  useWorkerThreads: 'Run CPU-bound code in a worker thread of your own.',
} as const;

/** Options of `@Processor` beside its queue. */
export interface NestWorkerOptions
  extends Pick<JobsOptions, 'removeOnComplete' | 'removeOnFail'>, Refused<typeof WORKER_REMEDIES> {
  /** How many jobs run at the same time in this process. @default 1 */
  concurrency?: number;
  /** In no `duration` milliseconds more than `max` jobs begin, in all processes together. */
  limiter?: { max: number; duration: number };
}

/** Whose jobs a processor runs. */
export interface ProcessorOptions {
  /** The queue. */
  name: string;
  scope?: Scope;
  /** The `configKey` of the queue's BullModule.forRoot. @default that of registerQueue, or none */
  configKey?: string;
}

const WORKER = optionNames<Omit<NestWorkerOptions, keyof typeof WORKER_REMEDIES>>({
  concurrency: true,
  limiter: true,
  removeOnComplete: true,
  removeOnFail: true,
});
const LIMITER = optionNames<NonNullable<NestWorkerOptions['limiter']>>({ max: true, duration: true });
const LIMITER_REMEDIES = { groupKey: 'Use `limit: { key, rate }` of @Worker.' } as const;
const PROCESSOR = optionNames<ProcessorOptions>({ name: true, scope: true, configKey: true });

/** Metadata of a processor. */
export interface ProcessorAnnotation extends Omit<ProcessorOptions, 'scope'> {
  readonly worker: NestWorkerOptions;
}

/** What a processor may listen to. */
export type WorkerEvent = 'active' | 'completed' | 'failed' | 'progress';

const EVENTS: ReadonlySet<unknown> = new Set<WorkerEvent>(['active', 'completed', 'failed', 'progress']);
const PROCESSOR_METADATA = 'gearmonkey:bullmq:processor';
const EVENT_METADATA = 'gearmonkey:bullmq:event';

/** What a request-scoped processor injects the job by: `@Inject(JOB_REF) job: Job`. */
export const JOB_REF = REQUEST;

/** The token of a queue, for `overrideProvider` and `app.get`. */
export function getQueueToken(name: string = 'default'): string {
  return `BullQueue_${name}`;
}

/** Injects a queue of BullModule.registerQueue. */
export const InjectQueue = (name?: string): PropertyDecorator & ParameterDecorator =>
  Inject(getQueueToken(name));

/**
 * Makes a class, which extends `WorkerHost`, run the jobs of a queue: all of them, by whatever name. As in BullMQ, guards,
 * pipes, interceptors and filters don't apply.
 *
 * @throws ConfigurationError for an option that is not supported
 */
export function Processor(queue: string | ProcessorOptions, options: NestWorkerOptions = {}): ClassDecorator {
  return (target) => {
    const user = `@Processor on ${target.name}`;
    const given = typeof queue === 'string' ? { name: queue } : queue;
    const { scope, ...chosen } = checkBullOptions<ProcessorOptions>(user, given, PROCESSOR, {});
    const worker = checkBullOptions(user, options, WORKER, WORKER_REMEDIES);
    const { concurrency, limiter } = worker;
    if (concurrency !== undefined) checkWhole(`concurrency of ${user}`, concurrency, 1);
    if (limiter !== undefined) checkBullOptions(`limiter of ${user}`, limiter, LIMITER, LIMITER_REMEDIES);
    const annotation: ProcessorAnnotation = { ...chosen, worker };
    Reflect.defineMetadata(PROCESSOR_METADATA, annotation, target);
    if (scope !== undefined) Injectable({ scope })(target);
  };
}

/** Calls the method with what happens to jobs in this process, once it is on the server. @throws ConfigurationError */
export function OnWorkerEvent(event: WorkerEvent): MethodDecorator {
  if (!EVENTS.has(event))
    throw unsupported(
      `@OnWorkerEvent('${String(event)}')`,
      "There are 'active', 'completed', 'failed' and 'progress'. For connections see docs/operate/connections.md.",
    );
  return (_target, _method, descriptor) => {
    Reflect.defineMetadata(EVENT_METADATA, event, descriptor.value as object);
  };
}

export function processorOf(type: unknown): ProcessorAnnotation | undefined {
  return typeof type === 'function'
    ? (Reflect.getMetadata(PROCESSOR_METADATA, type) as ProcessorAnnotation | undefined)
    : undefined;
}

export function workerEventOf(method: unknown): WorkerEvent | undefined {
  return typeof method === 'function'
    ? (Reflect.getMetadata(EVENT_METADATA, method) as WorkerEvent | undefined)
    : undefined;
}
