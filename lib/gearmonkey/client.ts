import type { Observable } from 'rxjs';
import type { Codec } from '../job/codec.js';
import { ConfigurationError, JobNotFoundError } from '../job/errors.js';
import type { GivenHeaders } from '../job/headers.js';
import type { Job, JobEvent, JobProgress } from '../job/job.js';
import type { AnyJobDefinition, FunctionRef, InputOf, OutputOf } from '../job/job-definition.js';
import { showAs } from '../job/show-as.js';
import type { EnqueueMiddleware } from './core/client/enqueue-middleware.js';
import type { EnqueuedKey } from './core/client/enqueued-key.js';
import { JobAccess, outputOf, readerOf } from './core/client/job-access.js';
import { JobFeeds } from './core/client/job-feeds.js';
import { JobHandle } from './core/client/job-handle.js';
import type { JobStore } from './core/client/job-store.js';
import { KnownFunctions, type HandlerSettings, type PayloadOptions } from './core/client/known-functions.js';
import { NewJobs, type EnqueueWay, type RunOfJobs } from './core/client/new-jobs.js';
import { observeAllProgress, observeEvents } from './core/client/observables.js';
import {
  checkRun,
  type CallOptions,
  type ResultOptions,
  type RunManyOptions,
  type RunOptions,
} from './core/client/run-options.js';
import type { HandlersHere } from './core/client/unserved.js';
import { addMembers, type ClientCore, type ClientPart } from './core/feature.js';
import { FEATURES, JOB_SETTINGS, type FeatureMethods, type GearMonkeyStore } from './features/index.js';

const PLACING = new Map(FEATURES.flatMap(({ name, place }) => (place ? [[name, place] as const] : [])));

/** Features give a client most of its methods, those of the classes in `features/index.ts`: they are added below. */
const Featured = class {} as new () => FeatureMethods;

/** Enqueues jobs, reads them and subscribes to their changes. Inject it as `GearMonkeyClient`, or with `@InjectGearMonkey(name)`. */
export class GearMonkeyClient extends Featured {
  static {
    showAs(GearMonkeyClient, (client) => ({ server: client.#core.store.address }));
    for (const { client: Part } of FEATURES)
      if (Part) addMembers(GearMonkeyClient.prototype, Part, (client) => client.#part(Part));
  }

  // Private at run time too: logs of a client must not show the store, which holds passwords.
  readonly #core: ClientCore<GearMonkeyStore>;
  readonly #options: ClientOptions;
  /** What features add, by class: made when it is first used. */
  readonly #parts = new Map<ClientPart<GearMonkeyStore>, object>();

  /** @internal @throws InvalidOptionError */
  constructor(
    store: GearMonkeyStore,
    options: ClientOptions = {},
    restricted = false,
    feeds: JobFeeds = new JobFeeds(store),
    handlers?: Map<string, HandlerSettings>,
  ) {
    super();
    // The published declarations have no constructor, so `new GearMonkeyClient()` compiles. Other systems' clients get options.
    if (typeof (store as Partial<JobStore> | undefined)?.enqueue !== 'function')
      throw new ConfigurationError(
        "A GearMonkeyClient can't be made with `new`. Inject it, or in a script take it from an app: " +
          '(await NestFactory.createApplicationContext(AppModule)).get(GearMonkeyClient).',
      );
    const functions = new KnownFunctions(options, restricted, JOB_SETTINGS, handlers);
    const others: EnqueueWay[] = [];
    const newJobs = new NewJobs(store, functions, options, { others, placing: PLACING });
    const jobs = new JobAccess(store, functions, feeds);
    const reader = readerOf(jobs);
    const core = { store, functions, feeds, newJobs, jobs, reader, headers: options.headers };
    for (const feature of FEATURES) {
      Object.assign(reader, feature.handle?.(core));
      if (feature.enqueue) others.push(feature.enqueue(core));
    }
    this.#core = core;
    this.#options = options;
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
    const plain = options === undefined ? this.#core.newJobs.plain(ref, input) : undefined;
    if (plain) return plain.then(([key]) => this.#handle(ref, key));
    return this.#runWith(ref, input, options);
  }

  async #runWith<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: RunOptions<InputOf<F>> | undefined,
  ): Promise<JobHandle<F>> {
    const [checked, timeout] = checkRun(options);
    if (!checked.blocking) return this.#handle(ref, await this.#core.newJobs.one(ref, input, checked));
    let key: EnqueuedKey | undefined;
    const enqueue = async () =>
      (key = await this.#core.newJobs.one(ref, input, checked, this.#core.store.inbox));
    const { id } = await this.#core.jobs.runUntilFinal(ref, enqueue, timeout);
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
    const { inbox } = this.#core.store;
    const enqueue = async () => {
      const plain = options === undefined ? this.#core.newJobs.plain(ref, input, inbox) : undefined;
      return plain ? (await plain)[0] : this.#core.newJobs.one(ref, input, checked, inbox);
    };
    return outputOf(await this.#core.jobs.runUntilFinal(ref, enqueue, timeout));
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
    const keys = await this.#core.newJobs.many(ref, [{ inputs, options }]);
    return keys.map((key) => this.#handle(ref, key));
  }

  /** The same for jobs with several options: if one input or option is invalid, none is enqueued. @internal */
  async runEach<F extends FunctionRef>(ref: F, runs: readonly RunOfJobs[]): Promise<JobHandle<F>[]> {
    const keys = await this.#core.newJobs.many(ref, runs);
    return keys.map((key) => this.#handle(ref, key));
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
    return this.#core.jobs.get(ref, { id: String(id) });
  }

  /** Waits until a job has finished, and returns its output. @throws JobFailedError, WaitTimeoutError, JobNotFoundError */
  async result<F extends FunctionRef>(
    ref: F,
    id: string | number,
    options: ResultOptions = {},
  ): Promise<OutputOf<F>> {
    return this.#core.jobs.result(ref, { id: String(id) }, options);
  }

  /** Emits the job now and after every change; completes when it has finished. Errors with JobNotFoundError, JobLostError. */
  watch<F extends FunctionRef>(ref: F, id: string | number): Observable<Job<InputOf<F>, OutputOf<F>>> {
    return this.#core.jobs.watch(ref, { id: String(id) });
  }

  /** Progress of all jobs of the function, or of one job: then it completes when that job has finished. */
  progress(ref: FunctionRef, id?: string | number): Observable<JobProgress> {
    if (id !== undefined) return this.#core.jobs.progress(ref, { id: String(id) });
    const { functions, feeds } = this.#core;
    const fn = functions.nameOf(ref);
    return observeAllProgress(() => feeds.forObserver(fn));
  }

  /** How many workers are registered for the function. @throws NoWorkersError if there is none */
  async rollCall(ref: FunctionRef): Promise<number> {
    return this.#core.newJobs.requireWorkers(ref);
  }

  /** Events of all jobs of the function: created, started and finished. */
  events(ref: FunctionRef): Observable<JobEvent> {
    const fn = this.#core.functions.nameOf(ref);
    return observeEvents(() => this.#core.feeds.forObserver(fn));
  }

  /** Whether a definition or a handler of this process names it. @internal */
  defines(fn: string): boolean {
    return this.#core.functions.names().includes(fn);
  }

  /** The definition of this name that is registered. @internal */
  definitionOf(fn: string): AnyJobDefinition | undefined {
    return this.#core.functions.definitionOf(fn);
  }

  /** The codec of the function's payloads. @internal */
  codecOf(ref: FunctionRef): Codec {
    return this.#core.functions.codecOf(ref);
  }

  /**
   * Registers a definition, so that its codec and schemas also apply where only its name is given. Returns whether it
   * wasn't registered before.
   */
  register(definition: AnyJobDefinition): boolean {
    return this.#core.functions.register(definition);
  }

  /** Undoes `register`. @internal */
  forget(definition: AnyJobDefinition): void {
    this.#core.functions.forget(definition);
  }

  /** This process has a handler of a function; what it says goes before the definition. @internal */
  addHandler(fn: string, settings: HandlerSettings): void {
    this.#core.functions.addHandler(fn, settings);
  }

  /** Undoes `addHandler`. @internal */
  removeHandler(fn: string): void {
    this.#core.functions.removeHandler(fn);
  }

  /** What it says when a call waits for a function without a worker. @internal */
  reportHandlers(here: HandlersHere): void {
    this.#core.feeds.unserved.report(here);
  }

  /** Makes a client on the same connections that accepts only functions of these definitions. */
  only(definitions: readonly AnyJobDefinition[]): GearMonkeyClient {
    const client = new GearMonkeyClient(
      this.#core.store,
      this.#options,
      true,
      this.#core.feeds,
      this.#core.functions.handlers,
    );
    for (const definition of definitions) {
      this.register(definition);
      client.register(definition);
    }
    return client;
  }

  /** Completes all observables, including those subscribed to later. `call` and `result` continue to wait. */
  endObservers(): void {
    this.#core.feeds.endObservers();
  }

  /** Completes all observables; pending `call`s and `result`s reject with a ConnectionError. */
  close(): Promise<void> {
    this.#core.feeds.close();
    return this.#core.store.close();
  }

  #handle<F extends FunctionRef>(ref: F, key: EnqueuedKey): JobHandle<F> {
    return new JobHandle(this.#core.reader, ref, this.#core.functions.nameOf(ref), key);
  }

  #part(Part: ClientPart<GearMonkeyStore>): object {
    let part = this.#parts.get(Part);
    if (!part) this.#parts.set(Part, (part = new Part(this.#core)));
    return part;
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
