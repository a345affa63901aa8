import type { Clock } from '../../../job/clock.js';
import type { Payload } from '../../../job/codec.js';
import type { LimitRules, LimitState } from '../../../job/limit.js';
import type { Signalled } from '../../../job/signals.js';
import type { Counts } from '../../../job/statistics.js';
import type { StreamKind, StreamPage } from '../../../job/streams.js';
import type { JobEvent, JobProgress, Progress } from '../../../job/job.js';
import type { ScheduleStore } from '../../features/schedules/schedule-store.js';
import type { JobKey, Queue } from '../wire/protocol.js';
import type { Cancellation, Updated } from '../wire/scripts.js';
import type { StoredJob } from '../wire/stored-job.js';
import type { EnqueuedKey } from './enqueued-key.js';
import type { Place, Placement } from './placement.js';
import type { FlowStore } from '../../features/flows/flow-store.js';
import type { ViewStore } from '../../features/views/view-store.js';

export type { EnqueuedKey };
export type { Place, PlacedLimit, PlacedUnique, Placement } from './placement.js';

/** Which keys of a limit to read. */
export interface LimitsQuery {
  /** Only this key. */
  readonly key?: string;
  /** Most keys that are returned. */
  readonly size: number;
}

/** What changes of a job that waits. */
export interface Changes {
  readonly input?: Payload | undefined;
  /** The queue that it moves to. */
  readonly place?: Place | undefined;
  /** The key of the new input, if the function has a limit. */
  readonly key?: string | undefined;
}

/** Which jobs of a queue are removed; a list has only one kind. */
export type DrainedKind = 'scheduled' | 'retrying' | 'both' | '';

/** A part of a drain. */
export interface DrainStep {
  readonly queue: Queue;
  readonly kind: DrainedKind;
  /** Whether those with a key of a limit are meant, which wait elsewhere, or the others. */
  readonly limited: boolean;
  /** The largest id that is removed. */
  readonly last: number;
  /** '0' at first, then that of the last reply. */
  readonly cursor: string;
}

/** What a step has done. */
export interface DrainedStep {
  readonly ids: readonly string[];
  /** For the next step; '0' if the queue is done. */
  readonly cursor: string;
}

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

/** What is done with jobs that failed or were cancelled. */
export type MendVerb = 'retry' | 'discard';

/** A job as it was read: one that has changed since is left alone. */
export interface EndedJob {
  readonly id: string;
  /** As it is stored; '' for a job of a plain worker. */
  readonly finished: string;
}

/** The client's side of a GearMonkey server, which is Redis or in this process. Functions have their names on the wire. */
export interface JobStore {
  /** Whose jobs these are, in events of `instrumentation`: `gearmonkey` or `memory`. */
  readonly system: string;

  /** The server's address, without credentials. */
  readonly address: string;

  /** What waits for its jobs go by. @default the system's clock */
  readonly clock?: Clock;

  /** The schedules of recurring jobs. */
  readonly schedules: ScheduleStore;

  /** Jobs that wait for others. */
  readonly flows: FlowStore;

  /** What it tells of its functions and of jobs in a state. */
  readonly views: ViewStore;

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

  /** Reads what a job has streamed, from its entry `from` on. `wanted` as of `read`. */
  readStream(
    fn: string,
    id: string,
    kind: StreamKind,
    from: number,
    wanted?: () => boolean,
  ): Promise<StreamPage>;

  /** Reads the progress in the jobs' hashes. */
  readProgress(fn: string, ids: readonly string[]): Promise<ReadProgress[]>;

  /** Cancels a job that waits or that a worker of this package runs. */
  cancel(fn: string, job: JobKey): Promise<Cancellation>;

  /**
   * Ends a job that no worker began before it expired. Returns the milliseconds until it expires, 0 if it has finished, or
   * -1 if it will not expire.
   */
  expire(fn: string, job: JobKey, now?: number): Promise<number>;

  /** Reads keys of the function's limit that have jobs or are full, full ones first. */
  limits(fn: string, query: LimitsQuery): Promise<LimitState[]>;

  /** Changes the numbers of the function's limit, or of the shared one it uses, for all processes; undefined ends the change. */
  setLimit(fn: string, numbers: Pick<LimitRules, 'concurrency' | 'rate'> | undefined): Promise<void>;

  /** Changes a job that waits and has not begun. */
  update(fn: string, job: JobKey, changes: Changes): Promise<Updated>;

  /** Gives a job a signal, whether it waits for that or not. */
  signal(fn: string, job: JobKey, name: string, data: Payload): Promise<Signalled>;

  /** The id of the last job that was created, or 0. */
  lastId(fn: string): Promise<number>;

  /** Ends some of the jobs that wait in a queue. */
  drain(fn: string, step: DrainStep): Promise<DrainedStep>;

  /** Reads what happened in hours, counted from 1970: fields `:KIND`, and with `byMinute` also `MINUTE:KIND`. */
  statistics(fn: string, hours: readonly number[], byMinute: boolean): Promise<Counts[]>;

  /** Retries or deletes at most 100 jobs. Returns how many. */
  mend(fn: string, verb: MendVerb, jobs: readonly EndedJob[]): Promise<number>;

  /** Pauses the function, so that workers claim none of its jobs, or resumes it. */
  pause(fn: string, paused: boolean): Promise<void>;

  /** With `wanted` it repeats the question while that returns true, also during an outage and without a timeout. */
  isPaused(fn: string, wanted?: () => boolean): Promise<boolean>;

  /** Calls `changed` when the function may have been paused or resumed. Resolves and unsubscribes as `listen`. */
  listenToControl(fn: string, changed: () => void): Promise<() => void>;

  /** Reads `count:{FN}`, without workers of this package that died. */
  count(fn: string): Promise<string | undefined>;

  /** Subscribes; the promise resolves when messages arrive, with a function that unsubscribes. */
  listen(fn: string, listener: JobListener): Promise<() => void>;

  close(): Promise<void>;
}
