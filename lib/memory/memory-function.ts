import type { Payload } from '../job/codec.js';
import { isFinal, type JobEvent, type JobStatus } from '../job/job.js';
import type { JobErrorInfo } from '../job/errors.js';
import { JOB_TTL_SECONDS, type Queue } from '../gearmonkey/wire/protocol.js';
import { bytes, text } from './fields.js';
import { MemoryQueues } from './memory-queues.js';
import type { JobListener, Placement } from '../gearmonkey/client/job-store.js';
import type { Cancellation } from '../gearmonkey/wire/scripts.js';
import type { StoredJob } from '../gearmonkey/wire/stored-job.js';

interface Lease {
  readonly token: number;
  expires: number;
}

/** A job as `claim` returns it. */
export interface Taken {
  readonly id: string;
  readonly token: number;
  readonly attempts: number;
  readonly stalls: number;
  /** JSON, or empty. */
  readonly options: string;
  readonly input: Uint8Array;
}

/** One function of the embedded server. It has the state and the operations that a function has on Redis. */
export class MemoryFunction {
  readonly listeners = new Set<JobListener>();
  /** Called when a running job was cancelled. */
  readonly cancellations = new Set<(id: string, token: number) => void>();
  /** Called when there may be a job to claim. */
  readonly sleepers = new Set<() => void>();
  workers = 0;
  private lastId = 0;
  private readonly jobs = new Map<string, Map<string, Uint8Array>>();
  readonly queues = new MemoryQueues();
  private readonly leases = new Map<string, Lease>();
  /** Finished jobs in the order they expire. */
  private readonly expiring: { readonly id: string; readonly at: number }[] = [];

  constructor(
    private readonly name: string,
    private readonly maxStalls: number,
    private readonly keptFor = JOB_TTL_SECONDS * 1000,
  ) {}

  enqueue(input: Payload, { queue, score, options }: Placement, now: number): string {
    const id = String((this.lastId += 1));
    const job = new Map([
      ['status', bytes('idle')],
      ['input', typeof input === 'string' ? bytes(input) : input],
      ['created', bytes(String(now))],
    ]);
    if (options !== undefined) job.set('options', bytes(options));
    if (score !== undefined) job.set('due', bytes(String(score * 1000)));
    this.jobs.set(id, job);
    if (queue === 'scheduled') this.queues.schedule(id, (score ?? 0) * 1000);
    else this.queues.add(id, queue);
    this.publish('create', id);
    this.wake();
    return id;
  }

  read(id: string, now: number): StoredJob | undefined {
    this.forgetExpired(now);
    const job = this.jobs.get(id);
    return job && new Map(job);
  }

  /** Claims up to `slots` jobs (due scheduled jobs first, then high, normal and low), or the one named by `only`. */
  claim(slots: number, lease: number, now: number, only?: string): Taken[] {
    this.recover(now);
    this.forgetExpired(now);
    const taken: Taken[] = [];
    while (taken.length < slots) {
      const next = this.queues.next(now, only);
      if (!next) break;
      taken.push(this.take(next.id, next.queue, lease, now));
    }
    return taken;
  }

  /** Renews the lease. Returns whether this token still held it. */
  renew(id: string, token: number, lease: number, now: number): boolean {
    const held = this.leases.get(id);
    if (held?.token !== token) return false;
    held.expires = now + lease;
    return true;
  }

  progress(id: string, token: number, dividend: number, divisor: number): boolean {
    if (!this.holds(id, token)) return false;
    this.set(id, { 'status:dividend': dividend, 'status:divisor': divisor });
    for (const listener of [...this.listeners]) listener.progress({ fn: this.name, id, dividend, divisor });
    return true;
  }

  finish(
    id: string,
    token: number,
    status: 'success' | 'error',
    output: Payload,
    error: JobErrorInfo | undefined,
    now: number,
  ): boolean {
    if (!this.holds(id, token)) return this.hasSettled(id, token);
    this.set(id, { settled: token });
    if (error) this.note(id, error);
    this.end(id, status, output, error, now);
    return true;
  }

  /** Puts a failed job into `scheduled`, where it waits for its next attempt. */
  retry(id: string, token: number, error: JobErrorInfo, delay: number, now: number): boolean {
    if (!this.holds(id, token)) return this.hasSettled(id, token);
    this.leases.delete(id);
    this.set(id, { status: 'idle', settled: token });
    this.note(id, error);
    this.queues.schedule(id, now + delay);
    this.wake();
    return true;
  }

  /** Cancels a job. If it runs, its worker is notified, and its outcome will be refused. */
  cancel(id: string, error: JobErrorInfo, now: number): Cancellation {
    const job = this.jobs.get(id);
    if (!job) return 'missing';
    if (isFinal(text(job.get('status')) as JobStatus)) {
      return text(job.get('error')) === JSON.stringify(error) ? 'cancelled' : 'finished';
    }
    const token = this.leases.get(id)?.token;
    this.queues.remove(id);
    this.end(id, 'error', error.message, error, now);
    if (token !== undefined) for (const tell of [...this.cancellations]) tell(id, token);
    return 'cancelled';
  }

  /** Puts a job back at the front of its queue; this attempt doesn't count. */
  release(id: string, token: number): boolean {
    if (!this.holds(id, token)) return this.hasSettled(id, token);
    this.set(id, { attempts: this.number(id, 'attempts') - 1, settled: token });
    this.giveBack(id);
    return true;
  }

  /** Milliseconds until the next scheduled job is due or the next lease ends. */
  outlook(now: number): number {
    return Math.max(0, Math.min(this.queues.nextDue, this.nextExpiry) - now);
  }

  /** When the next lease ends, in ms since 1970. */
  get nextExpiry(): number {
    let next = Infinity;
    for (const { expires } of this.leases.values()) next = Math.min(next, expires);
    return next;
  }

  private take(id: string, queue: Queue, lease: number, now: number): Taken {
    const token = this.number(id, 'token') + 1;
    const attempts = this.number(id, 'attempts') + 1;
    this.set(id, { status: 'busy', token, attempts, queue, started: now });
    this.leases.set(id, { token, expires: now + lease });
    this.publish('start', id);
    return {
      id,
      token,
      attempts,
      stalls: this.number(id, 'stalls'),
      options: text(this.jobs.get(id)?.get('options')),
      input: this.jobs.get(id)?.get('input') ?? bytes(''),
    };
  }

  private holds(id: string, token: number): boolean {
    return this.leases.get(id)?.token === token;
  }

  /** Whether this outcome was accepted before: sent again, it is accepted again. */
  private hasSettled(id: string, token: number): boolean {
    return this.number(id, 'settled') === token;
  }

  private recover(now: number): void {
    const expired = [...this.leases].filter(([, { expires }]) => expires <= now).map(([id]) => id);
    // Newest first, since each is put in front of the one before it: the oldest ends up in front.
    for (const id of expired.sort((a, b) => Number(b) - Number(a))) {
      const stalls = this.number(id, 'stalls') + 1;
      this.set(id, { stalls });
      if (stalls <= this.maxStalls) this.giveBack(id);
      else this.stalled(id, stalls, now);
    }
  }

  /** Stores the error of this attempt. */
  private note(id: string, error: JobErrorInfo): void {
    this.set(id, { [`error:${this.number(id, 'attempts')}`]: JSON.stringify(error) });
  }

  private stalled(id: string, stalls: number, now: number): void {
    const message = `stalled: the worker died or lost its lease ${stalls} times`;
    this.end(id, 'error', message, { name: 'JobStalledError', code: 'JOB_STALLED', message }, now);
  }

  private giveBack(id: string): void {
    this.leases.delete(id);
    this.set(id, { status: 'idle' });
    this.queues.giveBack(id, text(this.jobs.get(id)?.get('queue')) as Queue);
    this.wake();
  }

  private end(
    id: string,
    status: JobStatus,
    output: Payload,
    error: JobErrorInfo | undefined,
    now: number,
  ): void {
    this.leases.delete(id);
    this.set(id, { status, output, finished: now, ...(error && { error: JSON.stringify(error) }) });
    this.expiring.push({ id, at: now + this.keptFor });
    this.publish('finish', id);
  }

  private forgetExpired(now: number): void {
    for (let first = this.expiring[0]; first && first.at <= now; first = this.expiring[0]) {
      this.expiring.shift();
      if (isFinal(text(this.jobs.get(first.id)?.get('status')) as JobStatus)) this.jobs.delete(first.id);
    }
  }

  private publish(type: JobEvent['type'], id: string): void {
    for (const listener of [...this.listeners]) listener.event({ type, fn: this.name, id });
  }

  private wake(): void {
    for (const wakeUp of [...this.sleepers]) wakeUp();
  }

  set(id: string, fields: Record<string, Payload | number>): void {
    const job = this.jobs.get(id);
    for (const [field, value] of Object.entries(fields)) {
      job?.set(field, value instanceof Uint8Array ? value : bytes(String(value)));
    }
  }

  private number(id: string, field: string): number {
    return Number(text(this.jobs.get(id)?.get(field)) || 0);
  }
}
