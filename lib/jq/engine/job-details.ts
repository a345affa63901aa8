import { defined } from '../../job/defined.js';
import { Raw } from '../message-pack/raw.js';
import type { JobStatus } from './operations.js';

/** A job in a list. Times are milliseconds since 1970. */
export interface JobSummary {
  readonly id: string;
  readonly name: string;
  readonly status: JobStatus;
  /** When it got its status. */
  readonly since: number;
  readonly priority: number;
  readonly enqueued: number;
  readonly retryCount: number;
  readonly worker?: string;
  /** Cut if it is long. */
  readonly message?: string;
}

/** How one attempt failed. */
export interface Attempt {
  readonly attempt: number;
  readonly worker: string;
  readonly handed: number;
  readonly ended: number;
  readonly outcome: string;
  readonly message?: string;
}

/** All that is stored about a job. */
export interface JobDetails extends JobSummary {
  readonly maxRetry: number;
  readonly keepResult: boolean;
  /** Seconds. */
  readonly timeout: number;
  /** How often it was handed out, how often it failed, and how often its worker was lost. */
  readonly attempt: number;
  readonly failures: number;
  readonly losses: number;
  readonly handed?: number;
  readonly ended?: number;
  /** When it finished, in its worker's own text, or when the report came. */
  readonly finishedAt?: string;
  readonly nextAttempt?: number;
  /** The constraint that it waits for. */
  readonly waitsFor?: string;
  /** The constraints that it falls under. */
  readonly constraints: readonly string[];
  /** Absent once it is done. */
  readonly argument?: Raw;
  readonly error?: Raw;
  /** Only for a job that is done and whose result is kept. */
  readonly result?: Raw;
  readonly attempts: readonly Attempt[];
}

export function readSummary(status: JobStatus, row: readonly Buffer[]): JobSummary {
  const [id, since, name, priority, enqueued, worker, begun, message] = row.map(String);
  return defined({
    id: id ?? '',
    name: name ?? '',
    status,
    since: Number(since),
    priority: Number(priority),
    enqueued: Number(enqueued),
    retryCount: Math.max(0, Number(begun) - 1),
    worker: worker || undefined,
    message: message ? message.slice(1) : undefined,
  });
}

/** `undefined` for a job that is missing. */
export function readDetails(id: string, reply: unknown): JobDetails | undefined {
  const [word, since, again, limit, flat] = reply as [Buffer, Buffer, Buffer, Buffer, Buffer[] | undefined];
  if (!flat) return undefined;
  const hash = new Hash(flat);
  const status = String(word) as JobStatus;
  const nextAttempt = again.length > 0 ? Math.round(Number(String(again))) : undefined;
  return defined({
    id,
    name: hash.text('name') ?? '',
    status,
    since: Number(String(since)),
    priority: hash.count('priority'),
    enqueued: hash.count('enqueued'),
    retryCount: Math.max(0, hash.count('begun') - 1),
    maxRetry: hash.count('max_retry'),
    keepResult: hash.text('keep') === '1',
    timeout: hash.count('timeout'),
    attempt: hash.count('attempt'),
    failures: hash.count('failures'),
    losses: hash.count('losses'),
    worker: workerOf(status, hash),
    handed: hash.number('handed'),
    ended: hash.number('ended'),
    finishedAt: timeOf(hash.text('finished_at')),
    nextAttempt,
    waitsFor: limit.length > 0 ? constraintOf(String(limit)) : undefined,
    message: hash.text('message'),
    argument: hash.raw('argument'),
    error: hash.raw('error'),
    result: hash.raw('result'),
    constraints: constraintsOf(hash.text('lane') ?? ''),
    attempts: hash.attempts(),
  });
}

/** The worker that runs it, or ran it last. */
function workerOf(status: JobStatus, hash: Hash): string | undefined {
  if (status === 'queued') return undefined;
  return (status === 'retrying' ? hash.text('ran') : hash.text('worker')) || undefined;
}

/** A lane is "version|limit,limit…|name". */
function constraintsOf(lane: string): string[] {
  const limits = lane.split('|', 2)[1] ?? '';
  return limits === '' ? [] : limits.split(',').map(constraintOf);
}

function constraintOf(limit: string): string {
  return limit.split('=', 1)[0] ?? '';
}

function timeOf(text: string | undefined): string | undefined {
  return text !== undefined && /^\d+$/.test(text) ? new Date(Number(text)).toISOString() : text;
}

interface StoredAttempt {
  readonly worker: string;
  readonly handed: number;
  readonly ended: number;
  readonly outcome: string;
  readonly message?: string;
}

/** The fields of a job's hash. */
class Hash {
  private readonly fields = new Map<string, Buffer>();

  constructor(flat: readonly Buffer[]) {
    flat.forEach((name, i) => {
      const value = flat[i + 1];
      if (i % 2 === 0 && value) this.fields.set(String(name), value);
    });
  }

  text(name: string): string | undefined {
    return this.fields.get(name)?.toString('utf8');
  }

  number(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : Number(text);
  }

  /** A missing field is zero. */
  count(name: string): number {
    return this.number(name) ?? 0;
  }

  raw(name: string): Raw | undefined {
    const bytes = this.fields.get(name);
    return bytes && new Raw(bytes);
  }

  /** The failures still stored, oldest first. */
  attempts(): Attempt[] {
    return [...this.fields]
      .flatMap(([name, json]) => {
        const attempt = /^attempt:(\d+)$/.exec(name)?.[1];
        return attempt === undefined ? [] : [{ attempt: Number(attempt), ...readAttempt(json) }];
      })
      .sort((one, other) => one.attempt - other.attempt);
  }
}

/** Only scripts write them. */
function readAttempt(json: Buffer): StoredAttempt {
  return JSON.parse(json.toString('utf8')) as StoredAttempt;
}
