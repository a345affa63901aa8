import { Raw } from '../message-pack/raw.js';
import type { DoneRequest, EnqueueRequest, RegisterRequest, ReleaseRequest } from '../wire/requests.js';
import { digestOf, printOf } from './idempotency.js';
import { readHanded, type Argument, type HandedJob, type StaleJob } from './turn.js';

export type { HandedJob, StaleJob } from './turn.js';

/** One thing asked of the engine: what goes into a turn, and what its reply means. */
export interface Operation<Reply> {
  /** As in engine/scripts. */
  readonly name: string;
  readonly args: readonly Argument[];
  /** Whether it may be sent again when the connection broke before its reply. */
  readonly repeatable?: boolean;
  decode(reply: unknown): Reply;
}

/** The limits that a job falls under, and the version of the constraints they were found with. */
export interface Limits {
  readonly version: string;
  readonly limits: readonly string[];
}

export type Enqueued =
  { readonly status: 'created'; readonly id: string } | { readonly status: 'stale' | 'full' | 'reused' };

/** `suffix` makes an id that can't be guessed from another. With a `key` it may be asked twice. */
export function enqueue(
  request: EnqueueRequest,
  suffix: string,
  { version, limits }: Limits,
  key?: string,
): Operation<Enqueued> {
  const { name, argument, priority, maxRetry, keepResult, timeout } = request;
  const flags = [priority, maxRetry, keepResult ? 1 : 0, timeout];
  const once = key === undefined ? ['', ''] : [digestOf(key), printOf(request)];
  return {
    name: 'enqueue',
    args: [suffix, name, argument.bytes, ...flags, version, limits.join(), ...once],
    decode: (reply) => {
      const [status, id] = (reply as Buffer[]).map(String);
      return status === 'created'
        ? { status, id: id ?? '' }
        : { status: status as 'stale' | 'full' | 'reused' };
    },
  };
}

export type JobStatus = 'queued' | 'running' | 'retrying' | 'error' | 'done';

/** A job as its pusher sees it. */
export interface JobView {
  readonly status: JobStatus;
  readonly worker?: string;
  readonly retryCount: number;
  readonly message?: string;
  readonly error?: Raw;
  /** Of a job that is done and whose result is kept. */
  readonly result?: Raw;
}

/** Whether nothing more will happen to it. */
export function hasEnded({ status }: JobView): boolean {
  return status === 'done' || status === 'error';
}

/** `undefined` for a job that never was, or was forgotten. With `wait` its end is told to `onEnded`. */
export function read(id: string, wait = false): Operation<JobView | undefined> {
  return { name: 'read', args: [id, wait ? 1 : 0], decode: (reply) => readView(reply as Buffer[]) };
}

function readView([status, worker, begun, message, error, result]: readonly Buffer[]): JobView | undefined {
  if (!worker) return undefined;
  return {
    status: String(status) as JobStatus,
    retryCount: Math.max(0, Number(begun) - 1),
    ...(worker.length > 0 ? { worker: String(worker) } : {}),
    ...(message && message.length > 0 ? { message: message.toString('utf8', 1) } : {}),
    ...(error && error.length > 0 ? { error: new Raw(error) } : {}),
    ...(result && result.length > 0 ? { result: new Raw(result) } : {}),
  };
}

export function cancel(id: string): Operation<'cancelled' | 'missing' | 'conflict'> {
  return { name: 'cancel', args: [id], decode: word };
}

/** False when there are too many workers. */
export function register(worker: string, request: RegisterRequest): Operation<boolean> {
  const { name, maxJobs, url = '', names = [], batch = 1 } = request;
  return { name: 'register', args: [worker, name, maxJobs, url, batch, ...names], decode: isOne };
}

/** False for a worker that nobody knows. */
export function unregister(worker: string): Operation<boolean> {
  return { name: 'unregister', args: [worker], decode: isOne };
}

/** False for a worker that nobody knows. */
export function ping(worker: string): Operation<boolean> {
  return { name: 'ping', args: [worker], decode: isOne };
}

export interface Pulled {
  readonly status: 'job' | 'more' | 'none' | 'full' | 'stale' | 'unknown worker';
  /** It is the worker's once `accept` has said so. */
  readonly job?: HandedJob;
  /** The only names that the worker wants; none if it wants all. */
  readonly names: readonly string[];
}

/** A job for a worker that asks. */
export function pull(worker: string): Operation<Pulled> {
  return {
    name: 'pull',
    args: [worker],
    decode: (reply) => {
      const [status, names = [], job] = reply as [Buffer, Buffer[] | undefined, Buffer[] | undefined];
      return {
        status: String(status) as Pulled['status'],
        names: names.map(String),
        ...(job ? { job: readHanded(job) } : {}),
      };
    },
  };
}

/**
 * That a job which was pulled has come to this master, and runs from now on: one whose hand-over was lost goes back
 * by itself. False when that was so.
 */
export function accept(job: HandedJob): Operation<boolean> {
  return { ...answer(job, { status: 'accepted' }), decode: isOne };
}

export type Reported = 'taken' | 'repeated' | 'conflict' | 'unknown worker' | 'unknown job';

export function done(worker: string, request: DoneRequest): Operation<Reported> {
  const { jobId, attempt = '', finishedAt = '' } = request;
  const head = [worker, jobId, attempt];
  const args =
    request.type === 'success'
      ? [...head, 'success', request.result.bytes, finishedAt]
      : [
          ...head,
          request.reason,
          request.error.isNil ? '' : request.error.bytes,
          finishedAt,
          request.shouldRetry ? 1 : 0,
          request.message,
        ];
  return { name: 'done', args, decode: word };
}

/** How a push ended. */
export type PushOutcome =
  | { readonly status: 'accepted' | 'lacks' | 'undelivered' | 'gone' }
  /** `blamed`: its worker has been blamed for the request already, with another job of the batch. */
  | { readonly status: 'refused' | 'broken' | 'silent'; readonly blamed?: boolean }
  /** Milliseconds. */
  | { readonly status: 'busy'; readonly rest: number }
  | { readonly status: 'invalid'; readonly message: string };

export function answer(job: HandedJob, outcome: PushOutcome): Operation<void> {
  return {
    name: 'answer',
    args: [job.id, job.attempt, job.worker, outcome.status, detailOf(outcome)],
    repeatable: true,
    decode: () => undefined,
  };
}

function detailOf(outcome: PushOutcome): string | number {
  if (outcome.status === 'busy') return outcome.rest;
  if (outcome.status === 'invalid') return outcome.message;
  return 'blamed' in outcome && outcome.blamed ? 'blamed' : '';
}

/** A running job that its worker has not touched goes back; no retry is spent. False when it is not the worker's. */
export function release(worker: string, { jobId, attempt }: ReleaseRequest): Operation<boolean> {
  return {
    name: 'answer',
    args: [jobId, attempt, worker, 'undelivered', ''],
    decode: isOne,
  };
}

export interface StoredConstraints {
  readonly version: string;
  /** JSON by id; absent when the version is the one that was known. */
  readonly byId?: ReadonlyMap<string, string>;
}

/** With `insist` it is asked until Redis answers. */
export function constraints(known = '', insist = false): Operation<StoredConstraints> {
  return {
    name: 'constraints',
    args: [known],
    repeatable: insist,
    decode: (reply) => {
      const [version, flat] = reply as [Buffer, Buffer[] | undefined];
      if (!flat) return { version: String(version) };
      const byId = new Map<string, string>();
      for (let i = 0; i < flat.length; i += 2) byId.set(String(flat[i]), String(flat[i + 1]));
      return { version: String(version), byId };
    },
  };
}

/** The parts of a constraint that scripts read. */
export interface LimitRules {
  readonly concurrency?: number;
  readonly rate?: { readonly count: number; readonly period: number };
}

export interface ConstraintChange {
  readonly id: string;
  readonly json: string;
  readonly rules: LimitRules;
  /** Change one that is there, and make none. */
  readonly known: boolean;
  /** What says which jobs fall under it, and together with which: others are matched anew. */
  readonly selects: string;
}

/** False when there is none to change, or too many are there already. */
export function putConstraint({ id, json, rules, known, selects }: ConstraintChange): Operation<boolean> {
  const { concurrency = '', rate } = rules;
  const numbers = [concurrency, rate?.count ?? '', rate?.period ?? ''];
  return {
    name: 'put_constraint',
    args: [id, json, ...numbers, known ? 1 : 0, selects],
    decode: isOne,
  };
}

export function removeConstraint(id: string): Operation<boolean> {
  return { name: 'remove_constraint', args: [id], decode: isOne };
}

export function relane({ id, lane }: StaleJob, { version, limits }: Limits): Operation<void> {
  return {
    name: 'relane',
    args: [id, lane, version, limits.join()],
    repeatable: true,
    decode: () => undefined,
  };
}

function word<T extends string>(reply: unknown): T {
  return String(reply) as T;
}

function isOne(reply: unknown): boolean {
  return reply === 1;
}
