/** The core refuses a call. */
export class Refused extends Error {}

export interface ModelJob {
  readonly jid: string;
  state: string;
  queue: string;
  worker: string;
  priority: number;
  retries: number;
  remaining: number;
  tags: string[];
  data: string;
  expires: number;
  /** Since when it is where it is, as the wait and run statistics count. */
  time: number;
  failure: { readonly group: string; readonly when: number } | null;
  /** Its owner was warned. */
  grace: boolean;
  /** Until when it is to be delayed once it is free. */
  scheduled: number | null;
  dependencies: Set<string>;
  history: string[];
}

interface Recurring {
  queue: string;
  interval: number;
  priority: number;
  retries: number;
  backlog: number;
  tags: readonly string[];
  count: number;
}

/** Members and scores. */
export type Scores = Map<string, number>;
export type Place = 'work' | 'locks' | 'scheduled' | 'depends' | 'recur';

export interface PutOptions {
  readonly data?: string | undefined;
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly retries?: number | undefined;
  readonly depends?: readonly string[] | undefined;
}

const DAY = 86_400;
const GRACE = 10;
const KEPT_SECONDS = 604_800;
const RANK_SCALE = 1e10;

/** The lowest score first; of the same score as their bytes compare. */
export function ranked(scores: Scores, most = Infinity): string[] {
  return [...scores]
    .filter(([, score]) => score <= most)
    .sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
    .map(([member]) => member);
}

const dayOf = (time: number) => time - (time % DAY);

/** What the commands mean, as short as it can be said: no limits of a call, no Redis, nothing left for later. */
export class CoreModel {
  readonly jobs = new Map<string, ModelJob>();
  readonly recurring = new Map<string, Recurring>();
  readonly failures = new Map<string, string[]>();
  readonly completed: Scores = new Map();
  readonly tracked: Scores = new Map();
  readonly paused = new Set<string>();
  /** By place and queue. */
  readonly places = new Map<string, Scores>();
  readonly held = new Map<string, Scores>();
  readonly tags = new Map<string, Scores>();
  readonly counts = new Map<string, number>();

  constructor(
    readonly heartbeatSeconds: number,
    readonly mostConcurrent: ReadonlyMap<string, number>,
  ) {}

  place(place: Place, queue: string): Scores {
    return setIn(this.places, `${queue}-${place}`);
  }

  heldBy(worker: string): Scores {
    return setIn(this.held, worker);
  }

  dependentsOf(jid: string): ModelJob[] {
    return [...this.jobs.values()].filter(({ dependencies }) => dependencies.has(jid));
  }

  /** Adds to a figure of a queue's day. */
  count(what: string, queue: string, when: number, by: number): void {
    const key = `${what}:${dayOf(when)}:${queue}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + by);
  }

  existing(jid: string): ModelJob {
    const job = this.jobs.get(jid);
    if (!job) throw new Refused(`no job ${jid}`);
    return job;
  }

  running(jid: string, worker: string): ModelJob {
    const job = this.existing(jid);
    if (job.state !== 'running' || job.worker !== worker) throw new Refused(`${jid} is not ${worker}'s`);
    return job;
  }

  put(now: number, queue: string, jid: string, delay: number, given: PutOptions): void {
    const job = this.jobs.get(jid) ?? blank(jid);
    this.leave(job);
    if (given.depends?.length) job.dependencies = intersection(job.dependencies, given.depends);
    this.jobs.set(jid, job);
    job.history.push('put');
    job.priority = given.priority ?? job.priority;
    job.retries = given.retries ?? job.retries;
    job.data = given.data ?? '{}';
    this.retag(job, given.tags ?? job.tags, now);
    this.enter(job, queue, now, delay, given.depends ?? []);
  }

  complete(now: number, jid: string, worker: string, queue: string): ModelJob {
    const job = this.running(jid, worker);
    if (job.queue !== queue) throw new Refused(`${jid} is in ${job.queue}`);
    this.count('run', queue, now, 1);
    this.count('runtime', queue, now, now - job.time);
    this.leave(job);
    Object.assign(job, { failure: null, data: '{}' });
    job.history.push('done');
    return job;
  }

  /** Completes it for good. */
  end(now: number, job: ModelJob): void {
    Object.assign(job, { state: 'complete', queue: '', remaining: job.retries, time: now });
    this.completed.set(job.jid, now);
    for (const dependent of this.dependentsOf(job.jid)) this.undepend(dependent, [job.jid], now);
    for (const old of ranked(this.completed, now - KEPT_SECONDS)) this.remove(this.existing(old));
  }

  /** Puts it where it starts over: with all its retries. */
  enter(job: ModelJob, queue: string, now: number, delay: number, depends: readonly string[]): void {
    for (const on of depends) {
      const state = this.jobs.get(on)?.state;
      if (on !== job.jid && state && state !== 'complete') job.dependencies.add(on);
    }
    Object.assign(job, { queue, remaining: job.retries, time: now });
    if (job.dependencies.size === 0) return this.line(job, now, delay > 0 ? now + delay : null);
    job.state = 'depends';
    this.place('depends', queue).set(job.jid, now);
    job.scheduled = delay > 0 ? now + delay : null;
  }

  /** Lets it wait for its time, or for a worker. */
  line(job: ModelJob, now: number, due: number | null): void {
    job.state = due === null ? 'waiting' : 'scheduled';
    if (due === null) this.place('work', job.queue).set(job.jid, job.priority - now / RANK_SCALE);
    else this.place('scheduled', job.queue).set(job.jid, due);
  }

  /** Removes it from all queues, locks and workers. */
  leave(job: ModelJob): void {
    for (const place of ['work', 'locks', 'scheduled', 'depends'] as const) {
      this.place(place, job.queue).delete(job.jid);
    }
    this.heldBy(job.worker).delete(job.jid);
    this.completed.delete(job.jid);
    if (job.state === 'failed' && job.failure) {
      this.unfile(job.failure.group, job.jid);
      this.count('failed', job.queue, job.failure.when, -1);
    }
    Object.assign(job, { worker: '', expires: 0, grace: false, scheduled: null });
  }

  fail(now: number, job: ModelJob, group: string, when = Math.floor(now)): void {
    this.leave(job);
    job.state = 'failed';
    job.failure = { group, when };
    job.history.push('failed');
    this.failures.set(group, [job.jid, ...(this.failures.get(group) ?? [])]);
    this.count('failed', job.queue, now, 1);
    this.count('failures', job.queue, now, 1);
  }

  unfile(group: string, jid: string): void {
    const rest = (this.failures.get(group) ?? []).filter((other) => other !== jid);
    if (rest.length > 0) this.failures.set(group, rest);
    else this.failures.delete(group);
  }

  undepend(job: ModelJob, on: readonly string[], now: number): void {
    for (const jid of on) job.dependencies.delete(jid);
    if (job.dependencies.size > 0) return;
    this.place('depends', job.queue).delete(job.jid);
    const due = job.scheduled !== null && job.scheduled > now ? job.scheduled : null;
    job.scheduled = null;
    this.line(job, now, due);
  }

  /** Gives it these tags and no others; `named` are the ones that it is given now. */
  retag(job: ModelJob, tags: readonly string[], now: number, named = tags): void {
    for (const tag of job.tags) if (!tags.includes(tag)) setIn(this.tags, tag).delete(job.jid);
    for (const tag of named) setIn(this.tags, tag).set(job.jid, now);
    job.tags = [...new Set(tags)];
  }

  remove(job: ModelJob): void {
    this.leave(job);
    this.retag(job, [], 0);
    this.jobs.delete(job.jid);
  }

  /** Locks of the queue that have expired: owners not yet warned are warned, the others lose the job. Returns the jobs to claim. */
  expire(now: number, queue: string, count: number): { taken: ModelJob[]; warned: number } {
    const locks = this.place('locks', queue);
    const taken: ModelJob[] = [];
    let warned = 0;
    for (const jid of ranked(locks, now).slice(0, count)) {
      const job = this.existing(jid);
      this.heldBy(job.worker).delete(jid);
      if (!job.grace) {
        warned += 1;
        job.grace = true;
        job.history.push('timed-out');
        this.count('retries', queue, now, 1);
        locks.set(jid, now + GRACE);
        continue;
      }
      job.grace = false;
      job.remaining -= 1;
      if (job.remaining < 0) this.fail(now, job, `failed-retries-${queue}`, now);
      else taken.push(job);
    }
    return { taken, warned };
  }

  /** Children of recurring jobs, then scheduled jobs, that are due go to work. */
  promote(now: number, queue: string, limit: number): void {
    if (limit <= 0) return;
    let left = limit;
    for (const jid of ranked(this.place('recur', queue), now).slice(0, limit)) {
      left -= this.spawn(now, queue, jid, left);
    }
    for (const jid of ranked(this.place('scheduled', queue), now).slice(0, limit)) {
      this.place('scheduled', queue).delete(jid);
      this.line(this.existing(jid), now, null);
    }
  }

  private spawn(now: number, queue: string, jid: string, limit: number): number {
    const recurring = this.recurring.get(jid);
    if (!recurring || limit <= 0) return 0;
    const { interval, backlog } = recurring;
    let next = Math.floor(this.place('recur', queue).get(jid) ?? 0);
    const missed = (now - next) / interval;
    if (backlog > 0 && missed > backlog) next += Math.ceil(missed - backlog) * interval;
    let spawned = 0;
    for (; next <= now && spawned < limit; next += interval) {
      do recurring.count += 1;
      while (this.jobs.has(`${jid}-${recurring.count}`));
      const { priority, retries, tags } = recurring;
      const child = `${jid}-${recurring.count}`;
      this.put(next, queue, child, 0, { priority, retries });
      this.retag(this.existing(child), tags, now);
      spawned += 1;
    }
    this.place('recur', queue).set(jid, next);
    return spawned;
  }
}

function blank(jid: string): ModelJob {
  return {
    ...{
      jid,
      state: '',
      queue: '',
      worker: '',
      priority: 0,
      retries: 5,
      remaining: 5,
      tags: [],
      data: '',
      expires: 0,
    },
    ...{ time: 0, failure: null, grace: false, scheduled: null, dependencies: new Set(), history: [] },
  };
}

function setIn(sets: Map<string, Scores>, name: string): Scores {
  const set = sets.get(name) ?? new Map<string, number>();
  sets.set(name, set);
  return set;
}

function intersection(set: ReadonlySet<string>, list: readonly string[]): Set<string> {
  return new Set(list.filter((item) => set.has(item)));
}
