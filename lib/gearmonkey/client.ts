import type { Observable } from 'rxjs';
import { codecOf, payloadBytes, write, type Codec, type CodecName, type Payload } from '../job/codec.js';
import { withDeadline } from '../job/deadline.js';
import {
  ConfigurationError,
  InvalidOptionError,
  JobFailedError,
  JobNotFoundError,
  NoWorkersError,
  PayloadTooLargeError,
  UnknownFunctionError,
  WaitTimeoutError,
} from '../job/errors.js';
import { isFinal, type Job, type JobEvent, type JobProgress } from '../job/job.js';
import {
  functionName,
  type AnyJobDefinition,
  type FunctionRef,
  type InputOf,
  type OutputOf,
} from '../job/job-definition.js';
import { validate } from '../job/standard-schema.js';
import { JobFeed } from './job-feed.js';
import { JobHandle } from './job-handle.js';
import type { JobStore } from './job-store.js';
import { observeEvents, observeJob, observeProgress } from './observables.js';
import {
  placementOf,
  waitOf,
  type CallOptions,
  type RunManyOptions,
  type RunOptions,
} from './run-options.js';
import { toJob } from './stored-job.js';

export interface ClientOptions {
  /** How payloads are written where a definition doesn't say. @default 'json' */
  codec?: CodecName | Codec;
  /** Limit of an input or output, in bytes. @default 1 MiB */
  maxPayloadBytes?: number;
}

export const DEFAULT_MAX_PAYLOAD_BYTES = 1024 * 1024;

/** Submits jobs and watches them. Injected as `GearMonkeyClient`; a named one by `@InjectGearMonkey(name)`. */
export class GearMonkeyClient {
  private readonly feeds = new Map<string, JobFeed>();
  private readonly definitions = new Map<string, AnyJobDefinition>();
  private readonly codec: Codec;
  private readonly maxPayloadBytes: number;

  /** @throws InvalidOptionError */
  constructor(
    private readonly store: JobStore,
    private readonly options: ClientOptions = {},
    private readonly restricted = false,
  ) {
    this.codec = codecOf(options.codec);
    this.maxPayloadBytes = options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES;
    if (!(this.maxPayloadBytes > 0))
      throw new InvalidOptionError('maxPayloadBytes', this.maxPayloadBytes, 'a number above 0');
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
    const { job } = await this.runAndWait(ref, input, options, waitOf(options.timeout));
    return outputOf(job);
  }

  /** Enqueues many jobs of one function in as few round trips as possible; all or, on bad input, none. */
  async runMany<F extends FunctionRef>(
    ref: F,
    inputs: readonly InputOf<F>[],
    options: RunManyOptions = {},
  ): Promise<JobHandle<F>[]> {
    const placement = placementOf(options);
    const payloads = await Promise.all(inputs.map((input) => this.encode(ref, input)));
    if (options.rollCall) await this.requireWorkers(ref);
    const ids = payloads.length === 0 ? [] : await this.store.enqueue(this.nameOf(ref), payloads, placement);
    return ids.map((id) => this.handle(ref, id));
  }

  /** The job as it is now, or null when there is none. @throws MalformedJobError, UnreadablePayloadError */
  async get<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>> | null> {
    const fn = this.nameOf(ref);
    const [stored] = await this.store.read(fn, [String(id)]);
    if (!stored) return null;
    return toJob(fn, String(id), stored, this.codecFor(ref)) as Job<InputOf<F>, OutputOf<F>>;
  }

  /** @throws JobNotFoundError when there is none */
  async getOrThrow<F extends FunctionRef>(
    ref: F,
    id: string | number,
  ): Promise<Job<InputOf<F>, OutputOf<F>>> {
    const job = await this.get(ref, id);
    if (!job) throw new JobNotFoundError(this.nameOf(ref), String(id));
    return job;
  }

  /** The output of a job, once it has finished. @throws JobFailedError, WaitTimeoutError, JobNotFoundError */
  async result<F extends FunctionRef>(
    ref: F,
    id: string | number,
    options: { timeout?: number } = {},
  ): Promise<OutputOf<F>> {
    const seconds = waitOf(options.timeout);
    const feed = this.feed(this.nameOf(ref));
    const job = await this.untilFinal(ref, feed, seconds, async () => ({ id: String(id), mayBeFinal: true }));
    return outputOf(job);
  }

  /** How many workers are registered for the function. @throws NoWorkersError when it isn't at least one */
  async rollCall(ref: FunctionRef): Promise<number> {
    return this.requireWorkers(ref);
  }

  /** What the function's channel says, as it happens. */
  events(ref: FunctionRef): Observable<JobEvent> {
    const fn = this.nameOf(ref);
    return observeEvents(() => this.feed(fn));
  }

  /** Progress of all jobs of the function, or of one: then it completes when that has finished. */
  progress(ref: FunctionRef, id?: string | number): Observable<JobProgress> {
    const fn = this.nameOf(ref);
    return observeProgress(
      () => this.feed(fn),
      id === undefined ? undefined : String(id),
      () => this.getOrThrow(ref, id ?? ''),
    );
  }

  /** The job now and after every change; completes when it has finished. Errors with JobNotFoundError. */
  watch<F extends FunctionRef>(ref: F, id: string | number): Observable<Job<InputOf<F>, OutputOf<F>>> {
    const fn = this.nameOf(ref);
    return observeJob(
      () => this.feed(fn),
      String(id),
      () => this.getOrThrow(ref, id),
    );
  }

  /** Makes a definition known, so that its codec and schemas also hold where only its name is given. */
  register(definition: AnyJobDefinition): void {
    const known = this.definitions.get(definition.name);
    if (known && known !== definition) {
      throw new ConfigurationError(
        `"${definition.name}" is defined twice. Export one defineJob('${definition.name}') and use it everywhere.`,
      );
    }
    this.definitions.set(definition.name, definition);
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

  private definition(ref: FunctionRef): AnyJobDefinition | undefined {
    return typeof ref === 'string' ? this.definitions.get(ref) : ref;
  }

  /** @throws InvalidFunctionNameError, UnknownFunctionError */
  private nameOf(ref: FunctionRef): string {
    const name = functionName(ref);
    if (this.restricted && !this.definitions.has(name))
      throw new UnknownFunctionError(name, [...this.definitions.keys()]);
    return name;
  }

  private codecFor(ref: FunctionRef): Codec {
    return this.definition(ref)?.codec ?? this.codec;
  }

  private handle<F extends FunctionRef>(ref: F, id: string): JobHandle<F> {
    return new JobHandle(this, ref, this.nameOf(ref), id);
  }

  private feed(fn: string): JobFeed {
    let feed = this.feeds.get(fn);
    if (!feed) {
      feed = new JobFeed(this.store, fn, () => this.feeds.delete(fn));
      this.feeds.set(fn, feed);
    }
    return feed;
  }

  private async enqueueOne(ref: FunctionRef, input: unknown, options: RunOptions): Promise<string> {
    const placement = placementOf(options);
    const payload = await this.encode(ref, input);
    if (options.rollCall) await this.requireWorkers(ref);
    const [id] = await this.store.enqueue(this.nameOf(ref), [payload], placement);
    return id as string;
  }

  private async encode(ref: FunctionRef, input: unknown): Promise<Payload> {
    const fn = this.nameOf(ref);
    const schema = this.definition(ref)?.input;
    // The input itself is sent: what the schema makes of it, it makes again before the handler.
    if (schema) await validate(schema, fn, 'input', input);
    const payload = write(this.codecFor(ref), fn, 'input', input);
    const bytes = payloadBytes(payload);
    if (bytes > this.maxPayloadBytes)
      throw new PayloadTooLargeError(fn, 'input', bytes, this.maxPayloadBytes);
    return payload;
  }

  private async requireWorkers(ref: FunctionRef): Promise<number> {
    const fn = this.nameOf(ref);
    const stored = await this.store.count(fn);
    if (stored === undefined || !/^\d+$/.test(stored) || Number(stored) < 1) throw new NoWorkersError(fn);
    return Number(stored);
  }

  /** Whatever finishes before its id is known is found among the expected, or read once the feed is open. */
  private async runAndWait<F extends FunctionRef>(
    ref: F,
    input: unknown,
    options: RunOptions,
    seconds: number,
  ): Promise<{ id: string; job: Job }> {
    const feed = this.feed(this.nameOf(ref));
    let id = '';
    const job = await this.untilFinal(ref, feed, seconds, async () => {
      const { isListening } = feed;
      const expected = feed.expect();
      try {
        id = await this.enqueueOne(ref, input, options);
        return { id, mayBeFinal: !isListening || expected.has(id) };
      } finally {
        expected.dispose();
      }
    });
    return { id, job };
  }

  /**
   * The job that `start` tells of, when it has finished. The feed opens meanwhile: were it waited for, an
   * outage would outlast the deadlines. Every way out gives the feed back.
   */
  private async untilFinal(
    ref: FunctionRef,
    feed: JobFeed,
    seconds: number,
    start: () => Promise<{ id: string; mayBeFinal: boolean }>,
  ): Promise<Job> {
    let unfollow = (): void => undefined;
    const opened = feed.open();
    opened.catch(() => undefined);
    try {
      const { id, mayBeFinal } = await start();
      const final = new Promise<Job>((resolve, reject) => {
        const check = () =>
          void this.getOrThrow(ref, id).then((job) => {
            if (isFinal(job.status)) resolve(job);
          }, reject);
        unfollow = feed.follow(id, { finished: check, resync: check });
        if (mayBeFinal) opened.then(check, reject);
      });
      return await withDeadline(
        final,
        seconds * 1000,
        () => new WaitTimeoutError(this.nameOf(ref), id, seconds),
      );
    } finally {
      unfollow();
      feed.release();
    }
  }
}

function outputOf<T>(job: Job): T {
  if (job.error) throw new JobFailedError(job.fn, job.id, job.error);
  return job.output as T;
}
