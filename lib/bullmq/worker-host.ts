import { checkWhole } from '../job/check-whole.js';
import { ConfigurationError } from '../job/errors.js';
import { hideFields, showAs } from '../job/show-as.js';
import type { AddedWorker, GearMonkeyWorkers } from '../nest/gearmonkey.workers.js';
import type { Job } from './job.js';
import type { Untyped } from './job-options.js';
import { emitterMethods, refuseMethods, unsupported } from './unsupported.js';

/** How a processor's jobs are run in this process: the `worker` of its `WorkerHost`. */
export class ProcessorWorker {
  static {
    showAs(ProcessorWorker, ({ name, concurrency }) => ({ name, concurrency }));
  }

  #concurrency: number;
  #isPaused = false;
  readonly #runs = new Set<Promise<unknown>>();

  /** @internal */
  constructor(
    readonly name: string,
    concurrency: number,
    private readonly instance: string,
    private readonly workers: GearMonkeyWorkers,
    private readonly added: Promise<AddedWorker>,
  ) {
    this.#concurrency = concurrency;
    hideFields(this);
  }

  /** How many jobs run at the same time in this process. It may be set. @throws InvalidOptionError */
  get concurrency(): number {
    return this.#concurrency;
  }

  set concurrency(concurrency: number) {
    this.#concurrency = checkWhole('concurrency', concurrency, 1);
    if (!this.#isPaused) this.#set(concurrency);
  }

  /**
   * No job begins in this process until `resume`. Resolves when running ones have ended.
   *
   * @param doNotWaitActive whether to resolve at once, as a processor needs it that pauses its own worker
   */
  async pause(doNotWaitActive = false): Promise<void> {
    this.#isPaused = true;
    this.#set(0);
    while (!doNotWaitActive && this.#runs.size > 0) await Promise.allSettled(this.#runs);
  }

  resume(): void {
    this.#isPaused = false;
    this.#set(this.#concurrency);
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether this process runs jobs of the queue, and is not paused. */
  isRunning(): boolean {
    const { name, instance } = this;
    return !this.#isPaused && this.workers.list().some((one) => one.fn === name && one.instance === instance);
  }

  /**
   * Stops claiming, and resolves when running jobs have ended or were released.
   *
   * @param force whether running jobs are released at once: they run again, elsewhere
   */
  async close(force = false): Promise<void> {
    await (await this.added).stop(force ? { drain: 0 } : {});
  }

  /** Does nothing: jobs begin when the app has started. */
  async waitUntilReady(): Promise<void> {}

  /** Those that `pause` waits for. @internal */
  track<T>(run: Promise<T>): Promise<T> {
    const forget = () => void this.#runs.delete(run);
    this.#runs.add(run);
    run.then(forget, forget);
    return run;
  }

  /** @throws ConfigurationError always */
  on(event: never): never {
    throw unsupported(`worker.on('${String(event)}')`, 'Use a method of the processor with @OnWorkerEvent.');
  }

  #set(concurrency: number): void {
    this.workers.set(this.name, { concurrency, instance: this.instance });
  }
}

const EVENTS = 'Use a method of the processor with @OnWorkerEvent.';

refuseMethods(ProcessorWorker.prototype, 'worker', {
  ...emitterMethods(EVENTS),
  run: 'Use `workers: false` of BullModule.forRoot, and GearMonkeyWorkers.add when jobs may begin.',
  rateLimit: "Use the option `limiter` of @Processor, or a `limit` of @Worker and its job's holdKey.",
  cancelJob: 'Use GearMonkeyClient.cancel, which also ends running jobs: `signal` aborts.',
  cancelAllJobs: 'Use GearMonkeyClient.drain, or cancel for one.',
  getNextJob: 'Jobs are claimed by the app only.',
  processJob: 'Jobs are run by the app only.',
  delay: 'Use setTimeout of node:timers/promises.',
  startStalledCheckTimer: 'Leave it out: leases that end are recovered.',
  extendJobLocks: 'Leave it out: leases are renewed.',
  disconnect: 'The app closes its connections: use `close`.',
});

const workersOfHosts = new WeakMap<WorkerHost, ProcessorWorker>();

/** The class that a processor extends. */
export abstract class WorkerHost {
  /**
   * Runs a job: what it returns is the job's `returnvalue`.
   *
   * @param token empty: leases are renewed without it
   * @param signal aborts when the job has to stop: cancelled, its lease lost, or the app closes
   */
  abstract process(job: Job, token?: string, signal?: AbortSignal): Promise<Untyped>;

  /** @throws ConfigurationError before the app has started */
  get worker(): ProcessorWorker {
    const worker = workersOfHosts.get(this);
    if (worker) return worker;
    throw new ConfigurationError(
      `${this.constructor.name}.worker is there from onApplicationBootstrap on, and for processors without a request scope. Use it later.`,
    );
  }
}

/** Gives a host its worker. */
export function attachWorker(host: WorkerHost, worker: ProcessorWorker): void {
  workersOfHosts.set(host, worker);
}
