import { ConfigurationError } from '../job/errors.js';
import { hideFields, showAs } from '../job/show-as.js';
import type { AddedWorker, GearMonkeyWorkers } from '../nest/gearmonkey.workers.js';
import type { Job } from './job.js';
import type { Untyped } from './job-options.js';
import { unsupported } from './unsupported.js';

/** How a processor's jobs are run in this process: the `worker` of its `WorkerHost`. */
export class ProcessorWorker {
  static {
    showAs(ProcessorWorker, ({ name, concurrency }) => ({ name, concurrency }));
  }

  #concurrency: number;
  #isPaused = false;

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

  /** How many jobs run at the same time in this process. It may be set. */
  get concurrency(): number {
    return this.#concurrency;
  }

  set concurrency(concurrency: number) {
    this.#concurrency = concurrency;
    if (!this.#isPaused) this.#set(concurrency);
  }

  /** No job begins in this process until `resume`; running ones go on, and are not waited for. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    this.#set(0);
  }

  resume(): void {
    this.#isPaused = false;
    this.#set(this.#concurrency);
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether this process runs jobs of the queue. */
  isRunning(): boolean {
    return this.workers.list().some(({ fn, instance }) => fn === this.name && instance === this.instance);
  }

  /** Stops claiming, and resolves when running jobs have ended or were released. */
  async close(): Promise<void> {
    await (await this.added).stop();
  }

  /** @throws ConfigurationError always */
  on(event: never): never {
    throw unsupported(`worker.on('${String(event)}')`, 'Use a method of the processor with @OnWorkerEvent.');
  }

  #set(concurrency: number): void {
    this.workers.set(this.name, { concurrency, instance: this.instance });
  }
}

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
