import type { Payload } from '../job/codec.js';
import type { JobEvent, JobStatus } from '../job/job.js';
import type { JobErrorInfo } from '../job/errors.js';
import { JOB_TTL_SECONDS, type Queue } from '../gearmonkey/wire/protocol.js';
import { bytes } from './fields.js';
import { MemoryJobs, type Taken } from './memory-jobs.js';
import { MemoryControl } from './memory-control.js';
import { MemoryQueues } from './memory-queues.js';
import { FunctionSchedules } from './memory-schedule.js';
import { MemoryUnique } from './memory-unique.js';
import type { JobListener, Placement } from '../gearmonkey/client/job-store.js';
import type { Cancellation } from '../gearmonkey/wire/scripts.js';
import type { StoredJob } from '../gearmonkey/wire/stored-job.js';

interface Lease {
  readonly token: number;
  expires: number;
}

/** One function of the embedded server. It has the state and the operations that a function has on Redis. */
export class MemoryFunction {
  readonly listeners = new Set<JobListener>();
  /** Called when a running job was cancelled. */
  readonly cancellations = new Set<(id: string, token: number) => void>();
  /** Called when there may be a job to claim. */
  readonly sleepers = new Set<() => void>();
  readonly schedules = new FunctionSchedules();
  workers = 0;
  lastId = 0;
  readonly jobs: MemoryJobs;
  readonly queues = new MemoryQueues();
  readonly control = new MemoryControl(() => this.wake());
  readonly unique = new MemoryUnique(this);
  private readonly leases = new Map<string, Lease>();

  constructor(
    private readonly name: string,
    private readonly maxStalls: number,
    keptFor = JOB_TTL_SECONDS * 1000,
  ) {
    this.jobs = new MemoryJobs(keptFor);
  }

  enqueue(input: Payload, { queue, score, options }: Placement, now: number): string {
    const id = String((this.lastId += 1));
    const due = score === undefined ? undefined : score * 1000;
    this.jobs.create(id, { status: 'idle', input, created: now, options, due });
    if (queue === 'scheduled') this.queues.schedule(id, (score ?? 0) * 1000);
    else this.queues.add(id, queue);
    this.publish('create', id);
    this.wake();
    return id;
  }

  read(id: string, now: number): StoredJob | undefined {
    this.jobs.forgetExpired(now);
    return this.jobs.read(id);
  }

  /** Claims up to `slots` jobs (due scheduled jobs first, then high, normal and low), or the one named by `only`. */
  claim(slots: number, lease: number, now: number, only?: string): Taken[] {
    this.recover(now);
    this.jobs.forgetExpired(now);
    const taken: Taken[] = [];
    while (taken.length < slots && !this.control.isPaused) {
      const next = this.queues.next(now, only);
      if (!next) break;
      // A job that was ended for a client that waited for it is still in its queue.
      if (this.expire(next.id, now) !== 0) taken.push(this.take(next.id, next.queue, lease, now));
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
    this.jobs.set(id, { 'status:dividend': dividend, 'status:divisor': divisor });
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
    this.jobs.set(id, { settled: token });
    if (error) this.note(id, error);
    this.end(id, status, output, error, now);
    return true;
  }

  /** Puts a failed job into `scheduled`, where it waits for its next attempt. */
  retry(id: string, token: number, error: JobErrorInfo, delay: number, now: number): boolean {
    if (!this.holds(id, token)) return this.hasSettled(id, token);
    this.note(id, error);
    return this.runLater(id, token, now + delay);
  }

  /** Schedules a job again; this attempt doesn't count. */
  snooze(id: string, token: number, delay: number, now: number): boolean {
    if (!this.holds(id, token)) return this.hasSettled(id, token);
    this.jobs.set(id, {
      attempts: this.jobs.number(id, 'attempts') - 1,
      snoozes: this.jobs.number(id, 'snoozes') + 1,
    });
    return this.runLater(id, token, now + delay);
  }

  /** Cancels a job. If it runs, its worker is notified, and its outcome will be refused. */
  cancel(id: string, error: JobErrorInfo, now: number): Cancellation {
    if (!this.jobs.has(id)) return 'missing';
    if (this.jobs.isFinal(id)) {
      return this.jobs.text(id, 'error') === JSON.stringify(error) ? 'cancelled' : 'finished';
    }
    const token = this.leases.get(id)?.token;
    this.queues.remove(id);
    this.end(id, 'error', error.message, error, now);
    if (token !== undefined) for (const tell of [...this.cancellations]) tell(id, token);
    return 'cancelled';
  }

  /** Ends a job that no worker began before it expired. Returns the same as JobStore.expire. */
  expire(id: string, now: number): number {
    if (!this.jobs.has(id)) return -1;
    if (this.jobs.isFinal(id)) return 0;
    const expires = this.jobs.expiryOf(id);
    if (expires === undefined || this.jobs.isBegun(id)) return -1;
    if (now < expires) return expires - now;
    const message = 'expired: no worker began it in time';
    this.end(id, 'error', message, { name: 'JobExpiredError', code: 'JOB_EXPIRED', message }, now);
    return 0;
  }

  /** Puts a job back at the front of its queue; this attempt doesn't count. */
  release(id: string, token: number): boolean {
    if (!this.holds(id, token)) return this.hasSettled(id, token);
    this.jobs.set(id, { attempts: this.jobs.number(id, 'attempts') - 1, settled: token });
    this.giveBack(id);
    return true;
  }

  /** Milliseconds until the next scheduled job is due or the next lease ends. */
  outlook(now: number): number {
    const due = this.control.isPaused ? Infinity : this.queues.nextDue;
    return Math.max(0, Math.min(due, this.nextExpiry) - now);
  }

  /** When the next lease ends, in ms since 1970. */
  get nextExpiry(): number {
    let next = Infinity;
    for (const { expires } of this.leases.values()) next = Math.min(next, expires);
    return next;
  }

  private take(id: string, queue: Queue, lease: number, now: number): Taken {
    const token = this.jobs.number(id, 'token') + 1;
    const attempts = this.jobs.number(id, 'attempts') + 1;
    this.jobs.set(id, { status: 'busy', token, attempts, queue, started: now });
    this.leases.set(id, { token, expires: now + lease });
    this.publish('start', id);
    return {
      id,
      token,
      attempts,
      stalls: this.jobs.number(id, 'stalls'),
      snoozes: this.jobs.number(id, 'snoozes'),
      options: this.jobs.text(id, 'options'),
      input: this.jobs.bytes(id, 'input') ?? bytes(''),
    };
  }

  private runLater(id: string, token: number, due: number): true {
    this.leases.delete(id);
    this.jobs.set(id, { status: 'idle', settled: token });
    this.queues.schedule(id, due);
    this.wake();
    return true;
  }

  private holds(id: string, token: number): boolean {
    return this.leases.get(id)?.token === token;
  }

  /** Whether this outcome was accepted before: sent again, it is accepted again. */
  private hasSettled(id: string, token: number): boolean {
    return this.jobs.number(id, 'settled') === token;
  }

  private recover(now: number): void {
    const expired = [...this.leases].filter(([, { expires }]) => expires <= now).map(([id]) => id);
    // Newest first, since each is put in front of the one before it: the oldest ends up in front.
    for (const id of expired.sort((a, b) => Number(b) - Number(a))) {
      const stalls = this.jobs.number(id, 'stalls') + 1;
      this.jobs.set(id, { stalls });
      if (stalls <= this.maxStalls) this.giveBack(id);
      else this.stalled(id, stalls, now);
    }
  }

  /** Stores the error of this attempt. */
  private note(id: string, error: JobErrorInfo): void {
    this.jobs.set(id, { [`error:${this.jobs.number(id, 'attempts')}`]: JSON.stringify(error) });
  }

  private stalled(id: string, stalls: number, now: number): void {
    const message = `stalled: the worker died or lost its lease ${stalls} times`;
    this.end(id, 'error', message, { name: 'JobStalledError', code: 'JOB_STALLED', message }, now);
  }

  private giveBack(id: string): void {
    this.leases.delete(id);
    this.jobs.set(id, { status: 'idle' });
    this.queues.giveBack(id, this.jobs.text(id, 'queue') as Queue);
    this.wake();
  }

  end(id: string, status: JobStatus, output: Payload, error: JobErrorInfo | undefined, now: number): void {
    this.leases.delete(id);
    this.jobs.set(id, { status, output, finished: now, ...(error && { error: JSON.stringify(error) }) });
    this.jobs.expireLater(id, now);
    this.publish('finish', id);
  }

  private publish(type: JobEvent['type'], id: string): void {
    for (const listener of [...this.listeners]) listener.event({ type, fn: this.name, id });
  }

  /** There may be a job to claim. */
  wake(): void {
    for (const wakeUp of [...this.sleepers]) wakeUp();
  }
}
