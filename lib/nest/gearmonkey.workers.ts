import { Injectable } from '@nestjs/common';
import { checkWhole } from '../job/check-whole.js';
import { millisecondsOr, type Duration } from '../job/duration.js';
import { ConfigurationError } from '../job/errors.js';
import { functionName, type FunctionRef, type ReceivedOf, type ReturnedOf } from '../job/job-definition.js';
import { checkOptions, optionNames } from '../job/known-options.js';
import { showAs } from '../job/show-as.js';
import type { HandlerOptions, HandlerResult, JobHandler } from '../worker/job-handler.js';
import type { RunningJob } from '../worker/running-job.js';
import { DEFAULT_INSTANCE } from './gearmonkey.options.js';
import { boundTo } from './handler-binder.js';
import { WorkerOrchestrator } from './worker.orchestrator.js';

/** What `GearMonkeyWorkers.add` takes. */
export interface AddWorkerOptions extends HandlerOptions {
  /** The module instance whose jobs the handler runs. @default the instance without a name */
  instance?: string;
}

/** What `GearMonkeyWorkers.set` takes. */
export interface SetWorkerOptions {
  /** How many jobs of the function run at the same time in this process; 0 pauses it here. */
  concurrency: number;
  /** The module instance of the handler. @default the instance without a name */
  instance?: string;
}

/** How a handler is stopped. */
export interface StopWorkerOptions {
  /** How long running jobs may go on; then they go back to their queue. 0 for not at all. @default the module's `shutdownTimeout` */
  drain?: Duration;
}

/** A handler that was added at run time. */
export interface AddedWorker {
  readonly fn: string;
  /** False where `workers` or GEARMONKEY_WORKERS keeps the function from running in this process. */
  readonly runs: boolean;
  /** Takes no more jobs, and resolves when those that ran have ended or gone back. Again: the same. */
  stop(options?: StopWorkerOptions): Promise<void>;
}

/** A function that runs in this process. */
export interface RunningWorker {
  readonly instance: string;
  readonly fn: string;
  /** How many of its jobs run at the same time in this process; 0 where it is paused. */
  readonly concurrency: number;
  /** How many run now. */
  readonly running: number;
}

/** What runs jobs where no class does: it gets the input and the running job. */
export type WorkerFunction<F extends FunctionRef> = (
  input: ReceivedOf<F>,
  job: RunningJob<ReceivedOf<F>>,
) => HandlerResult<ReturnedOf<F>>;

const ADD = optionNames<AddWorkerOptions>({
  concurrency: true,
  retry: true,
  timeout: true,
  jobLimits: true,
  instance: true,
});
const SET = optionNames<SetWorkerOptions>({ concurrency: true, instance: true });
const STOP = optionNames<StopWorkerOptions>({ drain: true });

/** Changes while the app runs what this process does: other processes go on as they were. Injectable everywhere. */
@Injectable()
export class GearMonkeyWorkers {
  static {
    showAs(GearMonkeyWorkers, (workers) => ({ workers: workers.list() }));
  }

  /** @internal */
  constructor(private readonly orchestrator: WorkerOrchestrator) {}

  /** What runs in this process. */
  list(): RunningWorker[] {
    return this.orchestrator
      .allWorkers()
      .flatMap((workers) => workers.list().map((each) => ({ instance: workers.instance.name, ...each })));
  }

  /**
   * How many jobs of a function run at the same time in this process. More begin at once; with fewer, those that run
   * go on to their end, and with 0 no further job begins until it is set again. It does nothing where this process
   * doesn't run the function.
   *
   * @throws InvalidOptionError, and ConfigurationError for a function that has no handler
   */
  set(ref: FunctionRef, options: SetWorkerOptions): void {
    const user = 'GearMonkeyWorkers.set';
    const { concurrency, instance = DEFAULT_INSTANCE } = checkOptions(user, options, SET);
    checkWhole('concurrency', concurrency, 0);
    this.orchestrator.workersOf(instance, user).setConcurrency(functionName(ref), concurrency);
  }

  /**
   * Runs jobs of a function that is not known when the app is written. Resolves when its jobs are taken; before the app
   * has started it resolves at once, and the handler begins with the others. Guards, pipes, interceptors and
   * filters are for methods of classes: a function has none.
   *
   * @throws ConfigurationError when the function has a handler or the app is closing, InvalidOptionError,
   * ConnectionError
   */
  async add<F extends FunctionRef>(
    ref: F,
    handler: WorkerFunction<F>,
    options: AddWorkerOptions = {},
  ): Promise<AddedWorker> {
    const user = 'GearMonkeyWorkers.add';
    const { instance: name = DEFAULT_INSTANCE, ...own } = checkOptions(user, options, ADD);
    const fn = functionName(ref);
    if (typeof handler !== 'function')
      throw new ConfigurationError(`The handler that ${user} was given for "${fn}" is no function.`);
    const workers = this.orchestrator.workersOf(name, user);
    const { instance } = workers;
    const owner = `${user}("${fn}")`;
    const handle: JobHandler = (input, job) => {
      instance.beforeRun?.(job);
      return (handler as JobHandler)(input, job);
    };
    const binding = boundTo(instance, ref, own, handle, owner);
    const runs = workers.runs(fn);
    await workers.add(fn, { owner, binding: runs ? binding : undefined });
    if (typeof ref !== 'string') instance.client?.register(ref);
    let stopped: Promise<void> | undefined;
    return {
      fn,
      runs,
      stop: async (how = {}) => {
        const { drain } = checkOptions('stop', how, STOP);
        const timeout = millisecondsOr(instance.shutdownTimeout, 'drain', drain, { least: 0 });
        stopped ??= workers.remove(fn, timeout);
        return stopped;
      },
    };
  }
}
