import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { realNow } from '../../job/real-time.js';
import type { WorkerJob } from '../wire/worker-job.js';
import { Backoff } from '../http/backoff.js';
import { askMaster, retryUntilAnswered } from '../http/retry-until-answered.js';
import {
  ANSWER_TIMEOUT_MS,
  reasonOf,
  refused,
  type MasterHttp,
  type MasterReply,
} from '../http/master-http.js';
import { pack } from '../message-pack/pack.js';
import { integerOf, textOf, toRaw } from '../message-pack/unpack.js';
import { MAX_BATCH } from '../wire/batch.js';
import { Fields } from '../wire/fields.js';
import { messageOf } from '../../job/errors.js';

const MAX_REPLY_DEPTH = 2;
const MAX_NAME_BYTES = 255;
const KEY_BYTES = 12;
/** A worker that is forgotten sooner than this waits before it registers again: two masters without a common store may be behind one address. */
const STEADY_MS = 10_000;

export interface RegistrationOptions {
  readonly http: MasterHttp;
  readonly fn: string;
  readonly maxJobs: number;
  readonly name: string;
  /** The base URL for pushes; without it jobs are pulled. */
  readonly url?: string;
  /** How many jobs it takes in one request. */
  readonly batch: number;
  /** Milliseconds. */
  readonly pingInterval: number;
  readonly onProblem: (message: string) => void;
  /** Called when the master gives its jobs to others: it has forgotten the worker, or is about to be told that this leaves. */
  readonly onLost: (registration: Registration) => void;
}

/**
 * One worker in the master's sense. It runs jobs of one function, so that a function without free slots doesn't block
 * others. If the master has forgotten it, it registers again, until `end`: then it is over for good.
 */
export class Registration {
  /** Its jobs that run here and are not reported yet. */
  readonly held = new Set<object>();
  /** Its jobs whose reports are under way: they have a slot at the master until it has these. */
  readonly reporting = new Set<object>();
  /** The header of its requests; absent while it registers. */
  workerId?: string;
  /** Names the last registration, also in its URL: pushes to another one belong to an earlier registration. */
  key = '';
  /** How many reports the master takes in one request, from its reply to each registration. */
  batch = 1;
  /** When the master was last asked for an answer that it gave, by `realNow`: it has heard of this worker since. */
  heardAt = realNow();
  private registering?: Promise<string>;
  private readonly backoff = new Backoff();
  private readonly life = new AbortController();
  private isPinging = false;

  constructor(private readonly options: RegistrationOptions) {
    // One listener for each request under way.
    setMaxListeners(0, this.signal);
  }

  /** Aborts when it is over. */
  get signal(): AbortSignal {
    return this.life.signal;
  }

  private get http(): MasterHttp {
    return this.options.http;
  }

  get fn(): string {
    return this.options.fn;
  }

  get maxJobs(): number {
    return this.options.maxJobs;
  }

  takes(job: WorkerJob): boolean {
    return job.name === this.fn;
  }

  /** Registers unless it is registered. Retries through outages; rejects when it is over. */
  ready(): Promise<string> {
    if (this.workerId !== undefined) return Promise.resolve(this.workerId);
    return (this.registering ??= this.register().finally(() => delete this.registering));
  }

  /** Pings the master, until it answers: one that is back may have heard nothing of this worker for long. */
  async ping(): Promise<void> {
    const { workerId: id, signal } = this;
    if (id === undefined || this.isPinging) return;
    const headers = { 'worker-id': id };
    // One without an answer keeps the next ones back.
    const timeout = Math.min(this.options.pingInterval, ANSWER_TIMEOUT_MS);
    let asked = realNow();
    const ping = () => {
      asked = realNow();
      return this.http.request('POST', '/worker/ping', { headers, signal, timeout });
    };
    this.isPinging = true;
    const reply = await askMaster(ping, signal, { url: this.http.url, what: 'POST /worker/ping' })
      .catch(() => undefined)
      .finally(() => (this.isPinging = false));
    if (reply && isForgotten(reply)) this.forgotten(id);
    else if (reply && reply.status < 300) this.heardAt = asked;
  }

  /**
   * Whether a job that it was handed, and begins now, is still its own. A master that doesn't know the question says nothing
   * against it.
   *
   * @throws when there is no answer to it
   */
  async confirm(jobId: string, attempt: number): Promise<boolean> {
    const { signal } = this;
    const id = await this.ready();
    const headers = { 'worker-id': id };
    const body = pack({ job_id: jobId, attempt });
    const reply = await this.http.request('POST', '/worker/confirm', { body, headers, signal });
    const isUnknown = isForgotten(reply);
    if (isUnknown) this.forgotten(id);
    if (isUnknown || (reply.status === 409 && reasonOf(reply).code !== undefined)) return false;
    if (reply.status < 300 || reply.status === 404) return true;
    throw refused('POST /worker/confirm', reply);
  }

  /** The master no longer knows this id. */
  forgotten(id: string): void {
    if (this.workerId !== id) return;
    delete this.workerId;
    this.options.onLost(this);
    this.ready().catch(() => undefined);
  }

  /** Unregisters for good, so that its jobs go back at once. Retries until the master answers, or the signal aborts. */
  async end(signal: AbortSignal): Promise<void> {
    this.life.abort(new Error('The worker has signed off.'));
    this.options.onLost(this);
    const id = this.workerId ?? (await this.nearlyRegistered(signal));
    if (id === undefined) return;
    delete this.workerId;
    const headers = { 'worker-id': id };
    const leave = () => this.http.request('DELETE', '/worker', { headers, signal });
    await askMaster(leave, signal, { url: this.http.url, what: 'DELETE /worker' });
  }

  /** Signs off if the master may have accepted the registration already. */
  private nearlyRegistered(signal: AbortSignal): Promise<string | undefined> {
    const late = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    return Promise.race([this.registering?.catch(() => undefined), late]);
  }

  /** @throws when the reply names no worker */
  private registered({ body }: MasterReply): string {
    const fields = Fields.of(toRaw(body, MAX_REPLY_DEPTH));
    const raw = fields.raw('worker_id');
    const id = raw && textOf(raw);
    if (!id) throw new Error('its reply has no worker_id');
    this.batch = batchOf(fields);
    return (this.workerId = id);
  }

  private async register(): Promise<string> {
    const { fn, maxJobs, name, url, batch, onProblem } = this.options;
    const { signal } = this;
    signal.throwIfAborted();
    await this.backoff.pace(STEADY_MS, signal);
    let id = '';
    const ask = async () => {
      // A new key each time: the reply to the previous try may have been lost. Something in between may send one try twice.
      this.key = randomBytes(KEY_BYTES).toString('hex');
      const own = url === undefined ? undefined : `${url}/${this.key}`;
      const body = pack({ name: nameOf(name, fn), max_jobs: maxJobs, url: own, names: [fn], batch });
      // Not aborted half-way: the master would keep a worker whose id is unknown here.
      const asked = realNow();
      const headers = { 'idempotency-key': this.key };
      const reply = await this.http.request('POST', '/worker', { body, headers });
      if (reply.status === 201) id = this.registered(reply);
      this.heardAt = asked;
      return reply;
    };
    await retryUntilAnswered(ask, {
      signal,
      unanswered: (reply) =>
        reply.status === 201 ? undefined : refused(`The worker for "${fn}" can't register`, reply),
      onFailure: (error) =>
        onProblem(`No jobs of "${fn}" until ${this.http.url} takes the worker: ${messageOf(error)}`),
    });
    // A worker that has not pinged yet is not lost by its silence.
    void this.ping();
    return id;
  }
}

/** Whether a reply says that the worker is unknown. */
export function isForgotten(reply: MasterReply): boolean {
  return isUnknownWorker({ status: reply.status, ...reasonOf(reply) });
}

/** The same for a decoded answer. */
export function isUnknownWorker({ status, code }: { status: number; code?: string | undefined }): boolean {
  return status === 404 && code === 'WORKER_NOT_FOUND';
}

/** The batch size it takes, if any: masters that only implement the contract take none. */
function batchOf(fields: Fields): number {
  const raw = fields.raw('batch');
  const most = raw && integerOf(raw);
  return typeof most === 'number' && most > 1 ? Math.min(most, MAX_BATCH) : 1;
}

/** The name that people see, cut to the contract's limit; `names` has the function's full name. */
function nameOf(name: string, fn: string): string {
  const bytes = Buffer.from(`${name} ${fn}`);
  if (bytes.length <= MAX_NAME_BYTES) return bytes.toString();
  return new TextDecoder().decode(bytes.subarray(0, MAX_NAME_BYTES), { stream: true });
}
