import type { Clock } from '../../job/clock.js';
import type { Payload } from '../../job/codec.js';
import type { JobEvent, JobProgress, Progress } from '../../job/job.js';
import type { JobKey, Queue } from '../wire/protocol.js';
import type { Cancellation } from '../wire/scripts.js';
import type { StoredJob } from '../wire/stored-job.js';

/** Where new jobs go. */
export interface Placement {
  readonly queue: Queue;
  /** Seconds since 1970 from which a job in `scheduled` may run. */
  readonly score?: number;
  /** Milliseconds after which a job in `scheduled` may run, instead of `score`. */
  readonly delay?: number;
  /** The jobs' own options, as JSON. */
  readonly options?: string;
}

/** From when a job in `scheduled` may run, in seconds since 1970. `now` is in milliseconds. */
export function scoreOf({ score, delay }: Placement, now: number): number | undefined {
  return delay === undefined ? score : (now + delay) / 1000;
}

/** How far a job is, and its mark where the server has marks. */
export interface MarkedProgress extends Progress {
  readonly mark?: number;
}

/** What a poll finds of a job. */
export interface ReadProgress {
  readonly progress?: MarkedProgress | undefined;
  /** Finished, or gone: there will be no more. */
  readonly isOver: boolean;
}

/** What a function's channels say. */
export interface JobListener {
  event(event: JobEvent): void;
  /** `mark` is its job's, where the server has marks. */
  progress(progress: JobProgress, mark?: number): void;
  /** The output of a job whose options named this store's `inbox`. It has finished. */
  replied?(job: JobKey, output: string): void;
  /** Messages may have been missed: what is watched must be read again. */
  resync(): void;
}

/** The client's side of a GearMonkey server, be it Redis or this process. Functions are named as on the wire. */
export interface JobStore {
  /** Where the jobs are, without credentials. */
  readonly address: string;

  /** What waits for its jobs go by. @default the system's clock */
  readonly clock?: Clock;

  /** What a job's option `reply` says to have its output sent to this store's listeners. */
  readonly inbox?: string;

  /**
   * Creates jobs; returns their keys in order.
   *
   * @throws EnqueueTimeoutError when it isn't acknowledged in time · RefusedError · NotDurableError
   */
  enqueue(fn: string, inputs: readonly Payload[], placement: Placement): Promise<JobKey[]>;

  /**
   * The stored jobs, `undefined` where there is none. Where `wanted` is given it asks for as long as that is true, through
   * outages and however long the answer takes.
   *
   * @throws MalformedJobError if a key is not a hash · ConnectionError
   */
  read(fn: string, ids: readonly string[], wanted?: () => boolean): Promise<(StoredJob | undefined)[]>;

  /** The progress the jobs' hashes hold. */
  readProgress(fn: string, ids: readonly string[]): Promise<ReadProgress[]>;

  /** Ends a job that waits or that a worker of ours runs. */
  cancel(fn: string, job: JobKey): Promise<Cancellation>;

  /** `count:{FN}`, less those of ours that died. */
  count(fn: string): Promise<string | undefined>;

  /** Listens once the promise has resolved, until the returned function is called. */
  listen(fn: string, listener: JobListener): Promise<() => void>;

  close(): Promise<void>;
}
