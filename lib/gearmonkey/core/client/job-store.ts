import type { Clock } from '../../../job/clock.js';
import type { Payload } from '../../../job/codec.js';
import type { StreamKind } from '../../../job/streams.js';
import type { JobEvent, JobProgress, Progress } from '../../../job/job.js';
import type { JobKey } from '../wire/protocol.js';
import type { StoredJob } from '../wire/stored-job.js';
import type { EnqueuedKey } from './enqueued-key.js';
import type { Placement } from './placement.js';

export type { EnqueuedKey };
export type { Place, Placement } from './placement.js';

/** Progress of a job, with its mark if the server has marks. */
export interface MarkedProgress extends Progress {
  readonly mark?: number;
}

/** Progress that a poll has read. */
export interface ReadProgress {
  readonly progress?: MarkedProgress | undefined;
  /** The job has finished or expired: its progress won't change. */
  readonly isOver: boolean;
}

/** Gets the messages of a function's channels. */
export interface JobListener {
  event(event: JobEvent): void;
  /** `mark` belongs to the job, if the server has marks. */
  progress(progress: JobProgress, mark?: number): void;
  /** A flow that belongs to the function has changed. */
  flowed?(name: string): void;
  /** The job has streamed something. */
  streamed?(job: JobKey, kind: StreamKind): void;
  /** The job has finished. Its options named this store's `inbox`, so the output comes with the message. */
  replied?(job: JobKey, output: string): void;
  /** Messages may have been missed: observed jobs must be read again. */
  resync(): void;
}

/** A worker of this package. */
export interface PresentWorker {
  readonly id: string;
  /** When it counts as dead, in ms since 1970. */
  readonly until: number;
}

/** What a client needs of its server for plain jobs. Functions have their names on the wire. */
export interface JobStore {
  /** Whose jobs these are, in events of `instrumentation`: `gearmonkey` or `memory`. */
  readonly system: string;

  /** The server's address, without credentials. */
  readonly address: string;

  /** What waits for its jobs go by. @default the system's clock */
  readonly clock?: Clock;

  /** The value of a job's option `reply` that has its output sent to this store's listeners. */
  readonly inbox?: string;

  /**
   * Creates jobs, unless others stand for them; returns the keys of all in order.
   *
   * @throws EnqueueTimeoutError if they are not acknowledged in time · RefusedError · NotDurableError · LimitFullError
   * if a job's limit says `onFull: 'refuse'`: then none is created
   */
  enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<EnqueuedKey[]>;

  /**
   * Reads stored jobs; `undefined` for a job that doesn't exist. With `wanted` it repeats the read while that returns
   * true, also during an outage and without a timeout.
   *
   * @throws MalformedJobError if a key is not a hash · ConnectionError
   */
  read(fn: string, ids: readonly string[], wanted?: () => boolean): Promise<(StoredJob | undefined)[]>;

  /** Reads the progress in the jobs' hashes. */
  readProgress(fn: string, ids: readonly string[]): Promise<ReadProgress[]>;

  /**
   * Ends a job that no worker began before it expired. Returns the milliseconds until it expires, 0 if it has finished, or
   * -1 if it will not expire.
   */
  expire(fn: string, job: JobKey, now?: number): Promise<number>;

  /** Reads `count:{FN}`, without workers of this package that died. */
  count(fn: string): Promise<string | undefined>;

  /** The server's time, in ms since 1970. `wanted` as of `read`. */
  now(fn: string, wanted?: () => boolean): Promise<number>;

  /** Workers of this package that have announced themselves, at most 1,000. */
  workers(fn: string): Promise<PresentWorker[]>;

  /** Subscribes; the promise resolves when messages arrive, with a function that unsubscribes. */
  listen(fn: string, listener: JobListener): Promise<() => void>;

  close(): Promise<void>;
}
