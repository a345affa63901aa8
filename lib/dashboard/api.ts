// What the server answers, for the page: types only, and no import that needs Node, so that the page's compiler doesn't.
// Every request names its instance as `i` (default: 'default') and its function as `fn`, in the query. Errors: `ApiError`.

import type { JobState } from '../job/job-state.js';
import type { Action, JobView, Time } from './api-jobs.js';

export type * from './api-jobs.js';
export type * from './api-functions.js';

/** What an instance can show. The page leaves out what is missing. */
export type Ability =
  | 'overview'
  | 'statistics'
  | 'jobs'
  | 'find'
  | 'job'
  | 'failures'
  | 'limits'
  | 'schedules'
  | 'workers'
  | 'native';

/** Every reply with a status of 400 or more. 401: not logged in. 403: `NOT_ALLOWED`, `READ_ONLY` or `CROSS_SITE`. */
export interface ApiError {
  readonly code: string;
  readonly message: string;
}

/** GET api/session */
export interface Session {
  /** The version of this API: a page that knows another one asks to be reloaded. */
  readonly protocol: 1;
  readonly user: string;
  readonly title: string;
  /** Of the package. */
  readonly version: string;
  readonly readOnly: boolean;
  readonly instances: readonly InstanceView[];
}

export interface InstanceView {
  readonly name: string;
  /** `gearmonkey`, `memory`, `qless`, `jq` or `jobd`. */
  readonly system: string;
  readonly can: readonly Ability[];
  /** What may be done there at all; none when read-only. */
  readonly actions: readonly Action[];
  /** The views of `api/native`. */
  readonly native: readonly string[];
  /** What the parts of a new job are called there, if jobs can be run. `kind` is absent where jobs have no name beside `fn`. */
  readonly run?: { readonly fn: string; readonly input: string; readonly kind?: string };
}

/** GET api/overview?i: functions that the user may view, in order of their names. What a system can't tell is absent. */
export interface FunctionView {
  readonly fn: string;
  readonly waiting: { readonly high: number; readonly normal: number; readonly low: number };
  readonly scheduled?: number;
  readonly retrying?: number;
  readonly running?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  readonly cancelled?: number;
  /** Keys of its limit that have waiting jobs and may start none. */
  readonly limitsFull?: number;
  readonly paused?: boolean;
  /** When the oldest waiting job was created, unless a plain client sent it. */
  readonly oldest?: Time;
  readonly workers?: number;
  /** Whether the user may do anything with it. `api/rights` says what. */
  readonly act: boolean;
  /** Nothing is known of a function that `api/live` was asked for by its name: no jobs, no workers, no definition. */
  readonly unknown?: true;
  /** Why the server lets the app read nothing of it: then nothing is counted. */
  readonly refused?: string;
}

/** GET api/rights?i&fn: what the user may do. */
export interface Rights {
  /** None if it is unknown. */
  readonly actions: readonly Action[];
  /** Nothing is known of the function. */
  readonly unknown?: true;
}

/** GET api/statistics?i&fn&by=minute|hour|day&from&to (ISO times). Without `fn`: the sum over all functions, up to 60 s old. */
export interface StatisticsView {
  readonly at: Time;
  readonly done: number;
  readonly failed: number;
  readonly retried: number;
  readonly stalled: number;
  readonly wait: TimesView;
  readonly run: TimesView;
}

export interface TimesView {
  readonly count: number;
  /** Milliseconds; 0 without jobs. */
  readonly mean: number;
  /** How many were above the class before and at most `most` ms, ascending; null has no upper bound. */
  readonly classes: readonly { readonly most: number | null; readonly count: number }[];
}

/**
 * GET api/native?i&view&page: tables in the terms of qless, JQ and jobd; times are ISO texts. A user who may see some functions
 * only gets their rows, without a total, and 403 for tables that are not about functions.
 */
export interface NativeView {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | boolean | null)[])[];
  readonly total?: number;
  readonly next?: string;
  /** The column with the `key` of a row, for `api/native/row` and `api/act`. */
  readonly key?: string;
  /** The column with the queue, name or target of a row. */
  readonly functions?: string;
  /** Whether `api/native/row` has more of a row. */
  readonly opens: boolean;
  /** What the user may do to each row as it is now, in their order. */
  readonly actions: readonly (readonly Action[])[];
}

/** GET api/native/row?i&view&key: all of a row. Its texts are cut at 65,536 characters. */
export interface NativeRow {
  readonly fn: string;
  readonly fields: readonly {
    readonly name: string;
    readonly text: string;
    readonly part?: 'input' | 'output' | 'error';
  }[];
}

/** Which jobs an action is about, if not one by its id. */
export interface Which {
  readonly state: JobState;
  /** Of `api/failures`. */
  readonly group?: string;
  readonly tag?: string;
  readonly before?: Time;
}

/**
 * POST api/act, as application/json. The response is ActReply.
 *
 * With `which`: retry and discard (state failed or cancelled), cancel (waiting, scheduled, retrying or running).
 */
export interface ActRequest {
  readonly i?: string;
  readonly action: Action;
  readonly fn: string;
  /** Of the job: retry, cancel, discard, edit. */
  readonly id?: string;
  readonly which?: Which;
  /** A row of `api/native`: run, retry, cancel, discard, pause, resume. Of those of a group, at most 1,000 jobs. */
  readonly row?: { readonly view: string; readonly key: string };
  /** Of run in qless: the klass. */
  readonly kind?: string;
  /** Of run and edit: JSON text of the input. */
  readonly input?: string;
  /** Of run and edit. */
  readonly options?: {
    readonly priority?: 'high' | 'normal' | 'low';
    readonly delay?: number | string;
    readonly scheduled?: Time;
  };
  /** The schedule's id. */
  readonly schedule?: string;
  readonly limit?: {
    readonly concurrency?: number;
    readonly rate?: { readonly max: number; readonly per: number | string };
  };
  /** Only says what it would do to how many. */
  readonly dry?: true;
}

export interface ActReply {
  readonly ok: true;
  /** How many there are now (dry), or to how many it was done (`row`). */
  readonly count?: number;
  /** There may be more than were counted. */
  readonly atLeast?: boolean;
  /** How many of the newest jobs were looked at, if not all. */
  readonly looked?: number;
  /** Not all that were counted may be concerned. */
  readonly atMost?: boolean;
  /** Of the job that was made. */
  readonly id?: string;
  /** Of the bulk run that has begun. */
  readonly bulk?: string;
  /**
   * All functions that it concerns, if there are more than the one that was named: those that share a limit, and those whose
   * jobs wait for the one that is cancelled. Also with `dry`. The user may do it to all of them.
   */
  readonly functions?: readonly string[];
  /** False if there was nothing to do, such as for a job that has ended meanwhile. */
  readonly changed?: boolean;
}

/** GET api/bulk?id, GET api/bulks (all of this user that run or ended in the last hour), POST api/bulk/cancel { id }. */
export interface BulkView {
  readonly id: string;
  readonly i: string;
  readonly fn: string;
  readonly action: Action;
  readonly user: string;
  readonly begun: Time;
  readonly ended?: Time;
  /** Jobs done so far. */
  readonly done: number;
  /** How many there were when it began; jobs may come and go meanwhile. */
  readonly of?: number;
  readonly state: 'running' | 'done' | 'cancelled' | 'failed';
  readonly error?: ApiError;
}

/**
 * GET api/live?topics=[…]: Server-Sent Events. `topics` is the JSON of a list of at most 20 topics.
 *
 * - `{ overview: 'default' }` or `{ overview: 'default', fns: ['a', 'b'] }` (at most 100 names; without: all functions)
 * - `{ job: '7', i: 'default', fn: 'mail' }` (at most 5 jobs)
 * - `{ bulk: ID }`
 */
export type Topic =
  | { readonly overview: string; readonly fns?: readonly string[] }
  | { readonly job: string; readonly i?: string; readonly fn: string }
  | { readonly bulk: string };

/** The data of an event, by its name. A new stream gets everything once. */
export interface LiveEvents {
  /** Functions that have changed since the last event of this instance, and the names of those that are gone. */
  overview: { i: string; at: Time; functions: readonly FunctionView[]; gone: readonly string[] };
  /** A job that has changed; null if there is none (any more), or if the app may not read it: `refused` says why. */
  job: { i: string; fn: string; id: string; job: JobView | null; refused?: string };
  bulk: BulkView;
  /** An instance can't be read now, such as during an outage; it is tried again. `since`: when it was last read, if it was. */
  trouble: { i: string; error: ApiError; since?: Time };
  /** The server ends, or the user may no longer watch: reconnect later. */
  /** `connect again` at once, else in a while. */
  bye: { why: string };
}
