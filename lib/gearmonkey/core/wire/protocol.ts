import { randomInt } from 'node:crypto';
import type { FinalState } from '../../../job/job-state.js';
import { KEPT_MS } from '../../../job/keep.js';
import type { StreamKind } from '../../../job/streams.js';

/** A finished job's hash lives for 25 hours. */
export const JOB_TTL_SECONDS = KEPT_MS / 1000;

/** For a claim: seconds for which jobs are kept that succeed, and that end as errors, and 1 to set when the list of successes expires. */
export type KeptText = '' | `${number}:${number}:${0 | 1}`;

/** How long ended jobs are listed unless a list says otherwise, in ms: as long as their hashes live. */
export const LISTED_MS = KEPT_MS;

/** Sorted set of the functions of a database, by the time at which an actor of this package last saw them. */
export const FUNCTION_INDEX = 'functions';
/** Hash of the functions of all schedules of a database, by the ids of the schedules. */
export const SCHEDULE_INDEX = 'schedules';
/** Prefix of the versions of an app that declare schedules: its name follows. */
export const DECLARED = 'declared:';

/** The queue in which a job waits. */
export type Queue = 'high' | 'normal' | 'low' | 'scheduled';

/** All keys and channels of one function: first the protocol's, then our own (docs/understand/protocol.md). */
export interface FunctionKeys {
  readonly ids: string;
  readonly count: string;
  readonly channel: string;
  readonly high: string;
  readonly normal: string;
  readonly low: string;
  readonly scheduled: string;
  /** Prefix: the id follows. */
  readonly jobs: string;
  /** Prefix: the id follows. */
  readonly locks: string;
  /** Sorted set of "id:token" by the time a lease expires. */
  readonly leases: string;
  /** The wake marker: a list of at most one element. The idle worker that pops it claims jobs. */
  readonly wake: string;
  /** The leader: the worker that finds jobs without a wake marker, such as those of plain clients. */
  readonly leader: string;
  /** When leases were last looked at, and from when on jobs may be recovered: recovery.lua. */
  readonly recovery: string;
  /** Exists while plain clients send jobs. */
  readonly plain: string;
  /** Channel of progress updates. */
  readonly progress: string;
  /** Prefix: the worker follows. Holds the claims of its last round trip that followed a blocking call. */
  readonly claims: string;
  /** Prefix of the channels that outputs are sent to: the waiting client follows. */
  readonly replies: string;
  /** Channel of cancelled claims, as "id:token": their handlers have to stop. */
  readonly cancel: string;
  /** Hash of what holds for the function in all processes, such as that it is paused; also the channel of its changes. */
  readonly control: string;
  /** Sorted set of this package's workers by the time their presence ends. */
  readonly workers: string;
  /** Prefix: the sender follows. Holds the result of its last call, in case it is sent again. */
  readonly senders: string;
  /** Prefix of the keys of its limit. */
  readonly limits: string;
  /** Hash of the schedules of recurring jobs: some fields for each. */
  readonly schedules: string;
  /** Sorted set of schedules by the time of their next tick. */
  readonly ticks: string;
  /** Hash of unique keys: the job that was created last with each. */
  readonly unique: string;
  /** Prefix: the hour follows, counted from 1970. Hash of what happened to jobs in its minutes. */
  readonly statistics: string;
  /** Prefix of the lists of ended jobs: `success`, `failed` or `cancelled` follows. Sorted sets by the time they ended. */
  readonly ended: string;
  /** Sorted set of jobs that will be tried again, by the time. */
  readonly retrying: string;
  /** Sorted set of jobs that wait for others, that others wait for, or that belong to flows: 0 while they wait, then 1, 2 at the end. */
  readonly members: string;
  /** Sorted set of the jobs of each tag: "TAG\0", the length of the id as two digits, and the id. */
  readonly tags: string;
}

/** Makes the keys of a function. @throws InvalidFunctionNameError for a name that has no valid keys */
export type KeysOf = (fn: string) => FunctionKeys;

/** Keys with the name unchanged. */
export function keysOf(fn: string): FunctionKeys {
  return {
    ids: `uid:${fn}`,
    count: `count:${fn}`,
    channel: `channel:${fn}`,
    high: `queue:${fn}:high`,
    normal: `queue:${fn}:normal`,
    low: `queue:${fn}:low`,
    scheduled: `queue:${fn}:scheduled`,
    jobs: `job:${fn}:`,
    locks: `lock:${fn}:`,
    leases: `lease:${fn}`,
    wake: `wake:${fn}`,
    leader: `leader:${fn}`,
    recovery: `recovery:${fn}`,
    plain: `plain:${fn}`,
    progress: `progress:${fn}`,
    claims: `claims:${fn}:`,
    replies: `reply:${fn}:`,
    cancel: `cancel:${fn}`,
    control: `control:${fn}`,
    workers: `workers:${fn}`,
    senders: `sender:${fn}:`,
    limits: `limit:${fn}:`,
    schedules: `schedules:${fn}`,
    ticks: `ticks:${fn}`,
    unique: `unique:${fn}`,
    statistics: `statistics:${fn}:`,
    ended: `ended:${fn}:`,
    retrying: `retrying:${fn}`,
    members: `queue:${fn}:flows`,
    tags: `tags:${fn}`,
  };
}

/** The keys of the claim script. */
export function claimKeys(k: FunctionKeys): string[] {
  const queues = [k.scheduled, k.high, k.normal, k.low];
  return [k.jobs, k.locks, k.leases, ...queues, k.wake, k.channel, k.control];
}

/** What follows `ended:{FN}:` in the key of the list of jobs in a state. */
export const ENDED_LISTS: Readonly<Record<FinalState, string>> = {
  succeeded: 'success',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** Parses a message on `channel:{FN}`, such as `create:7`; undefined if it is not the protocol's. */
export function parseEvent(message: string): { type: 'create' | 'start' | 'finish'; id: string } | undefined {
  const match = /^(create|start|finish):(.+)$/s.exec(message);
  return match ? { type: match[1] as 'create' | 'start' | 'finish', id: match[2] as string } : undefined;
}

/** Parses a message on `progress:{FN}`, such as `7:TOKEN:3/10`; undefined for anything else. */
export function parseProgress(
  message: string,
): { id: string; mark: number; dividend: number; divisor: number } | undefined {
  const match = /^(.+):(\d+):([^:/]+)\/([^:/]+)$/s.exec(message);
  if (!match) return undefined;
  const [id = '', token, dividend, divisor] = [
    match[1],
    Number(match[2]),
    Number(match[3]),
    Number(match[4]),
  ];
  if (!Number.isFinite(dividend) || !Number.isFinite(divisor)) return undefined;
  return { id, mark: markOf(token), dividend, divisor };
}

/** Parses a message on `progress:{FN}` that says that a job has streamed, such as `7:TOKEN:output`; undefined for anything else. */
export function parseStreamed(message: string): { id: string; mark: number; kind: StreamKind } | undefined {
  const match = /^(\d+):(\d+):(output|log)$/.exec(message);
  if (!match) return undefined;
  return { id: match[1] as string, mark: markOf(Number(match[2])), kind: match[3] as StreamKind };
}

/** Parses a message on `progress:{FN}` that says that a flow has changed, such as `flow:NAME`; undefined for anything else. */
export function parseFlow(message: string): string | undefined {
  return /^flow:([\w-]{1,64})$/.exec(message)?.[1];
}

/** The hash of a flow, and with `:jobs` the list of its jobs. It begins as the key of a job, to which clients have rights. */
export function flowKey(jobs: string, name: string): string {
  return `${jobs}flow:${name}`;
}

/** The list of what a job streams. It begins as the job's key, to which workers and clients have rights. */
export function streamKey(job: string, kind: StreamKind): string {
  return `${job}:${kind}`;
}

/** Parses a message on `reply:{FN}:{CLIENT}`, such as `7:TOKEN:OUTPUT`; undefined for anything else. */
export function parseReply(message: string): { id: string; mark: number; output: string } | undefined {
  const match = /^(\d+):(\d+):/.exec(message);
  if (!match) return undefined;
  return { id: match[1] as string, mark: markOf(Number(match[2])), output: message.slice(match[0].length) };
}

/** How many tokens a job has: they are the numbers after its mark. */
const TOKENS_A_JOB = 1_000_000;
/** Number of different marks of calls, chosen so that marks and tokens stay below 2^53. */
const MARKS = 2 ** 32;

/** A random mark for the first job of a call. Marks tell jobs from others that get the same ids after a failover. */
export function newMark(): number {
  return randomInt(1, MARKS) * TOKENS_A_JOB;
}

/** The mark of a call's job by its place among the new ones, from 0: a call that is sent again may change their ids. */
export function markAt(first: number, place: number): number {
  return first + place * TOKENS_A_JOB;
}

/** The mark of the job that this token belongs to; 0 if a plain client sent the job. */
export function markOf(token: number): number {
  return token - (token % TOKENS_A_JOB);
}

/** Identifies a job. The mark tells it from another job that gets the same id after a failover. */
export interface JobKey {
  readonly id: string;
  /** Absent if only the id is known; 0 if a plain client sent the job. */
  readonly mark?: number | undefined;
}

/** A worker's own list: a push to it ends the worker's blocking call. On a cluster it is in the slot of `marker`. */
export function ownListOf(worker: string, marker = 'wake'): string {
  return `${marker}:${worker}`;
}
