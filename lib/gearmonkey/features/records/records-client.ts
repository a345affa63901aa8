import type { Observable } from 'rxjs';
import type { AnyJobDefinition, ChunkOf, FunctionRef } from '../../../job/job-definition.js';
import {
  checkStream,
  type StreamEntry,
  type StreamKind,
  type StreamOptions,
  type StreamPage,
} from '../../../job/streams.js';
import type { ClientCore } from '../../core/feature.js';
import { JobRecordings } from './job-recordings.js';
import type { RecordsStore } from './record-store.js';

/** The methods of a `GearMonkeyClient` that concern what jobs record. */
export class RecordsClient {
  readonly #core: ClientCore<RecordsStore>;
  readonly #jobs: JobRecordings;

  /** @internal */
  constructor(core: ClientCore<RecordsStore>) {
    this.#core = core;
    this.#jobs = new JobRecordings(core);
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
    const { functions, store } = this.#core;
    return store.records.readStream(functions.nameOf(ref), id, kind, from);
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
}
