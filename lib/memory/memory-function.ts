import type { Payload } from '../job/codec.js';
import type { JobEvent } from '../job/job.js';
import type { JobErrorInfo } from '../job/errors.js';
import type { Queue } from '../gearmonkey/core/wire/protocol.js';
import { Leases } from './leases.js';
import { LimitCounts } from './limit-counts.js';
import { MemoryJobs, type Taken } from './memory-jobs.js';
import { MemoryLimits } from './memory-limits.js';
import { MemoryLists } from './memory-lists.js';
import type { ClaimOptions, MemoryFunctionOptions } from './memory-function-options.js';
import { WaitingJobs } from './waiting-jobs.js';
import { MemoryControl } from './memory-control.js';
import { FunctionSchedules } from './memory-schedule.js';
import { waitOfSignals } from './memory-signals.js';
import { MemoryUnique } from './memory-unique.js';
import type { JobListener, Placement } from '../gearmonkey/core/client/job-store.js';
import type { Cancellation } from '../gearmonkey/core/wire/scripts.js';
import type { JobStatus, StoredJob } from '../gearmonkey/core/wire/stored-job.js';

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
  readonly limits: MemoryLimits;
  readonly waiting: WaitingJobs;
  readonly leases = new Leases();
  readonly control = new MemoryControl(() => this.wake());
  readonly unique = new MemoryUnique(this);
  readonly lists: MemoryLists;

  constructor(
    private readonly name: string,
    private readonly options: MemoryFunctionOptions,
  ) {
    this.jobs = new MemoryJobs(options.onDelete);
    const shared = options.sharedLimit ?? (() => new LimitCounts());
    this.limits = new MemoryLimits(this.jobs, shared, () => this.wake(), this);
    this.waiting = new WaitingJobs(this.jobs, this.limits);
    this.lists = new MemoryLists(this.jobs, options.keep, options.isHeld);
  }

  /** The id of the next job that is enqueued. */
  get nextId(): string {
    return String(this.lastId + 1);
  }

  /** @param key what the job is limited by */
  enqueue(input: Payload, { queue, score, options }: Placement, now: number, key?: string): string {
    const id = String((this.lastId += 1));
    const due = score === undefined ? undefined : Math.round(score * 1000);
    this.jobs.create(id, { status: 'idle', input, created: now, options, due, key });
    this.waiting.add(id, queue, due ?? 0, key, now);
    this.publish('create', id);
    this.wake();
    return id;
  }

  /** A job that waits for others: not an event yet. */
  enqueueLater(input: Payload, { options, score = Infinity }: Placement, now: number): string {
    const id = String((this.lastId += 1));
    this.jobs.create(id, { status: 'idle', input, created: now, options });
    this.waiting.add(id, 'scheduled', score, undefined, now);
    return id;
  }

  read(id: string, now: number): StoredJob | undefined {
    this.lists.trim(now);
    return this.jobs.read(id);
  }

  /** Claims up to `slots` jobs: due scheduled jobs first, then high, normal and low. */
  claim(slots: number, lease: number, now: number, { only, keyOf }: ClaimOptions = {}): Taken[] {
    this.limits.recoverAll(now);
    this.lists.trim(now);
    this.limits.pass(now);
    if (keyOf) this.waiting.file(keyOf, (id, error) => this.end(id, 'error', error.message, error, now), now);
    const taken: Taken[] = [];
    while (taken.length < slots && !this.control.isPaused) {
      const next = this.waiting.next(now, only);
      if (!next) break;
      const job = this.take(next.id, next.queue, lease, now);
      if (job) taken.push(job);
    }
    if (only === undefined && slots > 0) this.limits.asked(taken.length < slots);
    return taken;
  }

  /** Renews the lease. Returns whether this token still held it. */
  renew(id: string, token: number, lease: number, now: number): boolean {
    return this.leases.renew(id, token, now + lease);
  }

  progress(id: string, token: number, dividend: number, divisor: number): boolean {
    if (!this.leases.holds(id, token)) return false;
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
    if (!this.leases.holds(id, token)) return this.jobs.hasSettled(id, token);
    this.jobs.set(id, { settled: token });
    if (error) this.jobs.note(id, error);
    this.end(id, status, output, error, now);
    return true;
  }

  /** Puts a failed job into `scheduled`, where it waits for its next attempt. */
  retry(id: string, token: number, error: JobErrorInfo, delay: number, now: number): boolean {
    if (!this.leases.holds(id, token)) return this.jobs.hasSettled(id, token);
    this.jobs.note(id, error);
    this.lists.retry(id, now + delay);
    return this.runLater(id, token, 'retry', now + waitOfSignals(this, id, [], delay), now);
  }

  /** Schedules a job again; this attempt doesn't count. */
  snooze(id: string, token: number, delay: number, now: number, signals: readonly string[] = []): boolean {
    if (!this.leases.holds(id, token)) return this.jobs.hasSettled(id, token);
    const { jobs } = this;
    jobs.set(id, { attempts: jobs.number(id, 'attempts') - 1, snoozes: jobs.number(id, 'snoozes') + 1 });
    return this.runLater(id, token, 'due', now + waitOfSignals(this, id, signals, delay), now);
  }

  /** Cancels a job. If it runs, its worker is notified, and its outcome will be refused. */
  cancel(id: string, error: JobErrorInfo, now: number): Cancellation {
    if (!this.jobs.has(id)) return 'missing';
    if (this.jobs.isFinal(id)) {
      return this.jobs.text(id, 'error') === JSON.stringify(error) ? 'cancelled' : 'finished';
    }
    const token = this.leases.tokenOf(id);
    this.waiting.remove(id, now);
    this.end(id, 'error', error.message, error, now, true);
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

  /** Puts a job back at the front of its queue; this attempt doesn't count. No job of its key starts for `hold` ms. */
  release(id: string, token: number, now: number, hold = 0): boolean {
    if (!this.leases.holds(id, token)) return this.jobs.hasSettled(id, token);
    if (hold > 0) this.limits.hold(id, now + hold, now);
    this.jobs.set(id, { attempts: this.jobs.number(id, 'attempts') - 1, settled: token });
    this.giveBack(id, now);
    return true;
  }

  /** Milliseconds until the next scheduled job is due or the next lease ends. */
  outlook(now: number): number {
    const due = this.control.isPaused ? Infinity : this.waiting.nextDue;
    return Math.max(0, Math.min(due, this.leases.nextExpiry) - now);
  }

  private take(id: string, queue: Queue, lease: number, now: number): Taken | undefined {
    if (!this.jobs.has(id)) return void this.limits.finish(id, now);
    // A job that was ended for a client that waited for it is still in its queue.
    if (this.expire(id, now) === 0) return undefined;
    if (queue !== 'scheduled') this.limits.start(id, queue, now);
    const taken = this.jobs.begin(id, queue, now);
    this.leases.set(id, taken.token, now + lease);
    this.publish('start', id);
    return taken;
  }

  private runLater(id: string, token: number, field: 'due' | 'retry', due: number, now: number): true {
    this.leases.delete(id);
    this.jobs.set(id, { status: 'idle', settled: token, [field]: due });
    if (this.jobs.has(id)) this.waiting.runLater(id, due, now);
    else this.limits.finish(id, now);
    this.wake();
    return true;
  }

  recover(now: number): void {
    // Newest first, since each is put in front of the one before it: the oldest ends up in front.
    for (const id of this.leases.expired(now).sort((a, b) => Number(b) - Number(a))) {
      const stalls = this.jobs.number(id, 'stalls') + 1;
      this.jobs.set(id, { stalls });
      this.options.onStalled?.(stalls > this.options.maxStalls, now);
      if (stalls <= this.options.maxStalls) this.giveBack(id, now);
      else this.stalled(id, stalls, now);
    }
  }

  private stalled(id: string, stalls: number, now: number): void {
    const message = `stalled: the worker died or lost its lease ${stalls} times`;
    this.end(id, 'error', message, { name: 'JobStalledError', code: 'JOB_STALLED', message }, now);
  }

  private giveBack(id: string, now: number): void {
    this.leases.delete(id);
    this.jobs.set(id, { status: 'idle' });
    if (this.jobs.has(id)) this.waiting.giveBack(id, this.jobs.text(id, 'queue') as Queue, now);
    else this.limits.finish(id, now);
    this.wake();
  }

  end(
    id: string,
    status: JobStatus,
    output: Payload,
    error: JobErrorInfo | undefined,
    now: number,
    isCancelled = false,
  ): void {
    this.leases.delete(id);
    const why = error && JSON.stringify(error);
    this.jobs.set(id, { status, output, finished: now, error: why, cancelled: isCancelled ? 1 : undefined });
    this.lists.end(id, isCancelled ? 'cancelled' : status === 'success' ? 'succeeded' : 'failed', now);
    this.limits.finish(id, now);
    this.publish('finish', id);
    this.options.onEnd?.(id, status === 'success', now);
  }

  publish(type: JobEvent['type'], id: string): void {
    for (const listener of [...this.listeners]) listener.event({ type, fn: this.name, id });
  }

  /** There may be a job to claim. */
  wake(): void {
    for (const wakeUp of [...this.sleepers]) wakeUp();
  }
}
