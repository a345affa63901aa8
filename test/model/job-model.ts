import type { WaitingState } from '../../lib/gearmonkey/features/edits/drain.js';

/** Milliseconds of virtual time. */
const START = 1_000_000;
export const LEASE = 100;
export const MAX_STALLS = 2;

export const LISTS = ['high', 'normal', 'low'] as const;
export type ListName = (typeof LISTS)[number];
export type QueueName = ListName | 'scheduled';
export type Ending = 'success' | 'error' | 'retry' | 'snoozed' | 'released';

/** The stored fields of a job. */
export interface JobState {
  readonly status: string;
  readonly input: string;
  readonly token: number;
  readonly attempts: number;
  readonly stalls: number;
  readonly snoozes: number;
  readonly settled: number;
  readonly output: string;
  /** Attempts whose errors are kept. */
  readonly errors: readonly number[];
  readonly dividend: number;
  /** How often it was said to have finished. */
  readonly finishes: number;
}

/** All that is kept of a function. */
export interface Snapshot {
  readonly jobs: Readonly<Record<string, JobState>>;
  /** The next job comes first. */
  readonly lists: Readonly<Record<ListName, readonly string[]>>;
  /** Milliseconds by id. */
  readonly scheduled: Readonly<Record<string, number>>;
  /** Milliseconds by "id:token". */
  readonly leases: Readonly<Record<string, number>>;
}

/** Which job of a unique key stands for a new one; spans in ms. */
export type Rule =
  | { readonly kind: 'unfinished' | 'waiting' }
  | { readonly kind: 'throttle'; readonly span: number }
  | { readonly kind: 'debounce'; readonly span: number; readonly longest: number };

export interface Placed {
  readonly id: string;
  readonly created: boolean;
}

export interface Claimed {
  readonly id: string;
  readonly token: number;
  readonly attempts: number;
  readonly stalls: number;
  readonly snoozes: number;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type ModelJob = Writable<JobState> & { queue: QueueName };

/** The job that was created last with a unique key, and until when it throttles others. */
interface Entry {
  readonly id: string;
  readonly created: number;
  readonly until: number;
}

/** The state machine of jobs, as plainly as it can be said. */
export class JobModel {
  now = START;
  paused = false;
  private readonly jobs = new Map<string, ModelJob>();
  private readonly lists: Record<ListName, string[]> = { high: [], normal: [], low: [] };
  private readonly scheduled = new Map<string, number>();
  private readonly leases = new Map<string, number>();
  /** The last job of each unique key, and when it was created. */
  private readonly unique = new Map<string, Entry>();

  get ids(): string[] {
    return [...this.jobs.keys()];
  }

  enqueue(queue: QueueName, due: number): string {
    const id = String(this.jobs.size + 1);
    const counts = { token: 0, attempts: 0, stalls: 0, snoozes: 0, settled: 0, dividend: 0, finishes: 0 };
    this.jobs.set(id, { status: 'idle', input: 'input', output: '', errors: [], queue, ...counts });
    if (queue === 'scheduled') this.scheduled.set(id, due);
    else this.lists[queue].push(id);
    return id;
  }

  enqueueUnique(key: string, rule: Rule): Placed {
    const last = this.unique.get(key);
    if (last && this.stands(last, rule)) {
      if (rule.kind === 'debounce') {
        this.scheduled.set(last.id, Math.min(this.now + rule.span, last.created + rule.longest));
        this.job(last.id).input = inputAt(this.now);
      }
      return { id: last.id, created: false };
    }
    const id =
      rule.kind === 'debounce' ? this.enqueue('scheduled', this.now + rule.span) : this.enqueue('normal', 0);
    this.job(id).input = inputAt(this.now);
    const until = rule.kind === 'throttle' ? this.now + rule.span : 0;
    this.unique.set(key, { id, created: this.now, until });
    return { id, created: true };
  }

  private stands({ id, created, until }: Entry, rule: Rule): boolean {
    const job = this.job(id);
    if (rule.kind === 'throttle') return this.now < until && this.now - created < rule.span;
    if (rule.kind === 'unfinished') return !isFinal(job);
    if (rule.kind === 'waiting') return job.status === 'idle';
    return job.status === 'idle' && job.attempts + job.snoozes === 0 && this.scheduled.has(id);
  }

  /** Whether the outcome is accepted. */
  settle(member: string, ending: Ending, text: string, wait: number): boolean {
    const [job, token] = this.parse(member);
    if (!this.leases.delete(member)) return job.settled === token;
    job.settled = token;
    if (ending === 'released') {
      job.attempts -= 1;
      this.giveBack(member);
    } else if (ending === 'snoozed') {
      job.status = 'idle';
      job.attempts -= 1;
      job.snoozes += 1;
      this.scheduled.set(idOf(member), this.now + wait);
    } else if (ending === 'retry') {
      job.status = 'idle';
      job.errors = [...job.errors, job.attempts];
      this.scheduled.set(idOf(member), this.now + wait);
    } else {
      if (ending === 'error') job.errors = [...job.errors, job.attempts];
      finish(job, ending, text);
    }
    return true;
  }

  /** Ends expired leases: their jobs go to the front, in the order of their enqueueing. */
  recover(): void {
    const expired = [...this.leases].filter(([, at]) => at <= this.now).map(([member]) => member);
    for (const member of expired.sort((a, b) => Number(idOf(b)) - Number(idOf(a)))) {
      this.leases.delete(member);
      const [job] = this.parse(member);
      job.stalls += 1;
      if (job.stalls <= MAX_STALLS) this.giveBack(member);
      else finish(job, 'error', `stalled: the worker died or lost its lease ${job.stalls} times`);
    }
  }

  /** What was claimed is what had to be; of scheduled jobs with the same time any may come first. */
  claim(slots: number, ids: readonly string[]): Claimed[] {
    const claims = ids.map((id) => this.take(id));
    const left = this.paused ? [] : this.next();
    if (claims.length < slots && left.length > 0) throw new Error(`${left.join()} was left behind`);
    if (claims.length > slots) throw new Error(`${claims.length} jobs for ${slots} slots`);
    return claims;
  }

  renew(member: string): boolean {
    if (!this.leases.has(member)) return false;
    this.leases.set(member, this.now + LEASE);
    return true;
  }

  progress(member: string, dividend: number): boolean {
    if (!this.leases.has(member)) return false;
    this.parse(member)[0].dividend = dividend;
    return true;
  }

  cancel(id: string): string {
    const job = this.job(id);
    if (job.output === 'cancelled') return 'cancelled-before';
    if (isFinal(job)) return 'finished';
    this.leases.delete(`${id}:${job.token}`);
    this.scheduled.delete(id);
    for (const list of LISTS) this.lists[list] = this.lists[list].filter((waiting) => waiting !== id);
    finish(job, 'error', 'cancelled');
    return 'cancelled';
  }

  drain(states: readonly WaitingState[]): string[] {
    const listed = states.includes('waiting') ? LISTS.flatMap((list) => this.lists[list].splice(0)) : [];
    const chosen = [...this.scheduled.keys()].filter((id) => {
      const { attempts, snoozes } = this.job(id);
      return states.includes(attempts > 0 || snoozes > 0 ? 'retrying' : 'scheduled');
    });
    for (const id of chosen) this.scheduled.delete(id);
    for (const id of [...listed, ...chosen]) finish(this.job(id), 'error', 'drained');
    return [...listed, ...chosen];
  }

  update(id: string, input: string, queue: QueueName | undefined, due: number): string {
    const job = this.job(id);
    if (isFinal(job)) return 'finished';
    if (job.status !== 'idle' || job.attempts > 0 || job.snoozes > 0) return 'begun';
    job.input = input;
    if (queue === undefined || (queue !== 'scheduled' && this.lists[queue].includes(id))) return 'updated';
    this.scheduled.delete(id);
    for (const list of LISTS) this.lists[list] = this.lists[list].filter((waiting) => waiting !== id);
    if (queue === 'scheduled') this.scheduled.set(id, due);
    else this.lists[queue].push(id);
    return 'updated';
  }

  snapshot(): Snapshot {
    return {
      jobs: Object.fromEntries([...this.jobs].map(([id, job]) => [id, stateOf(job)])),
      lists: { high: [...this.lists.high], normal: [...this.lists.normal], low: [...this.lists.low] },
      scheduled: Object.fromEntries(this.scheduled),
      leases: Object.fromEntries(this.leases),
    };
  }

  private take(id: string): Claimed {
    const candidates = this.paused ? [] : this.next();
    if (!candidates.includes(id))
      throw new Error(`${id} was claimed; next is ${candidates.join() || 'none'}`);
    const job = this.job(id);
    job.queue = this.scheduled.delete(id) ? 'scheduled' : this.dequeue(id);
    job.status = 'busy';
    job.token += 1;
    job.attempts += 1;
    this.leases.set(`${id}:${job.token}`, this.now + LEASE);
    return { id, token: job.token, attempts: job.attempts, stalls: job.stalls, snoozes: job.snoozes };
  }

  private next(): string[] {
    const first = Math.min(...this.scheduled.values());
    if (first <= this.now) return [...this.scheduled].filter(([, due]) => due === first).map(([id]) => id);
    const list = LISTS.find((name) => this.lists[name].length > 0);
    return list ? this.lists[list].slice(0, 1) : [];
  }

  private dequeue(id: string): ListName {
    const list = LISTS.find((name) => this.lists[name][0] === id) as ListName;
    this.lists[list].shift();
    return list;
  }

  private giveBack(member: string): void {
    const id = idOf(member);
    const job = this.job(id);
    job.status = 'idle';
    if (job.queue === 'scheduled') this.scheduled.set(id, 0);
    else this.lists[job.queue].unshift(id);
  }

  private parse(member: string): [ModelJob, number] {
    return [this.job(idOf(member)), Number(member.split(':')[1])];
  }

  private job(id: string): ModelJob {
    return this.jobs.get(id) as ModelJob;
  }
}

/** The input of a unique job that is enqueued now. */
export function inputAt(now: number): string {
  return `unique at ${now}`;
}

export function isFinal({ status }: Pick<JobState, 'status'>): boolean {
  return status === 'success' || status === 'error';
}

function stateOf({ queue: _queue, ...state }: ModelJob): JobState {
  return state;
}

function finish(job: ModelJob, status: 'success' | 'error', output: string): void {
  job.status = status;
  job.output = output;
  job.finishes += 1;
}

function idOf(member: string): string {
  return member.split(':')[0] as string;
}
