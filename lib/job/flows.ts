import type { JobErrorInfo } from './errors.js';
import type { FinalState } from './job-state.js';

/** Most jobs of a flow. */
export const MAX_FLOW_JOBS = 100_000;
/** Most pairs of jobs of a flow of which one waits for the other. */
export const MAX_FLOW_EDGES = 500_000;
/** The score in `scheduled` of jobs that wait for others. */
export const NEVER_SECONDS = 9_000_000_000;
/** Most jobs that `after` names. */
export const MAX_AFTER = 1000;

/** What happens to a job that waits for another which does not succeed: it ends as an error, runs nevertheless, or is cancelled. */
export type OnParentError = 'fail' | 'run' | 'cancel';
export const ON_PARENT_ERROR: ReadonlySet<unknown> = new Set<OnParentError>(['fail', 'run', 'cancel']);

/** Why a job ended whose parent did not succeed. */
export const PARENT_FAILED = { name: 'ParentFailedError', code: 'PARENT_FAILED' } as const;
/** Why a parent has no outcome: it had failed, and was retried before its job ran. */
export const JOB_RETRIED = { name: 'JobRetriedError', code: 'JOB_RETRIED' } as const;
/** Why a job ended whose flow was cancelled before. */
export const CANCELLED_WITH_FLOW: JobErrorInfo = {
  name: 'JobCancelledError',
  code: 'JOB_CANCELLED',
  message: 'cancelled with its flow',
};

/** How many jobs of a flow have succeeded, and how many have ended otherwise. It is over when they are `total` together. */
export interface FlowProgress {
  readonly done: number;
  readonly failed: number;
  readonly total: number;
}

/** A job that another waited for, as `job.parents()` shows it. */
export interface ParentJob<Output = unknown> {
  readonly fn: string;
  readonly id: string;
  /** Not `succeeded` only where `onParentError` is `run`. */
  readonly state: FinalState;
  /** Only of one that has succeeded. */
  readonly output?: Output;
  /** Only of the others. */
  readonly error?: JobErrorInfo;
}

/** The same as a source has it. */
export interface RecordedParent {
  readonly fn: string;
  readonly id: string;
  /** `lost` if it is no longer kept. */
  readonly state: FinalState | 'lost';
  readonly output: Uint8Array;
  readonly error?: JobErrorInfo | undefined;
}

/** Where a source keeps which jobs a job has waited for. */
export interface ParentRecords {
  /** In order. */
  parents(job: { readonly fn: string; readonly id: string }): Promise<readonly RecordedParent[]>;
}

/** A job of a list of a flow: `{ID}:{MARK}:{FN}`, with the function's name on the wire. */
export interface FlowEntry {
  readonly id: string;
  /** '' if only the id is known. */
  readonly mark: string;
  readonly fn: string;
}

export function writeEntry({ id, mark, fn }: FlowEntry): string {
  return `${id}:${mark}:${fn}`;
}

/** Undefined for what is none of ours. */
export function readEntry(text: string): FlowEntry | undefined {
  const [, id, mark, fn] = /^(\d{1,16}):(\d{0,16}):(.+)$/s.exec(text) ?? [];
  return id === undefined || mark === undefined || fn === undefined ? undefined : { id, mark, fn };
}

/** Where a job goes once its parents have ended. */
export interface LaterPlace {
  readonly queue: 'high' | 'normal' | 'low' | 'scheduled';
  /** Seconds since 1970. */
  readonly score?: number | undefined;
  /** Milliseconds from then on. */
  readonly delay?: number | undefined;
  /** Milliseconds from when it may run to when it expires. */
  readonly expires?: number | undefined;
}

/** The field `place` of a job that waits: `{QUEUE}:{TIME}:{EXPIRES}`, see docs/understand/protocol/flows.md. */
export function writePlace({ queue, score, delay, expires }: LaterPlace): string {
  const time =
    score !== undefined ? String(Math.round(score * 1000)) : delay !== undefined ? `+${delay}` : '';
  return `${queue}:${time}:${expires ?? ''}`;
}
