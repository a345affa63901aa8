import type { JobErrorInfo } from './errors.js';
import type { JobTimes, Progress } from './job.js';
import type { JobState } from './job-state.js';
import type { RecurringTick } from './recurring.js';

/** What there is of one queue, in any of the systems. What a system can't tell is absent. */
export interface QueueOverview {
  /** A function, a queue of qless, a name of JQ's jobs, or a target of jobd. */
  readonly fn: string;
  /** Jobs that may start at once, by priority. */
  readonly waiting: { readonly high: number; readonly normal: number; readonly low: number };
  /** Jobs that wait for a time, for other jobs, or for a person who runs them (jobd), without those of `retrying`. */
  readonly scheduled?: number;
  /** Jobs that wait for their next attempt after one that failed. */
  readonly retrying?: number;
  readonly running?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly cancelled?: number;
  readonly limitsFull?: number;
  readonly paused?: boolean;
  /** When the oldest waiting job was created. */
  readonly oldest?: Date;
  readonly workers?: number;
}

/** What there is of one function. Ended jobs are counted as long as they are kept. */
export interface FunctionOverview extends QueueOverview {
  readonly scheduled: number;
  readonly retrying: number;
  /** Jobs on workers of this package. */
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Cancelled, drained and replaced jobs. */
  readonly cancelled: number;
  /** Keys of its limit that have waiting jobs and may start none. */
  readonly limitsFull: number;
  readonly paused: boolean;
  /** When the oldest waiting job was created, unless a plain client sent it. */
  readonly oldest?: Date;
  readonly workers: number;
}

/** Which jobs `list` reads, and what of them. */
export interface ListOptions {
  state: JobState;
  /** By when they ended; by when they are due if they wait for a time; else by when they were created. @default 'newest' */
  order?: 'newest' | 'oldest';
  /** Most jobs of a page, from 1 to 100. @default 20 */
  size?: number;
  /** The `next` of the page before. @default the first page */
  page?: string;
  /** Whether to read inputs and outputs. @default false */
  payloads?: boolean;
}

/** Which jobs `find` looks for: one of `tag`, `key` and `id`. */
export interface FindOptions extends Omit<ListOptions, 'state'> {
  /** A tag that they were enqueued with. */
  tag?: string;
  /** A key of the function's limit: its jobs that have not ended, at most 500 of each kind. Or a unique key: the last job with it. */
  key?: string;
  id?: string | number;
}

/** An input or output as a list shows it. */
export interface ListedPayload {
  /** Its first 4,096 bytes, as text. Absent for one that is larger than 64 KiB, and after 512 KiB of a page. */
  readonly text?: string;
  /** Its whole length in bytes. */
  readonly bytes: number;
}

/** A job as a list shows it. What plain clients and workers don't write is absent. */
export interface ListedJob {
  readonly id: string;
  readonly fn: string;
  readonly state: JobState;
  readonly attempts: number;
  /** How often it lost its worker, if it did: such jobs may be what ended it. */
  readonly stalls?: number;
  /** The signals that it waits for: the first one of them wakes it. */
  readonly waitsFor?: readonly string[];
  readonly times: JobTimes;
  /** The id of the worker that runs it, or ran it last. On Redis only, once it has run for a quarter of a lease. */
  readonly worker?: string;
  /** Why it failed: for good, or the last time if it will be tried again. */
  readonly error?: JobErrorInfo;
  readonly progress?: Progress;
  /** What it is limited by. */
  readonly key?: string;
  /** Those that it was enqueued with. */
  readonly tags?: readonly string[];
  readonly recurring?: RecurringTick;
  /** Only with `payloads`. */
  readonly input?: ListedPayload;
  /** Only with `payloads`, of a job that succeeded. */
  readonly output?: ListedPayload;
}

/** A page of jobs. Jobs that end or expire meanwhile are left out, so it may have fewer than asked for. */
export interface JobList {
  readonly jobs: readonly ListedJob[];
  /** How many there are on all pages. `find` also counts jobs that are gone if there is more than one page. */
  readonly total: number;
  /** The `page` of the next call; absent on the last page. */
  readonly next?: string;
}
