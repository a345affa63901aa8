import type { Observable } from 'rxjs';
import type { Job, JobProgress } from '../../../job/job.js';
import type { ChunkOf, FunctionRef, InputOf, OutputOf } from '../../../job/job-definition.js';
import type { StreamKind } from '../../../job/streams.js';
import type { JobKey } from '../wire/protocol.js';
import type { EnqueuedKey } from './job-store.js';
import type { CancelOptions, ResultOptions, UpdateOptions } from './run-options.js';
import { showAs } from '../../../job/show-as.js';

/** What a handle asks. Features bring what is done with a job beside reading it. */
export interface JobReader {
  progress(ref: FunctionRef, job: JobKey): Observable<JobProgress>;
  stream(ref: FunctionRef, job: JobKey, kind: StreamKind): Observable<unknown>;
  get<F extends FunctionRef>(ref: F, job: JobKey): Promise<Job<InputOf<F>, OutputOf<F>>>;
  update<F extends FunctionRef>(ref: F, job: JobKey, changes: UpdateOptions<InputOf<F>>): Promise<void>;
  cancel(ref: FunctionRef, job: JobKey, options: CancelOptions): Promise<boolean>;
  signal(ref: FunctionRef, job: JobKey, name: string, data: unknown): Promise<boolean>;
  result<F extends FunctionRef>(ref: F, job: JobKey, options: ResultOptions): Promise<OutputOf<F>>;
}

/** An enqueued job. Its methods never return another job that got the same id after a failover. */
export class JobHandle<F extends FunctionRef = FunctionRef> {
  static {
    showAs(JobHandle, ({ fn, id }) => ({ fn, id }));
  }

  // Private at run time too: logs and responses may contain a handle.
  readonly #reader: JobReader;
  readonly #ref: F;
  readonly #mark: number | undefined;
  readonly fn: string;
  readonly id: string;
  /** Whether this call created the job. False for a `unique` job that was there before. */
  readonly created: boolean;

  /** @internal */
  constructor(reader: JobReader, ref: F, fn: string, { id, mark, created }: EnqueuedKey) {
    this.#reader = reader;
    this.#ref = ref;
    this.#mark = mark;
    this.fn = fn;
    this.id = id;
    this.created = created;
  }

  /** What identifies its job. @internal */
  static keyOf(handle: JobHandle): JobKey {
    return handle.#key;
  }

  /** Emits progress from now on; completes when the job has finished. */
  get progress$(): Observable<JobProgress> {
    return this.#reader.progress(this.#ref, this.#key);
  }

  /** As `GearMonkeyClient.output`. */
  get output$(): Observable<ChunkOf<F>> {
    return this.#reader.stream(this.#ref, this.#key, 'output') as Observable<ChunkOf<F>>;
  }

  /** As `GearMonkeyClient.log`. */
  get log$(): Observable<string> {
    return this.#reader.stream(this.#ref, this.#key, 'log') as Observable<string>;
  }

  /** Reads the job. @throws JobNotFoundError when it has expired · JobLostError */
  get(): Promise<Job<InputOf<F>, OutputOf<F>>> {
    return this.#reader.get(this.#ref, this.#key);
  }

  /** As `GearMonkeyClient.cancel`. @throws the same errors · JobLostError */
  cancel(options: CancelOptions = {}): Promise<boolean> {
    return this.#reader.cancel(this.#ref, this.#key, options);
  }

  /** As `GearMonkeyClient.signal`. @throws the same errors · JobLostError */
  signal(name: string, data: unknown = null): Promise<boolean> {
    return this.#reader.signal(this.#ref, this.#key, name, data);
  }

  /** As `GearMonkeyClient.update`. @throws the same errors · JobLostError */
  update(changes: UpdateOptions<InputOf<F>>): Promise<void> {
    return this.#reader.update(this.#ref, this.#key, changes);
  }

  /**
   * Waits until the job has finished, and returns its output.
   *
   * @throws JobFailedError if it failed · WaitTimeoutError after `timeout` · JobLostError
   */
  result(options: ResultOptions = {}): Promise<OutputOf<F>> {
    return this.#reader.result(this.#ref, this.#key, options);
  }

  get #key(): JobKey {
    return { id: this.id, mark: this.#mark };
  }
}
