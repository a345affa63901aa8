import type { Observable } from 'rxjs';
import type { Payload } from '../../job/codec.js';
import {
  ConfigurationError,
  InvalidOptionError,
  JobNotFoundError,
  NoWorkersError,
} from '../../job/errors.js';
import type { Job, JobEvent, JobProgress } from '../../job/job.js';
import type { AnyJobDefinition, FunctionRef, InputOf, OutputOf } from '../../job/job-definition.js';
import { JobAccess, outputOf } from './job-access.js';
import { JobFeeds } from './job-feeds.js';
import { JobHandle } from './job-handle.js';
import type { JobStore } from './job-store.js';
import { KnownFunctions, type ClientOptions } from './known-functions.js';
import { observeAllProgress, observeEvents } from './observables.js';
import type { JobKey } from '../wire/protocol.js';
import {
  placementOf,
  placementOfMany,
  waitOf,
  type CallOptions,
  type ResultOptions,
  type RunManyOptions,
  type RunOptions,
} from './run-options.js';
import { showAs } from '../../job/show-as.js';

export type { ClientOptions };

/** Submits jobs and watches them. Injected as `GearMonkeyClient`; a named one by `@InjectGearMonkey(name)`. */
export class GearMonkeyClient {
  static {
    showAs(GearMonkeyClient, (client) => ({ server: client.#store.address }));
  }

  // Private at run time too: a client may be logged, and its store knows passwords.
  readonly #store: JobStore;
  readonly #options: ClientOptions;
  readonly #functions: KnownFunctions;
  readonly #feeds: JobFeeds;
  readonly #jobs: JobAccess;

  /** @internal @throws InvalidOptionError */
  constructor(
    store: JobStore,
    options: ClientOptions = {},
    restricted = false,
    feeds: JobFeeds = new JobFeeds(store),
  ) {
    // The declarations have no constructor, which to TypeScript is one without parameters.
    if (!store) throw new ConfigurationError('A GearMonkeyClient is injected, not made with `new`.');
    this.#store = store;
    this.#options = options;
    this.#functions = new KnownFunctions(options, restricted);
    this.#feeds = feeds;
    this.#jobs = new JobAccess(store, this.#functions, feeds);
  }

  /**
   * Enqueues a job (the protocol's Client.run).
   *
   * @throws ConfigurationError, InvalidOptionError, InvalidFunctionNameError, ValidationError, ChangedByCodecError,
   * NotSerializableError, PayloadTooLargeError before anything is written · NoWorkersError with `rollCall` ·
   * EnqueueTimeoutError · WaitTimeoutError with `blocking`
   */
  async run<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: RunOptions = {},
  ): Promise<JobHandle<F>> {
    const timeout = waitOf(options);
    if (!options.blocking) return this.#handle(ref, await this.#enqueue(ref, input, options));
    let key: JobKey | undefined;
    const enqueue = async () => (key = await this.#enqueue(ref, input, options, this.#store.inbox));
    const { id } = await this.#jobs.runUntilFinal(ref, enqueue, timeout);
    return this.#handle(ref, key ?? { id });
  }

  /**
   * Enqueues a job and waits for its output: for ever where no worker ever comes, unless `timeout` says how long.
   *
   * @throws as `run` · WaitTimeoutError · JobFailedError if it failed · JobLostError
   */
  async call<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: CallOptions = {},
  ): Promise<OutputOf<F>> {
    const enqueue = () => this.#enqueue(ref, input, options, this.#store.inbox);
    return outputOf(await this.#jobs.runUntilFinal(ref, enqueue, waitOf(options)));
  }

  /**
   * Enqueues many jobs of one function in as few round trips as possible; on bad input none. `enqueueTimeout` is
   * for each call of some hundred jobs.
   *
   * @throws as `run` · PartlyEnqueuedError and NotDurableError with the `ids` of those that were enqueued
   */
  async runMany<F extends FunctionRef>(
    ref: F,
    inputs: readonly InputOf<F>[],
    options: RunManyOptions = {},
  ): Promise<JobHandle<F>[]> {
    const placement = placementOfMany(options);
    if (!Array.isArray(inputs)) throw new InvalidOptionError('inputs', inputs, 'a list');
    const payloads: Payload[] = [];
    for (const input of inputs) {
      const payload = this.#functions.encode(ref, input);
      payloads.push(payload instanceof Promise ? await payload : payload);
    }
    if (options.rollCall) await this.#requireWorkers(ref);
    if (payloads.length === 0) return [];
    const keys = await this.#store.enqueue(this.#functions.nameOf(ref), payloads, placement);
    return keys.map((key) => this.#handle(ref, key));
  }

  /** The job as it is now, or null when there is none. @throws MalformedJobError, UnreadablePayloadError */
  async get<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>> | null> {
    return this.getOrThrow(ref, id).catch((error: unknown) => {
      if (error instanceof JobNotFoundError) return null;
      throw error;
    });
  }

  /** @throws JobNotFoundError when there is none */
  async getOrThrow<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>>> {
    return this.#jobs.get(ref, { id: String(id) });
  }

  /** The output of a job, once it has finished. @throws JobFailedError, WaitTimeoutError, JobNotFoundError */
  async result<F extends FunctionRef>(
    ref: F,
    id: string | number,
    options: ResultOptions = {},
  ): Promise<OutputOf<F>> {
    return this.#jobs.result(ref, { id: String(id) }, options);
  }

  /**
   * Ends a job wherever it is: waiting, scheduled, retrying, or running on a worker of ours, whose handler is
   * told by `job.signal`. To plain readers it is an error whose output says "cancelled".
   *
   * @returns whether it is cancelled now, also if it was before; false when it had finished otherwise
   * @throws JobNotFoundError · NotCancellableError when a plain worker runs it
   */
  async cancel(ref: FunctionRef, id: string | number): Promise<boolean> {
    return this.#jobs.cancel(ref, { id: String(id) });
  }

  /** How many workers are registered for the function. @throws NoWorkersError when it isn't at least one */
  async rollCall(ref: FunctionRef): Promise<number> {
    return this.#requireWorkers(ref);
  }

  /** What the function's channel says, as it happens. */
  events(ref: FunctionRef): Observable<JobEvent> {
    const fn = this.#functions.nameOf(ref);
    return observeEvents(() => this.#feeds.forObserver(fn));
  }

  /** Progress of all jobs of the function, or of one: then it completes when that has finished. */
  progress(ref: FunctionRef, id?: string | number): Observable<JobProgress> {
    if (id !== undefined) return this.#jobs.progress(ref, { id: String(id) });
    const fn = this.#functions.nameOf(ref);
    return observeAllProgress(() => this.#feeds.forObserver(fn));
  }

  /** The job now and after every change; completes when it has finished. Errors with JobNotFoundError, JobLostError. */
  watch<F extends FunctionRef>(ref: F, id: string | number): Observable<Job<InputOf<F>, OutputOf<F>>> {
    return this.#jobs.watch(ref, { id: String(id) });
  }

  /** Makes a definition known, so that its codec and schemas also hold where only its name is given. */
  register(definition: AnyJobDefinition): void {
    this.#functions.register(definition);
  }

  /** A client on the same connections that knows these definitions and refuses any other function. */
  only(definitions: readonly AnyJobDefinition[]): GearMonkeyClient {
    const client = new GearMonkeyClient(this.#store, this.#options, true, this.#feeds);
    for (const definition of definitions) {
      this.register(definition);
      client.register(definition);
    }
    return client;
  }

  /** Completes all observables, those that are subscribed to later too. Calls and results go on being waited for. */
  endObservers(): void {
    this.#feeds.endObservers();
  }

  /** Completes all observables; who waits for a job gets a ConnectionError. */
  close(): Promise<void> {
    this.#feeds.close();
    return this.#store.close();
  }

  #handle<F extends FunctionRef>(ref: F, key: JobKey): JobHandle<F> {
    return new JobHandle(this.#jobs, ref, this.#functions.nameOf(ref), key);
  }

  async #enqueue(ref: FunctionRef, input: unknown, options: RunOptions, reply?: string): Promise<JobKey> {
    const placement = placementOf(options, reply);
    const encoded = this.#functions.encode(ref, input);
    const payload = encoded instanceof Promise ? await encoded : encoded;
    if (options.rollCall) await this.#requireWorkers(ref);
    const [key] = await this.#store.enqueue(this.#functions.nameOf(ref), [payload], placement);
    return key as JobKey;
  }

  async #requireWorkers(ref: FunctionRef): Promise<number> {
    const fn = this.#functions.nameOf(ref);
    const stored = await this.#store.count(fn);
    if (stored === undefined || !/^\d+$/.test(stored) || Number(stored) < 1) throw new NoWorkersError(fn);
    return Number(stored);
  }
}
