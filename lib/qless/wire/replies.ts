/** Decodes replies: the core writes empty lists as {}, and absent values as false or ''. */

export type QlessState = 'waiting' | 'scheduled' | 'depends' | 'running' | 'stalled' | 'failed' | 'complete';

/** An entry of a job's history; log messages have fields of their own. Times are seconds. */
export interface HistoryItem {
  readonly what: string;
  readonly when: number;
  readonly [field: string]: unknown;
}

/** Why a job failed. `when` is seconds since 1970. */
export interface JobFailure {
  readonly group: string;
  readonly message: string;
  readonly when: number;
  readonly worker: string;
}

/** A job as the core writes it, times in seconds. `data` is the JSON that was put, byte for byte. */
export interface JobRecord {
  readonly jid: string;
  readonly klass: string;
  readonly state: QlessState;
  /** '' when it is complete. */
  readonly queue: string;
  /** '' unless it is running. */
  readonly worker: string;
  readonly tracked: boolean;
  /** Higher runs first. */
  readonly priority: number;
  /** Seconds since 1970 when its lock ends; 0 without one. */
  readonly expires: number;
  readonly retries: number;
  readonly remaining: number;
  readonly data: string;
  readonly tags: readonly string[];
  readonly history: readonly HistoryItem[];
  readonly failure: JobFailure | null;
  readonly spawnedFrom: string | null;
  readonly dependents: readonly string[];
  readonly dependencies: readonly string[];
}

/** A recurring job as the core writes it. */
export interface RecurringRecord {
  readonly jid: string;
  readonly klass: string;
  readonly queue: string;
  readonly priority: number;
  /** In seconds. */
  readonly interval: number;
  readonly retries: number;
  /** How many jobs it has put. */
  readonly count: number;
  readonly data: string;
  readonly tags: readonly string[];
  readonly backlog: number;
}

/** A queue and how many of its jobs are in each state. */
export interface QueueCounts {
  readonly name: string;
  readonly waiting: number;
  readonly stalled: number;
  readonly running: number;
  readonly scheduled: number;
  readonly depends: number;
  readonly recurring: number;
  readonly paused: boolean;
}

/**
 * Statistics of durations, in milliseconds; `std` is that of a sample. The histogram counts jobs in bins of a second (60),
 * a minute (59), an hour (23) and a day (6).
 */
export interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly std: number;
  readonly histogram: readonly number[];
}

/** How long a queue's jobs waited and ran on one day. */
export interface QueueStats {
  readonly retries: number;
  readonly failed: number;
  readonly failures: number;
  readonly wait: Summary;
  readonly run: Summary;
}

/** A page of a list of jobs. */
export interface Page {
  readonly total: number;
  readonly jobs: readonly string[];
}

/** The result of a check of the whole qless. */
export interface Consistency {
  readonly checked: number;
  readonly problems: readonly { readonly what: string; readonly key: string; readonly id: string }[];
  /** The argument of the next call; '' at the end. */
  readonly cursor: string;
}

type Fields = Record<string, unknown>;

/** The only place that casts: the core's contract gives the shape. */
export function parsed<T>(reply: unknown): T {
  return JSON.parse(String(reply)) as T;
}

export function list<T>(value: unknown): T[] {
  return Array.isArray(value) ? (value as T[]) : [];
}

export function strings(reply: unknown): string[] {
  return list<unknown>(reply).map(String);
}

export const text = (reply: unknown): string => String(reply);
export const count = (reply: unknown): number => Number(reply);
export const nothing = (): void => undefined;

export function jobRecord(fields: Fields): JobRecord {
  const { spawned_from_jid: parent, failure, ...job } = fields;
  const failed = failure as Partial<JobFailure>;
  return {
    ...(job as unknown as JobRecord),
    tags: list(job['tags']),
    history: list(job['history']),
    dependents: list(job['dependents']),
    dependencies: list(job['dependencies']),
    failure: failed.group === undefined ? null : (failed as JobFailure),
    spawnedFrom: typeof parent === 'string' ? parent : null,
  };
}

export const jobRecords = (reply: unknown): JobRecord[] => list<Fields>(parsed(reply)).map(jobRecord);

export function recurringRecord(reply: unknown): RecurringRecord | null {
  if (reply === null) return null;
  const { tags, state: _, ...job } = parsed<Fields>(reply);
  return { ...(job as unknown as RecurringRecord), tags: list(tags) };
}

/** The core counts in seconds. */
export function queueStats(reply: unknown): QueueStats {
  const { wait, run, ...counts } = parsed<QueueStats>(reply);
  return { ...counts, wait: inMilliseconds(wait), run: inMilliseconds(run) };
}

function inMilliseconds({ mean, std, ...summary }: Summary): Summary {
  return { ...summary, mean: mean * 1000, std: std * 1000 };
}

export function page(reply: unknown): Page {
  const { total, jobs } = parsed<Fields>(reply);
  return { total: Number(total), jobs: strings(jobs) };
}

/** The result of a claim. */
export interface Claimed {
  readonly jobs: readonly JobRecord[];
  /** When they were popped, in seconds: it distinguishes this claim of a job from any other. */
  readonly token: number;
  /** The queue that the next claim starts with, counted from 1. */
  readonly first: number;
  /** Seconds until something will be due; undefined if nothing is known. */
  readonly due: number | undefined;
  /** For each queue, where the next claim continues. */
  readonly offsets: readonly number[];
  /** Klasses of jobs that stayed in their queue. */
  readonly left: readonly string[];
}

type ClaimReply = [
  jobs: Buffer,
  token: Buffer,
  first: number,
  due: Buffer | null,
  offsets: number[],
  left: Buffer[],
];

export function claimed(reply: unknown): Claimed {
  const [jobs, token, first, due, offsets, left] = reply as ClaimReply;
  return {
    jobs: jobRecords(jobs),
    token: Number(token),
    first,
    due: due === null ? undefined : Number(due),
    offsets,
    left: strings(left),
  };
}
