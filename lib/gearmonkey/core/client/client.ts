import { ConfigurationError } from '../../../job/errors.js';
import type { AnyJobDefinition, FunctionRef, InputOf, OutputOf } from '../../../job/job-definition.js';
import { JobClient } from './job-client.js';
import { JobAccess, outputOf } from './job-access.js';
import { JobSchedules } from '../../features/schedules/job-schedules.js';
import type { ScheduleOptions } from '../../features/schedules/recur-options.js';
import type { Schedule } from '../../features/schedules/schedule.js';
import { Flow } from '../../features/flows/flow.js';
import { planFlow, type FlowNode, type FlowRoot } from '../../features/flows/flow-node.js';
import { JobFeeds } from './job-feeds.js';
import { JobHandle } from './job-handle.js';
import type { EnqueuedKey, JobStore } from './job-store.js';
import type { Limit } from '../../../job/limit.js';
import { KnownFunctions, type PayloadOptions } from './known-functions.js';
import { NewJobs } from './new-jobs.js';
import { checkRun, type CallOptions, type RunManyOptions, type RunOptions } from './run-options.js';
import { showAs } from '../../../job/show-as.js';
import type { HandlersHere } from './unserved.js';
import type { GivenHeaders } from '../../../job/headers.js';
import type { EnqueueMiddleware } from './enqueue-middleware.js';

/** Enqueues jobs, reads them and subscribes to their changes. Inject it as `GearMonkeyClient`, or with `@InjectGearMonkey(name)`. */
export class GearMonkeyClient extends JobClient {
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
    handlerLimits?: Map<string, Limit | undefined>,
  ) {
    // The published declarations have no constructor, so `new GearMonkeyClient()` compiles. Other systems' clients get options.
    if (typeof (store as Partial<JobStore> | undefined)?.enqueue !== 'function')
      throw new ConfigurationError(
        "A GearMonkeyClient can't be made with `new`. Inject it, or in a script take it from an app: " +
          '(await NestFactory.createApplicationContext(AppModule)).get(GearMonkeyClient).',
      );
    const functions = new KnownFunctions(options, restricted, handlerLimits);
    const newJobs = new NewJobs(store, functions, options);
    const jobs = new JobAccess(store, functions, feeds);
    super({ store, functions, feeds, newJobs }, jobs);
    this.#store = store;
    this.#options = options;
    this.#functions = functions;
    this.#feeds = feeds;
    this.#jobs = jobs;
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
  run<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options?: RunOptions<InputOf<F>>,
  ): Promise<JobHandle<F>> {
    const plain = options === undefined ? this.#newJobs.plain(ref, input) : undefined;
    if (plain) return plain.then(([key]) => this.#handle(ref, key));
    return this.#runWith(ref, input, options);
  }

  async #runWith<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: RunOptions<InputOf<F>> | undefined,
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
    options?: CallOptions<InputOf<F>>,
  ): Promise<OutputOf<F>> {
    const [checked, timeout] = checkRun(options);
    const { inbox } = this.#store;
    const enqueue = async () => {
      const plain = options === undefined ? this.#newJobs.plain(ref, input, inbox) : undefined;
      return plain ? (await plain)[0] : this.#newJobs.one(ref, input, checked, inbox);
    };
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
   * Enqueues jobs that wait for each other, at once or not at all: `children` begin once their job has succeeded, and one object in
   * several lists waits for all of them. At most 100,000 jobs with 500,000 children in all. Of functions with a limit, a worker
   * gives each job its key when its turn has come.
   *
   * @throws FlowCycleError, FlowTooLargeError, and errors of inputs and options as `run`, before anything is written ·
   * UnknownParentError for `after` of the root · FlowSlotsError on a cluster · EnqueueTimeoutError
   */
  async flow<F extends FunctionRef>(root: FlowRoot<F>): Promise<Flow<F>> {
    const planned = planFlow(root as FlowNode);
    const { name, keys, jobs } = await this.#newJobs.flow(planned);
    const handles = keys.map(
      (key, number) =>
        new JobHandle(this.#jobs, planned[number]?.node.job ?? '', jobs[number]?.fn ?? '', key),
    );
    const numbers = new Map(planned.map(({ node }, number) => [node.source, number]));
    const fn = this.#functions.nameOf(root.job);
    return new Flow(handles[0] as JobHandle<F>, handles, {
      observe: () => this.#jobs.flowProgress(fn, name, keys[0]?.id ?? ''),
      cancel: () => this.#jobs.cancelFlow(fn, name),
      handleOf: (node) => handles[numbers.get(node) ?? -1],
    });
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

  /** This process has a handler of a function; its limit goes before its definition's. @internal */
  addHandler(fn: string, limit: Limit | undefined): void {
    this.#functions.addHandler(fn, limit);
  }

  /** Undoes `addHandler`. @internal */
  removeHandler(fn: string): void {
    this.#functions.removeHandler(fn);
  }

  /** What it says when a call waits for a function without a worker. @internal */
  reportHandlers(here: HandlersHere): void {
    this.#feeds.unserved.report(here);
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

/** Options of a client. */
export interface ClientOptions extends PayloadOptions {
  /**
   * Asked at each enqueue for headers that every job gets, such as a tenant or a correlation id from an
   * AsyncLocalStorage. What it throws rejects the enqueue.
   */
  headers?: () => GivenHeaders | undefined;

  /** What is done around each enqueue. */
  middleware?: readonly EnqueueMiddleware[];
}
