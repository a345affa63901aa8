import type { LimitRules } from '../job/limit.js';
import { Agenda } from './agenda.js';
import { KeptMap } from './kept-map.js';
import { SharedTurn, type TurnTaker } from './shared-turn.js';

export type LimitNumbers = Pick<LimitRules, 'concurrency' | 'rate'>;

/** A function whose jobs are counted. */
export interface LimitUser extends TurnTaker {
  readonly owner: {
    /** When the next one ends, in ms since 1970. */
    readonly leases: { readonly nextExpiry: number };
    /** Gives jobs back whose leases have ended. */
    recover(now: number): void;
  };
  /** Called when jobs of this key may have become free to start, or are no longer. */
  refresh(key: string, now: number): void;
  /** The same for all keys. */
  refreshAll(now: number): void;
}

interface KeyCounts {
  running: number;
  heldUntil: number;
  /** Until then it is held or its starts count. */
  idleAt: number;
  /** When its jobs started, as far as the rate depends on it. Those before `forgotten` no longer count. */
  starts: number[];
  forgotten: number;
  readonly turn: SharedTurn<LimitUser>;
}

/** Of the starts that a key keeps, those that no longer count are dropped this many at a time. */
const DROPPED_AT_ONCE = 1000;

/** What counts for a limit, by key: running jobs, starts, and until when keys are held. Functions that share it count together. */
export class LimitCounts {
  readonly users = new Set<LimitUser>();
  private declared: LimitNumbers | undefined;
  private changed: LimitNumbers | undefined;
  private readonly keys = new KeptMap<KeyCounts>(
    () => ({ running: 0, heldUntil: 0, idleAt: 0, starts: [], forgotten: 0, turn: new SharedTurn() }),
    ({ running, idleAt, turn }) => running <= 0 && idleAt === 0 && turn.isIdle,
  );
  /** When a key that is full by its rate or held is free again, or one that is idle can be forgotten. */
  private readonly ends = new Agenda<string>();

  get numbers(): LimitNumbers {
    return this.changed ?? this.declared ?? {};
  }

  /** When a key changes by the passing of time, in ms since 1970. */
  get nextEnd(): number {
    return this.ends.next;
  }

  get names(): string[] {
    return Array.from(this.keys, ([name]) => name);
  }

  /** Sets the numbers that definitions give. */
  declare({ concurrency, rate }: LimitNumbers, now: number): void {
    this.declared = { ...(concurrency !== undefined && { concurrency }), ...(rate && { rate }) };
    this.reviewAll(now);
  }

  /** Sets numbers that replace those of definitions; undefined ends that. */
  change(numbers: LimitNumbers | undefined, now: number): void {
    this.changed = numbers;
    this.reviewAll(now);
  }

  start(name: string, user: LimitUser, now: number): void {
    const counts = this.keys.ensure(name);
    counts.turn.use(user);
    counts.running += 1;
    if (this.numbers.rate) counts.starts.push(now);
    this.review(name, counts, now);
  }

  free(name: string, now: number, places = 1): void {
    const counts = this.keys.ensure(name);
    const wasFull = this.isFull(name, now);
    counts.running -= places;
    if (wasFull) this.passTurn(name, counts, now);
    this.review(name, counts, now);
  }

  /** Jobs that run are counted here from now on; they started elsewhere. */
  adopt(name: string, running: number, now: number): void {
    const counts = this.keys.ensure(name);
    counts.running += running;
    this.review(name, counts, now);
  }

  hold(name: string, until: number, now: number): void {
    const counts = this.keys.ensure(name);
    counts.heldUntil = Math.max(counts.heldUntil, until);
    this.review(name, counts, now);
  }

  /** Lets keys go on whose time has passed. */
  pass(now: number): void {
    for (const name of this.ends.take(now)) {
      const counts = this.keys.ensure(name);
      this.passTurn(name, counts, now);
      this.review(name, counts, now);
    }
  }

  runningOf(name: string): number {
    return this.keys.get(name)?.running ?? 0;
  }

  /** Starts that count for the rate now. */
  startsOf(name: string, now: number): number {
    const counts = this.keys.get(name);
    if (!counts) return 0;
    this.forget(counts, now);
    return counts.starts.length - counts.forgotten;
  }

  /** After a change of the jobs of a user: it may no longer take its turn. */
  reviewTurn(name: string, now: number): void {
    const counts = this.keys.get(name);
    if (!counts || counts.turn.isIdle) return;
    if (counts.turn.review(name, this.users, now)) this.review(name, counts, now);
  }

  /** Whether a user may start no job of this key. */
  isFull(name: string, now: number, user?: LimitUser): boolean {
    const { concurrency = Infinity } = this.numbers;
    return this.runningOf(name) >= concurrency || this.fullUntil(name, user) > now;
  }

  /** The time before which the key is held, full by its rate, or set aside for another user, in ms since 1970. */
  fullUntil(name: string, user?: LimitUser): number {
    const until = this.heldUntil(name);
    return user ? Math.max(until, this.keys.get(name)?.turn.until(user) ?? 0) : until;
  }

  private heldUntil(name: string): number {
    const counts = this.keys.get(name);
    if (!counts) return 0;
    const { rate } = this.numbers;
    const start = rate && counts.starts[counts.starts.length - rate.max];
    return Math.max(counts.heldUntil, rate && start !== undefined ? start + rate.per + 1 : 0);
  }

  private passTurn(name: string, counts: KeyCounts, now: number): void {
    if (this.users.size > 1 && !this.isFull(name, now)) counts.turn.pass(name, this.users, now);
  }

  private reviewAll(now: number): void {
    for (const [name, counts] of this.keys) this.review(name, counts, now, false);
    for (const user of this.users) user.refreshAll(now);
  }

  /** After a change: forgets what no longer counts, and sees to it that the key is looked at again in time. */
  private review(name: string, counts: KeyCounts, now: number, tells = true): void {
    this.forget(counts, now);
    const { rate } = this.numbers;
    const fullUntil = this.fullUntil(name);
    const last = counts.starts.at(-1);
    const idleAt = Math.max(counts.heldUntil, rate && last !== undefined ? last + rate.per + 1 : 0);
    counts.idleAt = idleAt > now ? idleAt : 0;
    const aside = counts.turn.until();
    const times = [fullUntil > now ? fullUntil : idleAt, aside].filter((time) => time > now);
    const next = Math.min(...times);
    // One that comes too early is set again then.
    if (next < Infinity) this.ends.setFirst(name, next);
    else this.ends.delete(name);
    this.keys.review(name, counts);
    if (tells) for (const user of this.users) user.refresh(name, now);
  }

  private forget(counts: KeyCounts, now: number): void {
    const { rate } = this.numbers;
    const { starts } = counts;
    const from = rate ? now - rate.per : Infinity;
    while (counts.forgotten < starts.length && (starts[counts.forgotten] ?? now) < from)
      counts.forgotten += 1;
    if (counts.forgotten < starts.length && counts.forgotten < DROPPED_AT_ONCE) return;
    counts.starts = starts.slice(counts.forgotten);
    counts.forgotten = 0;
  }
}
