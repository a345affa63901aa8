import type { JobState } from '../job/job-state.js';

// What both views and actions are made of, and the views of jobs: a part of api.ts. Import it from there.

/** A time as JSON has it: ISO 8601, in UTC. */
export type Time = string;

/** What can be done. `session.instances[].actions` has those of an instance, `rights` those of a user for a function. */
export type Action =
  | 'run'
  | 'retry'
  | 'cancel'
  | 'discard'
  | 'edit'
  | 'pause'
  | 'resume'
  | 'schedule-run'
  | 'schedule-pause'
  | 'schedule-resume'
  | 'limit-set'
  | 'limit-reset';

/**
 * GET api/jobs?i&fn&state&order=newest|oldest&size=1..100&page
 * GET api/find?i&fn and one of tag, key, id; &page
 */
export interface JobsView {
  readonly jobs: readonly ListedJobView[];
  /** How many there are on all pages. */
  readonly total: number;
  /** `page` of the next request; absent on the last page. */
  readonly next?: string;
}

/** Lists never carry inputs or outputs. */
export interface ListedJobView {
  readonly id: string;
  readonly fn: string;
  readonly state: JobState;
  readonly attempts: number;
  readonly times: TimesOfJob;
  /** The id of the worker that runs it or ran it last; absent for short and plain runs. */
  readonly worker?: string;
  readonly error?: ErrorView;
  readonly progress?: { readonly dividend: number; readonly divisor: number };
  readonly key?: string;
  readonly tags?: readonly string[];
  readonly recurring?: TickView;
  /** How many jobs it waits for that have not ended. */
  readonly waitsForJobs?: number;
}

export interface TimesOfJob {
  readonly created?: Time;
  readonly scheduled?: Time;
  readonly expires?: Time;
  readonly started?: Time;
  readonly finished?: Time;
  readonly waitsUntil?: Time;
}

export interface ErrorView {
  readonly name: string;
  /** In lists at most 2,000 characters; with `redact` at most 65,536. */
  readonly message: string;
  readonly code?: string;
  /** Only of `api/job`. */
  readonly stack?: string;
  readonly cause?: ErrorView;
}

export interface TickView {
  /** The schedule's id. */
  readonly id: string;
  readonly slot: Time;
  readonly previous?: Time;
}

/** GET api/job?i&fn&id: all of a job but its payloads. 404 with the code `JOB_NOT_FOUND`. */
export interface JobView extends ListedJobView {
  readonly snoozes: number;
  /** The signals that it waits for, until `times.waitsUntil`: the first one of them wakes it. */
  readonly waitsFor?: readonly string[];
  /** Whether it belongs to a flow: `api/flow` shows it, while that is kept. Absent if not. */
  readonly flow?: true;
  /** How often it lost its worker. */
  readonly stalls: number;
  /** The error of every attempt that failed, oldest first, the last included. */
  readonly errors: readonly (ErrorView & { readonly attempt: number })[];
  readonly headers: Readonly<Record<string, string>>;
  /** Its own options, such as `retry`, `timeout` and `expires`, as JSON text, cut at 16,000 characters. Absent without. */
  readonly options?: string;
  /** Those that are recorded, in the order of the handler. */
  readonly steps?: readonly {
    readonly name: string;
    readonly started: Time;
    readonly finished: Time;
    readonly bytes: number;
  }[];
  /** How many chunks of output and lines of its log it has streamed. */
  readonly streams?: { readonly output?: number; readonly log?: number };
  /** Lengths in bytes; absent if there is none. */
  readonly input?: { readonly bytes: number };
  readonly output?: { readonly bytes: number };
  /** Further fields that this version does not know, such as those of later ones: cut at 1,000 characters. */
  readonly more: Readonly<Record<string, string>>;
  readonly actions: readonly Action[];
}

/** GET api/stream?i&fn&id&kind=output|log&from=NUMBER: what a job has streamed, from an entry on, at most 500. */
export interface StreamView {
  readonly entries: readonly {
    readonly at: Time;
    /** At most 65,536 characters. Bytes that are no UTF-8 are shown as base64. */
    readonly text: string;
    readonly encoding: 'utf8' | 'base64';
  }[];
  /** The number of the entry after these, and how many there have been. */
  readonly next: number;
  readonly total: number;
}

/** GET api/flow?i&fn&id&from=NUMBER: the flow that a job belongs to, with at most 300 of its jobs. 404 without one that is kept. */
export interface FlowView {
  /** The functions that `members` names by their places in this list. */
  readonly functions: readonly string[];
  /** How many have succeeded, how many have ended otherwise, and how many there are, hidden ones included. */
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  /** In the order of the flow: the root first. */
  readonly members: readonly FlowMemberView[];
  /** How many jobs of this page are left out: the user may not view their functions. */
  readonly hidden: number;
  /** `from` of the next request; absent on the last page. */
  readonly next?: number;
}

export interface FlowMemberView {
  readonly fn: number;
  readonly id: string;
  /** `gone` if it is no longer kept. */
  readonly state: JobState | 'gone';
  /** Those that it waited for, at most 1,000, without jobs of functions that the user may not view. */
  readonly parents: readonly (readonly [fn: number, id: string])[];
}

/** GET api/payload?i&fn&id&part=input|output. GET api/raw with the same is the whole as a download */
export interface PayloadView {
  /** At most 64 KiB of it. Bytes that are no UTF-8 are shown as base64. */
  readonly text: string;
  /** How the text stands for the bytes. */
  readonly encoding: 'utf8' | 'base64';
  /** The whole length. */
  readonly bytes: number;
  readonly cut: boolean;
  /** Whether the app has changed it: what is shown is then not what is stored, and must not be edited. */
  readonly redacted: boolean;
  /** Nothing of it may be shown: the app redacts, and this can't be read. */
  readonly hidden?: true;
}

/** GET api/failures?i&fn: the newest failed jobs by their errors. */
export interface FailuresView {
  /** The largest one first. */
  readonly groups: readonly FailureView[];
  /** How many of the newest failed jobs were grouped, at most 1,000. */
  readonly looked: number;
  /** How many failed jobs there are. */
  readonly total: number;
}

/** Name, code and message are those of the innermost cause. */
export interface FailureView {
  readonly group: string;
  readonly name: string;
  readonly code?: string;
  readonly message: string;
  readonly count: number;
  readonly last: Time;
  /** The id of the job that failed last. */
  readonly sample: string;
  /** The message of that job: `message` has `<n>`, `<id>` and `<text>` for what differs. */
  readonly example: string;
}

/** GET api/limits?i&fn: full keys first, at most 100. */
export interface LimitView {
  readonly key: string;
  readonly waiting: number;
  readonly running: number;
  readonly full: boolean;
  readonly fullUntil?: Time;
  /** The job that holds a strict key. */
  readonly heldBy?: string;
}
