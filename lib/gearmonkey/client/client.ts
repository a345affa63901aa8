import type { Observable } from 'rxjs';
import { ConfigurationError, JobNotFoundError } from '../../job/errors.js';
import type { Job, JobProgress } from '../../job/job.js';
import type { AnyJobDefinition, FunctionRef, InputOf, OutputOf } from '../../job/job-definition.js';
import type { ClientOptions } from './client-options.js';
import { FunctionClient } from './function-client.js';
import { JobAccess, outputOf } from './job-access.js';
import { JobSchedules } from './job-schedules.js';
import type { ScheduleOptions } from '../recurring/recur-options.js';
import type { Schedule } from '../recurring/schedule.js';
import { JobFeeds } from './job-feeds.js';
import { JobHandle } from './job-handle.js';
import type { EnqueuedKey, JobStore } from './job-store.js';
import type { Limit } from '../../job/limit.js';
import { KnownFunctions } from './known-functions.js';
import { NewJobs } from './new-jobs.js';
import { observeAllProgress } from './observables.js';
import {
  checkRun,
  type CallOptions,
  type ResultOptions,
  type RunManyOptions,
  type RunOptions,
} from './run-options.js';
import type { UpdateOptions } from './update-options.js';
import { showAs } from '../../job/show-as.js';

export type { ClientOptions };

/** Enqueues jobs, reads them and subscribes to their changes. Inject it as `GearMonkeyClient`, or with `@InjectGearMonkey(name)`. */
export class GearMonkeyClient extends FunctionClient {
  static {
    showAs(GearMonkeyClient, (client) => ({ server: client.#store.address }));
  }

  // Private at run time too: logs of a client must not show the store, which holds passwords.
  readonly #store: JobStore;
  readonly #options: ClientOptions;
  readonly #functions: KnownFunctions;
  readonly #feeds: JobFeeds;
  readonly #jobs: JobAccess;
  readonly #newJobs: NewJobs;
  /** The schedules of recurring jobs: list, read, change, pause and remove them. */
  readonly schedules: JobSchedules;

  /** @internal @throws InvalidOptionError */
  constructor(
    store: JobStore,
    options: ClientOptions = {},
    restricted = false,
    feeds: JobFeeds = new JobFeeds(store),
    handlerLimits?: Map<string, Limit>,
  ) {
    // The published declarations have no constructor, so `new GearMonkeyClient()` compiles. Other systems' clients get options.
    if (typeof (store as Partial<JobStore> | undefined)?.enqueue !== 'function')
      throw new ConfigurationError(
        "A GearMonkeyClient can't be made with `new`. Inject it, or in a script take it from an app: " +
          '(await NestFactory.createApplicationContext(AppModule)).get(GearMonkeyClient).',
      );
    const functions = new KnownFunctions(options, restricted, handlerLimits);
    const newJobs = new NewJobs(store, functions, options.headers);
    super({ store, functions, feeds, newJobs });
    this.#store = store;
    this.#options = options;
    this.#functions = functions;
    this.#feeds = feeds;
    this.#jobs = new JobAccess(store, functions, feeds);
    this.#newJobs = newJobs;
    this.schedules = new JobSchedules({ store, functions, jobs: this.#jobs, headers: options.headers });
  }

  /**
   * Enqueues a job (the protocol's Client.run).
   *
   * @throws ConfigurationError, InvalidOptionError, InvalidFunctionNameError, ValidationError, ChangedByCodecError,
   * NotSerializableError, PayloadTooLargeError, LimitKeyError before anything is written · NoWorkersError with `rollCall` ·
   * LimitFullError with `limit.onFull: 'refuse'` · EnqueueTimeoutError · WaitTimeoutError with `blocking`
   */
  async run<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: RunOptions<InputOf<F>> = {},
  ): Promise<JobHandle<F>> {
    const [checked, timeout] = checkRun(options);
    if (!checked.blocking) return this.#handle(ref, await this.#newJobs.one(ref, input, checked));
    let key: EnqueuedKey | undefined;
    const enqueue = async () => (key = await this.#newJobs.one(ref, input, checked, this.#store.inbox));
    const { id } = await this.#jobs.runUntilFinal(ref, enqueue, timeout);
    return this.#handle(ref, key ?? { id, created: true });
  }

  /**
   * Enqueues a job and waits for its output. Without `timeout` it waits forever if there is no worker.
   *
   * @throws as `run` · WaitTimeoutError · JobFailedError if it failed · JobLostError
   */
  async call<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: CallOptions<InputOf<F>> = {},
  ): Promise<OutputOf<F>> {
    const [checked, timeout] = checkRun(options);
    const enqueue = () => this.#newJobs.one(ref, input, checked, this.#store.inbox);
    return outputOf(await this.#jobs.runUntilFinal(ref, enqueue, timeout));
  }

  /**
   * Enqueues many jobs of one function in few round trips. If one input is invalid, none is enqueued. `enqueueTimeout`
   * applies to each round trip, which takes some hundred jobs.
   *
   * @throws as `run` · PartlyEnqueuedError and NotDurableError with the `ids` of those that were enqueued
   */
  async runMany<F extends FunctionRef>(
    ref: F,
    inputs: readonly InputOf<F>[],
    options: RunManyOptions<InputOf<F>> = {},
  ): Promise<JobHandle<F>[]> {
    const keys = await this.#newJobs.many(ref, inputs, options);
    return keys.map((key) => this.#handle(ref, key));
  }

  /**
   * Makes a schedule, or changes the one with this id: from then on workers of the function create a job at each of its
   * times, once among all processes. A call that changes nothing does nothing, so each process may make it when it starts.
   *
   * @throws ConfigurationError, InvalidOptionError, and errors of the input as `run`, before anything is written ·
   * ScheduleExistsError if another function has a schedule with this id
   */
  async recur<F extends FunctionRef>(
    ref: F,
    options: ScheduleOptions<InputOf<F>>,
  ): Promise<Schedule<InputOf<F>>> {
    return this.schedules.put(ref, options);
  }

  /** Reads a job; null if there is none. @throws MalformedJobError, UnreadablePayloadError */
  async get<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>> | null> {
    return this.getOrThrow(ref, id).catch((error: unknown) => {
      if (error instanceof JobNotFoundError) return null;
      throw error;
    });
  }

  /** As `get`. @throws JobNotFoundError if there is no such job */
  async getOrThrow<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>>> {
    return this.#jobs.get(ref, { id: String(id) });
  }

  /** Waits until a job has finished, and returns its output. @throws JobFailedError, WaitTimeoutError, JobNotFoundError */
  async result<F extends FunctionRef>(
    ref: F,
    id: string | number,
    options: ResultOptions = {},
  ): Promise<OutputOf<F>> {
    return this.#jobs.result(ref, { id: String(id) }, options);
  }

  /**
   * Cancels a job that waits, is scheduled, will be retried, or runs on a worker of this package; the handler's
   * `job.signal` aborts. Programs that use the plain protocol see an error with the output "cancelled".
   *
   * @returns true if it is cancelled, now or before; false if it had finished in another way
   * @throws JobNotFoundError · NotCancellableError if a plain worker runs it
   */
  async cancel(ref: FunctionRef, id: string | number): Promise<boolean> {
    return this.#jobs.cancel(ref, { id: String(id) });
  }

  /**
   * Changes a job that waits and that no handler has run: its input, its priority or its time. What is left out stays.
   * It is not an event: observers see it with the job's next change.
   *
   * @throws as `run` for an invalid input or option, before anything is written · JobNotFoundError · JobBegunError if
   * it has begun or finished
   */
  async update<F extends FunctionRef>(
    ref: F,
    id: string | number,
    changes: UpdateOptions<InputOf<F>>,
  ): Promise<void> {
    return this.#jobs.update(ref, { id: String(id) }, changes);
  }

  /** Progress of all jobs of the function, or of one job: then it completes when that job has finished. */
  progress(ref: FunctionRef, id?: string | number): Observable<JobProgress> {
    if (id !== undefined) return this.#jobs.progress(ref, { id: String(id) });
    const fn = this.#functions.nameOf(ref);
    return observeAllProgress(() => this.#feeds.forObserver(fn));
  }

  /** Emits the job now and after every change; completes when it has finished. Errors with JobNotFoundError, JobLostError. */
  watch<F extends FunctionRef>(ref: F, id: string | number): Observable<Job<InputOf<F>, OutputOf<F>>> {
    return this.#jobs.watch(ref, { id: String(id) });
  }

  /**
   * Registers a definition, so that its codec and schemas also apply where only its name is given. Returns whether it
   * wasn't registered before.
   */
  register(definition: AnyJobDefinition): boolean {
    return this.#functions.register(definition);
  }

  /** Undoes `register`. @internal */
  forget(definition: AnyJobDefinition): void {
    this.#functions.forget(definition);
  }

  /** Applies a handler's limit, which goes before its definition's; undefined undoes it. @internal */
  limitBy(fn: string, limit: Limit | undefined): void {
    this.#functions.limitBy(fn, limit);
  }

  /** Makes a client on the same connections that accepts only functions of these definitions. */
  only(definitions: readonly AnyJobDefinition[]): GearMonkeyClient {
    const client = new GearMonkeyClient(
      this.#store,
      this.#options,
      true,
      this.#feeds,
      this.#functions.handlerLimits,
    );
    for (const definition of definitions) {
      this.register(definition);
      client.register(definition);
    }
    return client;
  }

  /** Completes all observables, including those subscribed to later. `call` and `result` continue to wait. */
  endObservers(): void {
    this.#feeds.endObservers();
  }

  /** Completes all observables; pending `call`s and `result`s reject with a ConnectionError. */
  close(): Promise<void> {
    this.#feeds.close();
    return this.#store.close();
  }

  #handle<F extends FunctionRef>(ref: F, key: EnqueuedKey): JobHandle<F> {
    return new JobHandle(this.#jobs, ref, this.#functions.nameOf(ref), key);
  }
}
