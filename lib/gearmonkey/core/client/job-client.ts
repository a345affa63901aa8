import type { Observable } from 'rxjs';
import { JobNotFoundError } from '../../../job/errors.js';
import type { FlowProgress } from '../../../job/flows.js';
import type { Job, JobProgress } from '../../../job/job.js';
import type {
  AnyJobDefinition,
  ChunkOf,
  FunctionRef,
  InputOf,
  OutputOf,
} from '../../../job/job-definition.js';
import {
  checkStream,
  type StreamEntry,
  type StreamKind,
  type StreamOptions,
  type StreamPage,
} from '../../../job/streams.js';
import type { FlowMember, WaitingFunctions } from '../../features/flows/flow-store.js';
import { FunctionClient, type FunctionClientParts } from './function-client.js';
import type { JobAccess } from './job-access.js';
import { observeAllProgress } from './observables.js';
import type { ResultOptions } from './run-options.js';
import type { UpdateOptions } from '../../features/edits/update-options.js';

/** The methods of a `GearMonkeyClient` that concern a job that there is. */
export abstract class JobClient extends FunctionClient {
  readonly #parts: FunctionClientParts;
  readonly #jobs: JobAccess;

  /** @internal */
  constructor(parts: FunctionClientParts, jobs: JobAccess) {
    super(parts);
    this.#parts = parts;
    this.#jobs = jobs;
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

  /**
   * Gives a job a signal, which `job.waitFor` of its handler returns. It may come before the job waits for it. The first
   * signal of a name counts.
   *
   * @param data of the form that the function's codec gives it. @default null
   * @returns whether the job has it now: false if it had one of this name before, or has finished
   * @throws InvalidOptionError for a name with a colon, or of other than 1 to 100 characters · NotSerializableError ·
   * PayloadTooLargeError · JobNotFoundError
   */
  async signal(ref: FunctionRef, id: string | number, name: string, data: unknown = null): Promise<boolean> {
    return this.#jobs.signal(ref, { id: String(id) }, name, data);
  }

  /** Progress of all jobs of the function, or of one job: then it completes when that job has finished. */
  progress(ref: FunctionRef, id?: string | number): Observable<JobProgress> {
    if (id !== undefined) return this.#jobs.progress(ref, { id: String(id) });
    const { functions, feeds } = this.#parts;
    const fn = functions.nameOf(ref);
    return observeAllProgress(() => feeds.forObserver(fn));
  }

  /**
   * What the job's handler streams with `chunk`: from the beginning, or behind `after`, and then live, also behind
   * reconnects; completes when the job has finished. The last 10,000 chunks are kept, 1 MiB of them at most, for 25 hours
   * after the last one. Chunks of an attempt that failed stay. Errors with JobNotFoundError, JobLostError,
   * UnreadablePayloadError.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  output<D extends AnyJobDefinition>(
    ref: D,
    id: string | number,
    options?: StreamOptions,
  ): Observable<ChunkOf<D>>;
  output<Chunk = unknown>(ref: FunctionRef, id: string | number, options?: StreamOptions): Observable<Chunk>;
  output(ref: FunctionRef, id: string | number, options: StreamOptions = {}): Observable<unknown> {
    return this.#jobs.stream(ref, { id: String(id) }, 'output', checkStream('output', options));
  }

  /** The same as `output`, each chunk with its number, to go on behind it later, and its time. @throws the same */
  outputEntries<D extends AnyJobDefinition>(
    ref: D,
    id: string | number,
    options?: StreamOptions,
  ): Observable<StreamEntry<ChunkOf<D>>>;
  outputEntries<Chunk = unknown>(
    ref: FunctionRef,
    id: string | number,
    options?: StreamOptions,
  ): Observable<StreamEntry<Chunk>>;
  outputEntries(ref: FunctionRef, id: string | number, options: StreamOptions = {}): Observable<StreamEntry> {
    return this.#jobs.entries(ref, { id: String(id) }, 'output', checkStream('outputEntries', options));
  }

  /** A part of what a job has streamed, from its entry `from` on. @internal */
  async streamed(ref: FunctionRef, id: string, kind: StreamKind, from: number): Promise<StreamPage> {
    const { functions, store } = this.#parts;
    return store.readStream(functions.nameOf(ref), id, kind, from);
  }

  /** How far a flow of this function is; undefined if it is no longer kept. @internal */
  async flowProgress(fn: string, name: string): Promise<FlowProgress | undefined> {
    return this.#parts.store.flows.progress(fn, name);
  }

  /** The functions of jobs that wait for this one. @internal */
  async waiting(fn: string, id: string): Promise<WaitingFunctions> {
    const name = this.#parts.functions.nameOf(fn);
    return /^\d{1,15}$/.test(id)
      ? this.#parts.store.flows.waiting(name, id)
      : { functions: [], isWhole: true };
  }

  /** Some jobs of a flow of this function, from its job `from` on. @internal */
  async flowMembers(fn: string, name: string, from: number, most: number): Promise<readonly FlowMember[]> {
    return this.#parts.store.flows.members(fn, name, from, most);
  }

  /** The lines of `job.log`, in the same way as `output`. @throws the same */
  log(ref: FunctionRef, id: string | number, options: StreamOptions = {}): Observable<string> {
    const after = checkStream('log', options);
    return this.#jobs.stream(ref, { id: String(id) }, 'log', after) as Observable<string>;
  }

  /** The same as `log`, each line with its number and its time. @throws the same */
  logEntries(
    ref: FunctionRef,
    id: string | number,
    options: StreamOptions = {},
  ): Observable<StreamEntry<string>> {
    const after = checkStream('logEntries', options);
    return this.#jobs.entries(ref, { id: String(id) }, 'log', after) as Observable<StreamEntry<string>>;
  }

  /** Emits the job now and after every change; completes when it has finished. Errors with JobNotFoundError, JobLostError. */
  watch<F extends FunctionRef>(ref: F, id: string | number): Observable<Job<InputOf<F>, OutputOf<F>>> {
    return this.#jobs.watch(ref, { id: String(id) });
  }
}
