import type { Observable } from 'rxjs';
import type { Payload } from '../job/codec.js';
import { JobFailedError, JobNotFoundError, NotCancellableError, NoWorkersError } from '../job/errors.js';
import type { Job, JobEvent, JobProgress } from '../job/job.js';
import type { AnyJobDefinition, FunctionRef, InputOf, OutputOf } from '../job/job-definition.js';
import { JobFeed } from './job-feed.js';
import { JobHandle } from './job-handle.js';
import type { JobStore } from './job-store.js';
import { runUntilFinal, untilFinal, type Wait } from './job-waiter.js';
import { KnownFunctions, type ClientOptions } from './known-functions.js';
import { observeEvents, observeJob, observeProgress } from './observables.js';
import {
  placementOf,
  waitOf,
  type CallOptions,
  type RunManyOptions,
  type RunOptions,
} from './run-options.js';
import { toFinished, toJob } from './stored-job.js';

export type { ClientOptions };

/** Submits jobs and watches them. Injected as `GearMonkeyClient`; a named one by `@InjectGearMonkey(name)`. */
export class GearMonkeyClient {
  private readonly feeds = new Map<string, JobFeed>();
  private readonly functions: KnownFunctions;

  /** @throws InvalidOptionError */
  constructor(
    private readonly store: JobStore,
    private readonly options: ClientOptions = {},
    restricted = false,
  ) {
    this.functions = new KnownFunctions(options, restricted);
  }

  /**
   * Enqueues a job (the protocol's Client.run).
   *
   * @throws InvalidOptionError, InvalidFunctionNameError, ValidationError, NotSerializableError,
   * PayloadTooLargeError before anything is written · NoWorkersError with `rollCall` · EnqueueTimeoutError ·
   * WaitTimeoutError with `blocking`
   */
  async run<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: RunOptions = {},
  ): Promise<JobHandle<F>> {
    const seconds = waitOf(options.timeout);
    if (!options.blocking) return this.handle(ref, await this.enqueueOne(ref, input, options));
    const { id } = await this.runAndWait(ref, input, options, seconds);
    return this.handle(ref, id);
  }

  /**
   * Enqueues a job and waits for its output.
   *
   * @throws as `run` · JobFailedError if it failed
   */
  async call<F extends FunctionRef>(
    ref: F,
    input: InputOf<F>,
    options: CallOptions = {},
  ): Promise<OutputOf<F>> {
    return outputOf(await this.runAndWait(ref, input, options, waitOf(options.timeout)));
  }

  /** Enqueues many jobs of one function in as few round trips as possible; all or, on bad input, none. */
  async runMany<F extends FunctionRef>(
    ref: F,
    inputs: readonly InputOf<F>[],
    options: RunManyOptions = {},
  ): Promise<JobHandle<F>[]> {
    const placement = placementOf(options);
    const payloads: Payload[] = [];
    for (const input of inputs) {
      const payload = this.functions.encode(ref, input);
      payloads.push(payload instanceof Promise ? await payload : payload);
    }
    if (options.rollCall) await this.requireWorkers(ref);
    const ids =
      payloads.length === 0 ? [] : await this.store.enqueue(this.functions.nameOf(ref), payloads, placement);
    return ids.map((id) => this.handle(ref, id));
  }

  /** The job as it is now, or null when there is none. @throws MalformedJobError, UnreadablePayloadError */
  async get<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>> | null> {
    const fn = this.functions.nameOf(ref);
    const [stored] = await this.store.read(fn, [String(id)]);
    if (!stored) return null;
    return toJob(fn, String(id), stored, this.functions.codecOf(ref)) as Job<InputOf<F>, OutputOf<F>>;
  }

  /** @throws JobNotFoundError when there is none */
  async getOrThrow<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>>> {
    const job = await this.get(ref, id);
    if (!job) throw new JobNotFoundError(this.functions.nameOf(ref), String(id));
    return job;
  }

  /** The output of a job, once it has finished. @throws JobFailedError, WaitTimeoutError, JobNotFoundError */
  async result<F extends FunctionRef>(
    ref: F,
    id: string | number,
    options: { timeout?: number } = {},
  ): Promise<OutputOf<F>> {
    const wait = this.wait(ref, waitOf(options.timeout));
    return outputOf(await untilFinal(String(id), wait));
  }

  /**
   * Ends a job wherever it is: waiting, scheduled, retrying, or running on a worker of ours, whose handler is
   * told by `job.signal`. To plain readers it is an error whose output says "cancelled".
   *
   * @returns false when it had finished before
   * @throws JobNotFoundError · NotCancellableError when a plain worker runs it
   */
  async cancel(ref: FunctionRef, id: string | number): Promise<boolean> {
    const fn = this.functions.nameOf(ref);
    const came = await this.store.cancel(fn, String(id));
    if (came === 'missing') throw new JobNotFoundError(fn, String(id));
    if (came === 'running') throw new NotCancellableError(fn, String(id));
    return came === 'cancelled';
  }

  /** How many workers are registered for the function. @throws NoWorkersError when it isn't at least one */
  async rollCall(ref: FunctionRef): Promise<number> {
    return this.requireWorkers(ref);
  }

  /** What the function's channel says, as it happens. */
  events(ref: FunctionRef): Observable<JobEvent> {
    const fn = this.functions.nameOf(ref);
    return observeEvents(() => this.feed(fn));
  }

  /** Progress of all jobs of the function, or of one: then it completes when that has finished. */
  progress(ref: FunctionRef, id?: string | number): Observable<JobProgress> {
    const fn = this.functions.nameOf(ref);
    return observeProgress(
      () => this.feed(fn),
      id === undefined ? undefined : String(id),
      () => this.getOrThrow(ref, id ?? ''),
    );
  }

  /** The job now and after every change; completes when it has finished. Errors with JobNotFoundError. */
  watch<F extends FunctionRef>(ref: F, id: string | number): Observable<Job<InputOf<F>, OutputOf<F>>> {
    const fn = this.functions.nameOf(ref);
    return observeJob(
      () => this.feed(fn),
      String(id),
      () => this.getOrThrow(ref, id),
    );
  }

  /** Makes a definition known, so that its codec and schemas also hold where only its name is given. */
  register(definition: AnyJobDefinition): void {
    this.functions.register(definition);
  }

  /** A client on the same connections that knows these definitions and refuses any other function. */
  only(definitions: readonly AnyJobDefinition[]): GearMonkeyClient {
    const client = new GearMonkeyClient(this.store, this.options, true);
    for (const definition of definitions) {
      this.register(definition);
      client.register(definition);
    }
    return client;
  }

  close(): Promise<void> {
    return this.store.close();
  }

  private handle<F extends FunctionRef>(ref: F, id: string): JobHandle<F> {
    return new JobHandle(this, ref, this.functions.nameOf(ref), id);
  }

  private feed(fn: string): JobFeed {
    let feed = this.feeds.get(fn);
    if (!feed) {
      feed = new JobFeed(this.store, fn, () => this.feeds.delete(fn));
      this.feeds.set(fn, feed);
    }
    return feed;
  }

  private async enqueueOne(
    ref: FunctionRef,
    input: unknown,
    options: RunOptions,
    reply?: string,
  ): Promise<string> {
    const placement = placementOf(options, reply);
    const encoded = this.functions.encode(ref, input);
    const payload = encoded instanceof Promise ? await encoded : encoded;
    if (options.rollCall) await this.requireWorkers(ref);
    const [id] = await this.store.enqueue(this.functions.nameOf(ref), [payload], placement);
    return id as string;
  }

  private async requireWorkers(ref: FunctionRef): Promise<number> {
    const fn = this.functions.nameOf(ref);
    const stored = await this.store.count(fn);
    if (stored === undefined || !/^\d+$/.test(stored) || Number(stored) < 1) throw new NoWorkersError(fn);
    return Number(stored);
  }

  private runAndWait(ref: FunctionRef, input: unknown, options: RunOptions, seconds: number): Promise<Job> {
    const enqueue = () => this.enqueueOne(ref, input, options, this.store.inbox);
    return runUntilFinal(enqueue, this.wait(ref, seconds));
  }

  private wait(ref: FunctionRef, seconds: number): Wait {
    const fn = this.functions.nameOf(ref);
    return {
      fn,
      feed: this.feed(fn),
      seconds,
      read: (id) => this.getOrThrow(ref, id),
      replied: (id, output) => toFinished(fn, id, output, this.functions.codecOf(ref)),
    };
  }
}

function outputOf<T>(job: Job): T {
  if (job.error) throw new JobFailedError(job.fn, job.id, job.error);
  return job.output as T;
}
