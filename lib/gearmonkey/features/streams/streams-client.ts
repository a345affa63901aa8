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
import { JobStreams } from './job-streams.js';
import type { StreamsStore } from './stream-store.js';

/** The methods of a `GearMonkeyClient` that concern what jobs stream. */
export class StreamsClient {
  readonly #core: ClientCore<StreamsStore>;
  readonly #jobs: JobStreams;

  /** @internal */
  constructor(core: ClientCore<StreamsStore>) {
    this.#core = core;
    this.#jobs = new JobStreams(core);
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
    return store.streams.read(functions.nameOf(ref), id, kind, from);
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
