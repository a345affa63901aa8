import type { Payload } from '../job/codec.js';
import { isFinal, type JobEvent, type JobStatus } from '../job/job.js';
import type { JobErrorInfo } from '../job/errors.js';
import { JOB_TTL_SECONDS, type Queue } from '../gearmonkey/protocol.js';
import type { JobListener, Placement, StoredJob } from '../gearmonkey/job-store.js';

type Listed = Exclude<Queue, 'scheduled'>;

interface Lease {
  readonly token: number;
  expires: number;
}

/** What a job is taken with. */
export interface Taken {
  readonly id: string;
  readonly token: number;
  readonly attempts: number;
  readonly input: Uint8Array;
}

const LISTED: readonly Listed[] = ['high', 'normal', 'low'];

/** One function of the embedded server: the same state that Redis would hold for it, and the same moves. */
export class MemoryFunction {
  readonly listeners = new Set<JobListener>();
  /** Woken when there may be something to claim. */
  readonly sleepers = new Set<() => void>();
  workers = 0;
  private lastId = 0;
  private readonly jobs = new Map<string, Map<string, Uint8Array>>();
  private readonly queues: Record<Listed, Set<string>> = {
    high: new Set(),
    normal: new Set(),
    low: new Set(),
  };
  /** Given back: they go before their queue. */
  private readonly fronts: Record<Listed, string[]> = { high: [], normal: [], low: [] };
  private scheduled: { readonly id: string; readonly due: number }[] = [];
  private readonly leases = new Map<string, Lease>();
  /** Finished jobs in the order they expire. */
  private readonly expiring: { readonly id: string; readonly at: number }[] = [];

  constructor(
    private readonly name: string,
    private readonly maxStalls: number,
  ) {}

  enqueue(input: Payload, { queue, score }: Placement, now: number): string {
    const id = String((this.lastId += 1));
    const job = new Map([
      ['status', bytes('idle')],
      ['input', typeof input === 'string' ? bytes(input) : input],
      ['created', bytes(String(now))],
    ]);
    if (score !== undefined) job.set('due', bytes(String(score * 1000)));
    this.jobs.set(id, job);
    if (queue === 'scheduled') this.schedule(id, (score ?? 0) * 1000);
    else this.queues[queue].add(id);
    this.publish('create', id);
    this.wake();
    return id;
  }

  read(id: string, now: number): StoredJob | undefined {
    this.forgetExpired(now);
    const job = this.jobs.get(id);
    return job && new Map(job);
  }

  /** Up to `slots` jobs: due scheduled ones, then high, normal, low. */
  claim(slots: number, lease: number, now: number): Taken[] {
    this.recover(now);
    this.forgetExpired(now);
    const taken: Taken[] = [];
    while (taken.length < slots) {
      const next = this.next(now);
      if (!next) break;
      taken.push(this.take(next.id, next.queue, lease, now));
    }
    return taken;
  }

  /** Whether this token still held its job. */
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
    this.end(id, status, output, error, now);
    return true;
  }

  /** Back to the front of its queue; this attempt doesn't count. */
  release(id: string, token: number): boolean {
    if (!this.holds(id, token)) return this.hasSettled(id, token);
    this.set(id, { attempts: this.number(id, 'attempts') - 1, settled: token });
    this.giveBack(id);
    return true;
  }

  /** Milliseconds until the next scheduled job is due or the next lease ends. */
  outlook(now: number): number {
    const due = this.scheduled[0]?.due ?? Infinity;
    const expiry = Math.min(...[...this.leases.values()].map(({ expires }) => expires));
    return Math.max(0, Math.min(due, expiry) - now);
  }

  /** Removes what runs next. */
  private next(now: number): { id: string; queue: Queue } | undefined {
    const first = this.scheduled[0];
    if (first && first.due <= now) {
      this.scheduled.shift();
      return { id: first.id, queue: 'scheduled' };
    }
    for (const queue of LISTED) {
      const id = this.fronts[queue].pop() ?? this.queues[queue].values().next().value;
      if (id === undefined) continue;
      this.queues[queue].delete(id);
      return { id, queue };
    }
    return undefined;
  }

  private take(id: string, queue: Queue, lease: number, now: number): Taken {
    const token = this.number(id, 'token') + 1;
    const attempts = this.number(id, 'attempts') + 1;
    this.set(id, { status: 'busy', token, attempts, queue, started: now });
    this.leases.set(id, { token, expires: now + lease });
    this.publish('start', id);
    return { id, token, attempts, input: this.jobs.get(id)?.get('input') ?? bytes('') };
  }

  private holds(id: string, token: number): boolean {
    return this.leases.get(id)?.token === token;
  }

  /** An outcome sent again: what was accepted once stays accepted. */
  private hasSettled(id: string, token: number): boolean {
    return this.number(id, 'settled') === token;
  }

  private recover(now: number): void {
    for (const [id, { expires }] of this.leases) {
      if (expires > now) continue;
      const stalls = this.number(id, 'stalls') + 1;
      this.set(id, { stalls });
      if (stalls <= this.maxStalls) this.giveBack(id);
      else this.stalled(id, stalls, now);
    }
  }

  private stalled(id: string, stalls: number, now: number): void {
    const message = `stalled: the worker died or lost its lease ${stalls} times`;
    this.end(id, 'error', message, { name: 'JobStalledError', code: 'JOB_STALLED', message }, now);
  }

  private giveBack(id: string): void {
    this.leases.delete(id);
    this.set(id, { status: 'idle' });
    const queue = text(this.jobs.get(id)?.get('queue')) as Queue;
    if (queue === 'scheduled') this.schedule(id, 0);
    else this.fronts[queue].push(id);
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
    this.set(id, { status, output, finished: now, ...(error ? { error: JSON.stringify(error) } : {}) });
    this.expiring.push({ id, at: now + JOB_TTL_SECONDS * 1000 });
    this.publish('finish', id);
  }

  private schedule(id: string, due: number): void {
    const at = this.scheduled.findLastIndex((entry) => entry.due <= due) + 1;
    this.scheduled.splice(at, 0, { id, due });
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

  private set(id: string, fields: Record<string, Payload | number>): void {
    const job = this.jobs.get(id);
    for (const [field, value] of Object.entries(fields)) {
      job?.set(field, value instanceof Uint8Array ? value : bytes(String(value)));
    }
  }

  private number(id: string, field: string): number {
    return Number(text(this.jobs.get(id)?.get(field)) || 0);
  }
}

function bytes(value: string): Uint8Array {
  return Buffer.from(value);
}

function text(value: Uint8Array | undefined): string {
  return value ? Buffer.from(value).toString() : '';
}
