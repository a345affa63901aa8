import { randomBytes } from 'node:crypto';
import type { WorkerJob } from '../wire/worker-job.js';
import { askMaster, retryUntilAnswered } from '../http/retry-until-answered.js';
import { reasonOf, refused, type MasterHttp, type MasterReply } from '../http/master-http.js';
import { pack } from '../message-pack/pack.js';
import { integerOf, textOf, toRaw } from '../message-pack/unpack.js';
import { MAX_BATCH } from '../wire/batch.js';
import { Fields } from '../wire/fields.js';
import { messageOf } from '../../job/errors.js';

const MAX_REPLY_DEPTH = 2;
const MAX_NAME_BYTES = 255;
const KEY_BYTES = 12;

export interface RegistrationOptions {
  readonly fn: string;
  readonly maxJobs: number;
  readonly name: string;
  /** Below it its jobs are pushed; without it they are pulled. */
  readonly url?: string;
  /** How many of them it takes in one request. */
  readonly batch: number;
  /** Aborts when the worker leaves. */
  readonly signal: AbortSignal;
  readonly onProblem: (message: string) => void;
  /** The master has forgotten the worker, and given its jobs to others. */
  readonly onForgotten: (registration: Registration) => void;
}

/**
 * One worker as the master knows it: it runs the jobs of one function, so that a function whose slots are
 * full keeps no other waiting. When the master has forgotten it, it registers again.
 */
export class Registration {
  /** How many of its jobs run here, and have not been handed back. */
  held = 0;
  /** The header of its requests; absent while it registers. */
  workerId?: string;
  /** The URL of the last registration: pushes to another one belong to an earlier registration. */
  key = '';
  /** How many reports the master takes in one request: told with each registration. */
  batch = 1;
  private registering?: Promise<string>;

  constructor(
    private readonly http: MasterHttp,
    private readonly options: RegistrationOptions,
  ) {}

  get fn(): string {
    return this.options.fn;
  }

  get maxJobs(): number {
    return this.options.maxJobs;
  }

  takes(job: WorkerJob): boolean {
    return job.name === this.fn;
  }

  /** Registers if it isn't. Goes on through outages; rejects when the worker leaves. */
  ready(): Promise<string> {
    if (this.workerId !== undefined) return Promise.resolve(this.workerId);
    return (this.registering ??= this.register().finally(() => delete this.registering));
  }

  /** Says that it is there. */
  async ping(): Promise<void> {
    const id = this.workerId;
    if (id === undefined) return;
    const { signal } = this.options;
    const headers = { 'worker-id': id };
    const reply = await this.http.request('POST', '/worker/ping', { headers, signal }).catch(() => undefined);
    if (reply && isForgotten(reply)) this.forgotten(id);
  }

  /** The master doesn't know this id any more. */
  forgotten(id: string): void {
    if (this.workerId !== id) return;
    delete this.workerId;
    this.options.onForgotten(this);
    this.ready().catch(() => undefined);
  }

  /** Leaves: the jobs it has go back at once. Says so until the master has heard it, or the signal aborts. */
  async unregister(signal: AbortSignal): Promise<void> {
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
    const { fn, maxJobs, name, url, batch, signal, onProblem } = this.options;
    let id = '';
    const ask = async () => {
      // Another each time: the master may have taken the one before, and its reply been lost.
      this.key = randomBytes(KEY_BYTES).toString('hex');
      const own = url === undefined ? undefined : `${url}/${this.key}`;
      const body = pack({ name: nameOf(name, fn), max_jobs: maxJobs, url: own, names: [fn], batch });
      // Not aborted half-way: the master would keep a worker whose id is unknown here.
      const reply = await this.http.request('POST', '/worker', { body });
      if (reply.status === 201) id = this.registered(reply);
      return reply;
    };
    await retryUntilAnswered(ask, {
      signal,
      unanswered: (reply) =>
        reply.status === 201 ? undefined : refused(`The worker for "${fn}" can't register`, reply),
      onFailure: (error) =>
        onProblem(`No jobs of "${fn}" until ${this.http.url} takes the worker: ${messageOf(error)}`),
    });
    return id;
  }
}

/** Whether a reply says that the worker is not known. */
export function isForgotten(reply: MasterReply): boolean {
  return isUnknownWorker({ status: reply.status, ...reasonOf(reply) });
}

/** The same of an answer that has been read. */
export function isUnknownWorker({ status, code }: { status: number; code?: string | undefined }): boolean {
  return status === 404 && code === 'WORKER_NOT_FOUND';
}

/** What it says of batches, if anything: a master of the contract alone takes none. */
function batchOf(fields: Fields): number {
  const raw = fields.raw('batch');
  const most = raw && integerOf(raw);
  return typeof most === 'number' && most > 1 ? Math.min(most, MAX_BATCH) : 1;
}

/** What people see, as far as the contract has room: the function is known by `names` besides. */
function nameOf(name: string, fn: string): string {
  const bytes = Buffer.from(`${name} ${fn}`);
  if (bytes.length <= MAX_NAME_BYTES) return bytes.toString();
  return new TextDecoder().decode(bytes.subarray(0, MAX_NAME_BYTES), { stream: true });
}
