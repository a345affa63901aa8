import { LISTS, type Ending, type ListName } from './job-model.js';

export const LEASE = 60_000;
export const MAX_STALLS = 2;

export type LimitedEnding = Ending | 'held';

export interface Rules {
  readonly order: 'fair' | 'strict';
  readonly concurrency?: number;
  readonly rate?: { readonly max: number; readonly per: number };
  /** Whether the numbers are those of a limit with a name of its own. */
  readonly isShared?: boolean;
}

export type Numbers = Pick<Rules, 'concurrency' | 'rate'>;

interface Job {
  readonly id: string;
  readonly key: string;
  readonly list: ListName;
  /** Jobs that were enqueued without a key have it once a claim has given it to them. */
  isFiled: boolean;
  /** Whether jobs that come later have to wait behind it: it is neither scheduled nor without a key at first. */
  isInOrder: boolean;
  expires: number | undefined;
  state: 'waiting' | 'running' | 'ended';
  due: number;
  leaseEnd: number;
  token: number;
  settled: number;
  attempts: number;
  snoozes: number;
  stalls: number;
  isDeleted: boolean;
  /** When it started last. */
  startedAt: number;
}

interface Key {
  starts: { readonly at: number; readonly tick: number }[];
  heldUntil: number;
  /** The same, for the outcome of a job whose hash was deleted. */
  mayBeHeldUntil: number;
  /** The job that began under the strict order and has not ended. */
  holder: Job | undefined;
  /** Jobs that had begun when the order became strict: until they end, either is right. */
  before: Job[];
}

/**
 * What was done to the jobs of a function with a limit, and what must not come of it. Where a server may act now or
 * later, such as for a job whose hash was deleted, the ledger takes either.
 */
export class LimitLedger {
  now = 1_000_000;
  rules: Rules;
  /** Numbers that were set at run time, of the function's own limit and of the shared one. */
  private readonly changed = new Map<boolean, Numbers | undefined>();
  /** When the function began to use its own limit or the shared one: what counted before may count or not. */
  private movedAt = 0;
  private changedAt = 0;
  /** Counts what happens, for the order of turns. */
  private tick = 1;
  private readonly jobs = new Map<string, Job>();
  private readonly keys = new Map<string, Key>();
  /** By priority and key. */
  private readonly served = new Map<string, number>();
  private readonly readySince = new Map<string, number>();

  constructor(rules: Rules) {
    this.rules = rules;
  }

  get ids(): string[] {
    return [...this.jobs.keys()];
  }

  get unfinished(): string[] {
    return this.all((job) => job.state !== 'ended' && !this.isGone(job)).map(({ id }) => id);
  }

  /** Whether a claim has to find a job that has a key; `atOnce`: one that did not have to be due first. */
  isReady(atOnce: boolean): boolean {
    return (
      this.all((job) => !(atOnce && job.due > 0) && job.isFiled && this.mayStart(job) && this.isFree(job))
        .length > 0
    );
  }

  /** Whether keys may become free to start jobs by the passing of time. */
  get mayOpen(): boolean {
    const isHeld = [...this.keys.values()].some(({ mayBeHeldUntil }) => mayBeHeldUntil > 0);
    return isHeld || this.numbers.rate !== undefined;
  }

  add(id: string, job: Pick<Job, 'key' | 'list' | 'isFiled' | 'isInOrder' | 'expires' | 'due'>): void {
    const counts = { token: 0, settled: 0, attempts: 0, snoozes: 0, stalls: 0 };
    this.jobs.set(id, {
      id,
      ...job,
      ...counts,
      state: 'waiting',
      leaseEnd: 0,
      isDeleted: false,
      startedAt: 0,
    });
    this.observe();
  }

  setRules(rules: Rules): void {
    const becomesStrict = rules.order === 'strict' && this.rules.order === 'fair';
    for (const [name, key] of this.keys) {
      if (rules.order === 'fair') key.holder = undefined;
      if (becomesStrict)
        key.before = this.all((job) => job.key === name && job.token > 0 && job.state !== 'ended');
    }
    if (isShared(rules) !== isShared(this.rules)) {
      this.movedAt = this.tick;
      for (const key of this.keys.values()) key.heldUntil = 0;
    }
    this.rules = rules;
    this.changedAt = this.tick;
    this.observe();
  }

  change(numbers: Numbers | undefined): void {
    this.changed.set(isShared(this.rules), numbers);
    this.changedAt = this.tick;
    this.observe();
  }

  pass(ms: number): void {
    this.now += ms;
    this.observe();
  }

  /** Whether the outcome must be accepted; undefined if either is right. */
  settle(member: string, ending: LimitedEnding, wait: number): boolean | undefined {
    const [id = '', token] = member.split(':');
    const job = this.job(id);
    const holds = job.state === 'running' && job.token === Number(token);
    if (!holds) return job.isDeleted ? undefined : job.settled === Number(token);
    job.settled = job.token;
    const key = this.key(job.key);
    const until = this.now + wait;
    if (ending === 'held') key.mayBeHeldUntil = Math.max(key.mayBeHeldUntil, until);
    if (job.isDeleted) this.end(job);
    else if (ending === 'success' || ending === 'error') this.end(job);
    else {
      job.state = 'waiting';
      if (ending !== 'retry') job.attempts -= 1;
      if (ending === 'snoozed') job.snoozes += 1;
      job.due = ending === 'retry' || ending === 'snoozed' ? until : 0;
      if (ending === 'held') key.heldUntil = Math.max(key.heldUntil, until);
    }
    this.observe();
    return job.isDeleted ? undefined : true;
  }

  recover(): void {
    for (const job of this.all(({ state, leaseEnd }) => state === 'running' && leaseEnd <= this.now)) {
      job.stalls += 1;
      if (job.isDeleted || job.stalls > MAX_STALLS) this.end(job);
      else Object.assign(job, { state: 'waiting', due: 0 });
    }
    this.observe();
  }

  /** Whether it must be cancelled; undefined if either is right. */
  cancel(id: string): boolean | undefined {
    const job = this.job(id);
    if (job.isDeleted) return undefined;
    const must = this.isGone(job) ? undefined : job.state !== 'ended';
    this.end(job);
    this.observe();
    return must;
  }

  /** What is wrong with an operator's retry, which the server did or did not do: of jobs that have failed in any way. */
  retry(id: string, isDone: boolean): string[] {
    const job = this.job(id);
    const wasOver = job.state === 'ended' || this.isGone(job);
    if (!isDone) return [];
    this.end(job);
    const fresh = { attempts: 0, snoozes: 0, stalls: 0, due: 0, expires: undefined, isInOrder: false };
    Object.assign(job, fresh, { state: 'waiting' });
    this.observe();
    return wasOver && !job.isDeleted ? [] : [`${id} was retried, which had not ended`];
  }

  delete(id: string): void {
    const job = this.job(id);
    job.isDeleted = true;
    this.observe();
  }

  /** Checks what one claim has taken, in its order. */
  claim(slots: number, claims: readonly { readonly id: string; readonly token: number }[]): string[] {
    const wrong = claims.flatMap(({ id, token }) => this.take(id, token));
    // A claim that has filled its slots may leave jobs without a key for the next, and it passes over those that have ended.
    if (claims.length < slots)
      for (const job of this.all((each) => each.state === 'waiting' && !this.isGone(each)))
        job.isFiled = true;
    this.observe();
    if (claims.length > slots) wrong.push(`${claims.length} jobs for ${slots} slots`);
    if (claims.length < slots) {
      for (const list of LISTS)
        for (const name of this.readyKeys(list)) wrong.push(`a job of ${name} was left behind in ${list}`);
    }
    return wrong;
  }

  /** What is wrong with the keys that a server tells of. */
  compare(
    states: readonly { readonly key: string; readonly running: number; readonly heldBy?: string }[],
  ): string[] {
    return [...new Set(this.all(() => true).map(({ key }) => key))].flatMap((name) => {
      const state = states.find(({ key }) => key === name);
      const jobs = this.all(({ key, state: is }) => key === name && is === 'running');
      const isSure = jobs.every(({ isDeleted, startedAt }) => !isDeleted && startedAt > this.movedAt);
      const told = state?.running ?? 0;
      const holder = this.key(name).holder;
      const holds = holder && !this.isGone(holder) && this.rules.order === 'strict';
      return [
        ...(isSure && told !== jobs.length ? [`${name} has ${told} running jobs, not ${jobs.length}`] : []),
        ...(told > jobs.length ? [`${name} has places that nobody uses`] : []),
        ...(holds && state?.heldBy !== holder.id
          ? [`${name} is held by ${state?.heldBy}, not ${holder.id}`]
          : []),
      ];
    });
  }

  private take(id: string, token: number): string[] {
    const job = this.job(id);
    const key = this.key(job.key);
    const wrong = [
      ...(this.mayStart(job) ? [] : [`job ${id} was claimed, which is ${job.state}, due at ${job.due}`]),
      ...this.obstacles(job, key),
      ...this.skipped(job),
    ];
    Object.assign(job, { state: 'running', token, isFiled: true, leaseEnd: this.now + LEASE, due: 0 });
    job.attempts += 1;
    job.startedAt = this.tick += 1;
    key.starts.push({ at: this.now, tick: this.tick });
    if (this.rules.order === 'strict') key.holder = job;
    this.served.set(`${job.list}:${job.key}`, this.tick);
    this.observe();
    return wrong;
  }

  /** Why a job must not start now. */
  private obstacles(job: Job, { starts, heldUntil, holder }: Key): string[] {
    const { concurrency = Infinity, rate } = this.numbers;
    const running = this.all(
      ({ key, state, isDeleted, startedAt }) =>
        key === job.key && state === 'running' && !isDeleted && startedAt > this.movedAt,
    );
    const counted = starts.filter(
      ({ at, tick }) => rate && at >= this.now - rate.per && tick > this.changedAt,
    );
    const isHeld = this.rules.order === 'strict' && holder && holder !== job && !this.isGone(holder);
    return [
      ...(running.length >= concurrency ? [`${job.id} is one more than ${concurrency} of ${job.key}`] : []),
      ...(rate && counted.length >= rate.max ? [`${job.id} starts above the rate of ${job.key}`] : []),
      ...(heldUntil > this.now ? [`${job.id} starts while ${job.key} is held`] : []),
      ...(isHeld ? [`${job.id} starts before ${holder.id} has ended`] : []),
    ];
  }

  /** Jobs and keys that had to come before this one. */
  private skipped(job: Job): string[] {
    // A strict order knows no priorities: which come first of those that plain clients give is left open.
    if (this.rules.order === 'strict' && this.all(({ list }) => list !== 'normal').length > 0) return [];
    const higher = LISTS.slice(0, LISTS.indexOf(job.list)).flatMap((list) => this.readyKeys(list));
    const last = this.served.get(`${job.list}:${job.key}`) ?? 0;
    const passedOver = this.readyKeys(job.list).filter((name) => {
      const place = `${job.list}:${name}`;
      const [since = Infinity, served = 0] = [this.readySince.get(place), this.served.get(place)];
      return name !== job.key && since < last && served < last;
    });
    const isNew = (other: Job) => other.token === 0 && other.isInOrder && other.list === job.list;
    const older = this.all(
      (other) =>
        isNew(job) &&
        isNew(other) &&
        other.key === job.key &&
        other.isFiled &&
        job.isFiled &&
        Number(other.id) < Number(job.id) &&
        this.mayStart(other),
    );
    return [
      ...higher.map((name) => `${job.id} was claimed before a job of ${name} with a higher priority`),
      ...passedOver.map((name) => `${job.key} has its second turn before ${name} has one`),
      ...older.map(({ id }) => `${job.id} was claimed before ${id}`),
    ];
  }

  /** Keys of which a claim has to take a job. */
  private readyKeys(list: ListName): string[] {
    const ready = this.all(
      (job) => job.list === list && job.isFiled && this.mayStart(job) && this.isFree(job),
    );
    return [...new Set(ready.map(({ key }) => key))];
  }

  /** Whether nothing, not even what may count or not, keeps a job from starting. */
  private isFree(job: Job): boolean {
    const { concurrency = Infinity, rate } = this.numbers;
    const { starts, mayBeHeldUntil, holder, before } = this.key(job.key);
    const running = this.all(({ key, state }) => key === job.key && state === 'running').length;
    const counted = starts.filter(({ at }) => rate && at >= this.now - rate.per).length;
    const isOpen = running < concurrency && mayBeHeldUntil <= this.now && !(rate && counted >= rate.max);
    if (this.rules.order === 'fair') return isOpen;
    const mayHold = holder && (!this.isGone(holder) || holder.state === 'running' || holder.due > this.now);
    return isOpen && !(mayHold && holder !== job) && before.every((other) => other.state === 'ended');
  }

  private mayStart(job: Job): boolean {
    return job.state === 'waiting' && job.due <= this.now && !this.isGone(job);
  }

  /** Whether its hash was deleted, or it has expired: the server may find out later. */
  private isGone({ state, isDeleted, expires = Infinity, attempts, snoozes }: Job): boolean {
    return isDeleted || (state === 'waiting' && expires <= this.now && attempts + snoozes === 0);
  }

  private end(job: Job): void {
    job.state = 'ended';
    const key = this.key(job.key);
    if (key.holder === job) key.holder = undefined;
  }

  /** Notes since when keys are ready. */
  private observe(): void {
    this.tick += 1;
    for (const list of LISTS) {
      const ready = new Set(this.readyKeys(list));
      for (const name of this.keys.keys()) {
        const place = `${list}:${name}`;
        if (!ready.has(name)) this.readySince.delete(place);
        else if (!this.readySince.has(place)) this.readySince.set(place, this.tick);
      }
    }
  }

  private get numbers(): Numbers {
    return this.changed.get(isShared(this.rules)) ?? this.rules;
  }

  private all(wanted: (job: Job) => boolean): Job[] {
    return [...this.jobs.values()].filter(wanted);
  }

  private key(name: string): Key {
    const key = this.keys.get(name) ?? {
      starts: [],
      heldUntil: 0,
      mayBeHeldUntil: 0,
      holder: undefined,
      before: [],
    };
    this.keys.set(name, key);
    return key;
  }

  private job(id: string): Job {
    return this.jobs.get(id) as Job;
  }
}

function isShared(rules: Rules): boolean {
  return rules.isShared === true;
}
