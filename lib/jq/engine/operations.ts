import type { Limits } from '../constraints/limits.js';
import { defined } from '../../job/defined.js';
import { Raw } from '../message-pack/raw.js';
import type { DoneRequest, EnqueueRequest, HandOut, PullCount, RegisterRequest } from '../wire/requests.js';
import { readHanded, type Argument, type HandedJob } from './turn.js';
import { createHash } from 'node:crypto';
import { pack } from '../message-pack/pack.js';

export type { HandedJob, StaleJob } from './turn.js';

/** One operation of the engine: its arguments in a turn, and how to decode its reply. */
export interface Operation<Reply> {
  /** As in engine/scripts. */
  readonly name: string;
  readonly args: readonly Argument[];
  /** Whether it may be sent again if the connection broke before its reply. */
  readonly repeatable?: boolean;
  decode(reply: unknown): Reply;
}

export type Enqueued =
  { readonly status: 'created'; readonly id: string } | { readonly status: 'stale' | 'full' | 'reused' };

/** @param suffix makes the id hard to guess @param key makes it safe to send twice */
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
  /** Only for a job that is done and whose result is kept. */
  readonly result?: Raw;
}

/** Whether nothing more will happen to it. */
export function hasEnded({ status }: JobView): boolean {
  return status === 'done' || status === 'error';
}

/** `read` starts the time to a kept result's removal; `wait` does too, and has the job's end published; `peek` changes nothing. */
export type ReadMode = 'read' | 'wait' | 'peek';

/** `undefined` for a job that never existed or was forgotten. */
export function read(id: string, mode: ReadMode = 'read'): Operation<JobView | undefined> {
  return { name: 'read', args: [id, mode], decode: (reply) => readView(reply as Buffer[]) };
}

function readView([status, worker, begun, message, error, result]: readonly Buffer[]): JobView | undefined {
  if (!worker) return undefined;
  return defined({
    status: String(status) as JobStatus,
    retryCount: Math.max(0, Number(begun) - 1),
    worker: worker.length > 0 ? String(worker) : undefined,
    message: message && message.length > 0 ? message.toString('utf8', 1) : undefined,
    error: error && error.length > 0 ? new Raw(error) : undefined,
    result: result && result.length > 0 ? new Raw(result) : undefined,
  });
}

export function cancel(id: string): Operation<'cancelled' | 'missing' | 'conflict'> {
  return { name: 'cancel', args: [id], decode: word };
}

export type Registered = 'registered' | 'full' | 'client workers' | 'client jobs';

/** @param client the worker's client if clients have limits, otherwise '' */
export function register(worker: string, request: RegisterRequest, client = ''): Operation<Registered> {
  const { name, maxJobs, url = '', names = [], batch = 1 } = request;
  return { name: 'register', args: [worker, name, maxJobs, url, batch, client, ...names], decode: word };
}

/** False for an unknown worker. */
export function unregister(worker: string): Operation<boolean> {
  return { name: 'unregister', args: [worker], decode: isOne };
}

/** False for an unknown worker. */
export function ping(worker: string): Operation<boolean> {
  return { name: 'ping', args: [worker], decode: isOne };
}

export interface Pulled {
  readonly status: 'job' | 'more' | 'none' | 'full' | 'stale' | 'unknown worker';
  /** The worker has it once `accept` has returned true. */
  readonly job?: HandedJob;
  /** The only names that the worker takes; none if it takes all. */
  readonly names: readonly string[];
}

/** Of a worker that does not count its pulls. */
export const UNCOUNTED: PullCount = { pull: 0, got: 0 };

/** A job for a worker that pulls. */
export function pull(worker: string, { pull: number, got } = UNCOUNTED): Operation<Pulled> {
  return {
    name: 'pull',
    args: [worker, number, got],
    decode: (reply) => {
      const [status, names = [], job] = reply as [Buffer, Buffer[] | undefined, Buffer[] | undefined];
      return defined({
        status: String(status) as Pulled['status'],
        names: names.map(String),
        job: job && readHanded(job),
      });
    },
  };
}

/**
 * Confirms that a pulled job has reached this master, and runs from now on. Without this it goes back by itself; false if
 * it already has.
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
  | { readonly status: 'accepted' | 'unknown_name' | 'undelivered' | 'gone' }
  /** `blamed`: the worker has been blamed for this request already, with another job of the batch. */
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

/** How a silent worker answered a probe. */
export function probed(worker: string, answer: 'there' | 'gone' | 'nothing'): Operation<void> {
  return { name: 'probed', args: [worker, answer], repeatable: true, decode: () => undefined };
}

/** Puts back a job that its worker has not begun, without spending a retry. False if it is not the worker's. */
export function release(worker: string, { jobId, attempt }: HandOut): Operation<boolean> {
  return {
    name: 'answer',
    args: [jobId, attempt, worker, 'undelivered', ''],
    decode: isOne,
  };
}

/** Whether a job is still its worker's, which begins it now. */
export function confirm(worker: string, { jobId, attempt }: HandOut): Operation<boolean> {
  return { name: 'confirm', args: [worker, jobId, attempt], decode: isOne };
}

/** Brings the keys of an earlier version up to date. */
export function adopt(): Operation<void> {
  return { name: 'adopt', args: [], repeatable: true, decode: () => undefined };
}

function word<T extends string>(reply: unknown): T {
  return String(reply) as T;
}

export function isOne(reply: unknown): boolean {
  return reply === 1;
}

const PRINT_CHARACTERS = 32;

/** An Idempotency-Key's name in Redis: of a fixed length, for any key. */
function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Equal for requests that ask for the same job, in any encoding. */
function printOf(request: EnqueueRequest): string {
  const { name, argument, priority, maxRetry, keepResult, timeout } = request;
  const whole = pack([name, argument, priority, maxRetry, keepResult, timeout]);
  return createHash('sha256').update(whole).digest('hex').slice(0, PRINT_CHARACTERS);
}
