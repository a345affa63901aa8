import type { JobState } from '../../../job/job-state.js';
import type { FunctionOverview } from '../../../job/job-views.js';
import type { JobStore, PresentWorker } from '../../core/client/job-store.js';
import type { StoredJob } from '../../core/wire/stored-job.js';
import type { DescribedJob, FoundBy, PayloadPart } from './view-scripts.js';

export type PayloadField = 'input' | 'output';
export type { DescribedJob, PayloadPart, PresentWorker };

/** Which jobs a page has. */
export interface ListQuery {
  readonly state: JobState;
  readonly newest: boolean;
  readonly size: number;
  /** '' for the first page. */
  readonly page: string;
  readonly payloads: boolean;
}

/** Which jobs are looked for: those of a tag, of a key, or one by its id. */
export interface FindQuery extends Omit<ListQuery, 'state'> {
  readonly by: FoundBy;
  readonly text: string;
}

/**
 * A job as it is stored, without what lists don't show. `input` and `output` are cut, or left out; the fields
 * `input:bytes` and `output:bytes` have their lengths. `error` is that of the last attempt.
 */
export interface ViewedJob {
  readonly id: string;
  readonly stored: StoredJob;
}

/** A page of them. */
export interface ViewedJobs {
  readonly jobs: readonly ViewedJob[];
  readonly total: number;
  /** '' on the last page. */
  readonly next: string;
}

/** What a server tells of its functions and of jobs in a state. */
export interface ViewStore {
  /** All functions that are known. */
  functions(): Promise<string[]>;

  /** In the order of `functions`. @param leavesOut whether those are left out that the server refuses, unless it refuses all */
  overview(functions: readonly string[], leavesOut: boolean): Promise<FunctionOverview[]>;

  list(fn: string, query: ListQuery): Promise<ViewedJobs>;

  /** Each job has its state as the field `state`. `total` may count jobs that are gone. */
  find(fn: string, query: FindQuery): Promise<ViewedJobs>;

  /** A job without its payloads; undefined if there is none. @param most bytes of a field */
  describe(fn: string, id: string, most: number): Promise<DescribedJob | undefined>;

  /** The beginning of an input or output, at most so many bytes; undefined if there is none. Nothing of one above 64 MiB. */
  payload(fn: string, id: string, field: PayloadField, most: number): Promise<PayloadPart | undefined>;

  /** The whole of it, by a connection of its own: a large one would keep others from their answers. */
  wholePayload(fn: string, id: string, field: PayloadField): Promise<Buffer | undefined>;

  /** Retries or deletes at most 100 jobs. Returns how many. */
  mend(fn: string, verb: MendVerb, jobs: readonly EndedJob[]): Promise<number>;
}

/** What is done with jobs that failed or were cancelled. */
export type MendVerb = 'retry' | 'discard';

/** A job as it was read: one that has changed since is left alone. */
export interface EndedJob {
  readonly id: string;
  /** As it is stored; '' for a job of a plain worker. */
  readonly finished: string;
}

/** A store that shows functions and jobs, and mends those that failed. */
export interface ViewsStore extends JobStore {
  readonly views: ViewStore;
}
