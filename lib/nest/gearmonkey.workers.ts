import { defined } from '../job/defined.js';
import { Injectable } from '@nestjs/common';
import { checkWhole } from '../job/check-whole.js';
import { millisecondsOr, type Duration } from '../job/duration.js';
import { ConfigurationError } from '../job/errors.js';
import {
  functionName,
  type FunctionRef,
  type InputOf,
  type ReceivedOf,
  type ChunkOf,
  type ReturnedOf,
} from '../job/job-definition.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import type { Limit } from '../job/limit.js';
import { hideFields, showAs } from '../job/show-as.js';
import type { BatchOptions } from '../worker/batch.js';
import type { BatchResult, HandlerOptions, HandlerResult, JobHandler } from '../worker/job-handler.js';
import type { RunningJob } from '../worker/running-job.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';
import { boundTo } from './handler-binder.js';
import { WorkerOrchestrator } from './worker.orchestrator.js';

/** Options of `GearMonkeyWorkers.add`. */
export interface AddWorkerOptions<Input = unknown> extends HandlerOptions<Input> {
  /** The module instance whose jobs the handler runs. @default the instance without a name */
  instance?: string;
}

/** Options of `GearMonkeyWorkers.set`. */
export interface SetWorkerOptions {
  /** How many jobs of the function, or batches, run at the same time in this process; 0 pauses it here. */
  concurrency: number;
  /** The module instance of the handler. @default the instance without a name */
  instance?: string;
}

/** Options for stopping a handler. */
export interface StopWorkerOptions {
  /** How long running jobs may continue; then they go back to their queue. 0 for not at all. @default the module's `shutdownTimeout` */
  drain?: Duration;
}

/** A handler that was added at run time. */
export interface AddedWorker {
  readonly fn: string;
  /** False if `workers` or GEARMONKEY_WORKERS prevents the function from running in this process. */
  readonly runs: boolean;
  /** Stops claiming, and resolves when running jobs have ended or were released. Can be called again. */
  stop(options?: StopWorkerOptions): Promise<void>;
}

/** A function that runs in this process. */
export interface RunningWorker {
  readonly instance: string;
  readonly fn: string;
  /** How many of its jobs, or of its batches, may run at the same time in this process; 0 if it is paused. */
  readonly concurrency: number;
  /** How many run now. */
  readonly running: number;
}

/** A handler that is no method of a class. It gets the input and the running job. */
export type WorkerFunction<F extends FunctionRef> = (
  input: ReceivedOf<F>,
  job: RunningJob<ReceivedOf<F>>,
) => HandlerResult<ReturnedOf<F>, ChunkOf<F>>;

/** The same with `batch`: it gets the inputs and the running jobs of a batch. */
export type BatchFunction<F extends FunctionRef> = (
  inputs: ReceivedOf<F>[],
  jobs: RunningJob<ReceivedOf<F>>[],
) => BatchResult<ReturnedOf<F>>;

const ADD = optionNames<AddWorkerOptions>({
  concurrency: true,
  batch: true,
  retry: true,
  timeout: true,
  jobLimits: true,
  limit: true,
  instance: true,
});
const SET = optionNames<SetWorkerOptions>({ concurrency: true, instance: true });
const STOP = optionNames<StopWorkerOptions>({ drain: true });

/** Changes the handlers of this process while the app runs, without affecting other processes. Inject it anywhere. */
@Injectable()
export class GearMonkeyWorkers {
  static {
    showAs(GearMonkeyWorkers, (workers) => ({ workers: workers.list() }));
  }

  /** @internal */
  constructor(private readonly orchestrator: WorkerOrchestrator) {
    hideFields(this);
  }

  /** The functions that run in this process. */
  list(): RunningWorker[] {
    return this.orchestrator
      .allWorkers()
      .flatMap((workers) => workers.list().map((each) => ({ instance: workers.instance.name, ...each })));
  }

  /**
   * Sets how many jobs of a function run at the same time in this process. With a higher value more jobs begin at once;
   * with a lower one running jobs continue to their end. With 0 no further job begins until it is set again. Does
   * nothing if this process doesn't run the function, or its handler is being stopped.
   *
   * @throws InvalidOptionError, and ConfigurationError for a function without a handler
   */
  set(ref: FunctionRef, options: SetWorkerOptions): void {
    const user = 'GearMonkeyWorkers.set';
    const { concurrency, instance = DEFAULT_INSTANCE } = checkOptions(user, options, SET);
    checkWhole('concurrency', concurrency, 0);
    this.orchestrator.workersOf(instance, user).setConcurrency(functionName(ref), concurrency);
  }

  /**
   * Adds a handler of a function that is not known when the app is written. Resolves when the worker claims its jobs;
   * before the app has started it resolves at once, and the handler starts with the others. Guards, pipes, interceptors
   * and filters only apply to methods of classes.
   *
   * @throws ConfigurationError if the function has a handler or the app is closing, InvalidOptionError,
   * ConnectionError
   */
  add<F extends FunctionRef>(
    ref: F,
    handler: BatchFunction<F>,
    options: AddWorkerOptions<InputOf<F>> & { batch: BatchOptions },
  ): Promise<AddedWorker>;
  add<F extends FunctionRef>(
    ref: F,
    handler: WorkerFunction<F>,
    options?: AddWorkerOptions<InputOf<F>> & { batch?: undefined },
  ): Promise<AddedWorker>;
  async add<F extends FunctionRef>(
    ref: F,
    handler: WorkerFunction<F> | BatchFunction<F>,
    options: AddWorkerOptions<InputOf<F>> = {},
  ): Promise<AddedWorker> {
    const user = 'GearMonkeyWorkers.add';
    const { instance: name = DEFAULT_INSTANCE, ...own } = checkOptions(user, options, ADD);
    const fn = functionName(ref);
    if (typeof handler !== 'function')
      throw new ConfigurationError(`The handler that ${user} got for "${fn}" must be a function.`);
    const workers = this.orchestrator.workersOf(name, user);
    const { instance } = workers;
    const owner = `${user}("${fn}")`;
    const handle: JobHandler = (input, job) => {
      for (const each of [job].flat()) instance.beforeRun?.(each);
      return (handler as JobHandler)(input, job);
    };
    const binding = boundTo(instance, ref, own, handle, owner);
    const runs = workers.runs(fn);
    workers.refuseTaken(fn);
    const forget = known(instance, ref, binding.limits.limit);
    await workers.add(fn, { owner, binding: runs ? binding : undefined }).catch((error: unknown) => {
      forget();
      throw error;
    });
    let stopped: Promise<void> | undefined;
    return {
      fn,
      runs,
      stop: async (how = {}) => {
        const { drain } = checkOptions('stop', how, STOP);
        const timeout = millisecondsOr(instance.shutdownTimeout, 'drain', drain, { least: 0 });
        stopped ??= workers.remove(fn, timeout).finally(forget);
        return stopped;
      },
    };
  }
}

/** Makes a definition and a handler's limit known to the instance's client, until the function that is returned is called. */
function known({ client }: GearMonkeyInstance, ref: FunctionRef, limit: Limit | undefined): () => void {
  const isNew = typeof ref !== 'string' && client?.register(ref);
  client?.addHandler(functionName(ref), defined({ limit }));
  return () => {
    client?.removeHandler(functionName(ref));
    if (isNew) client?.forget(ref);
  };
}
