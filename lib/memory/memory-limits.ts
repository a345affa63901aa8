import type { LimitRules, LimitState } from '../job/limit.js';
import type { Queue } from '../gearmonkey/core/wire/protocol.js';
import type { LimitsQuery } from '../gearmonkey/features/limits/limit-store.js';
import { LimitCounts, type LimitNumbers, type LimitUser } from './limit-counts.js';
import { LimitedJobs } from './limited-jobs.js';
import type { LimitedKey } from './limited-key.js';
import type { MemoryJobs } from './memory-jobs.js';
import { LISTED, listOf, type Listed, type WaitingId } from './memory-queues.js';
import { Turns } from './turns.js';
import { waitingJobs } from './waiting-keys.js';

/** Jobs of one function that have a key: when which of them may start. */
export class MemoryLimits extends LimitedJobs implements LimitUser {
  private rules: LimitRules | undefined;
  private readonly own = new LimitCounts();
  counts = this.own;
  private readonly turns = new Turns();
  private hasRoom = false;

  constructor(
    private readonly jobs: MemoryJobs,
    private readonly shared: (name: string) => LimitCounts,
    /** Called when a key can start a job that could not before. */
    private readonly onReady: () => void,
    readonly owner: LimitUser['owner'],
  ) {
    super();
    this.counts.users.add(this);
  }

  get isKnown(): boolean {
    return this.rules !== undefined;
  }

  /** When a job or key may become free to start by the passing of time, in ms since 1970. */
  get nextChange(): number {
    const ends = Array.from(this.counts.users, (user) =>
      user === this ? Infinity : user.owner.leases.nextExpiry,
    );
    return Math.min(this.due.next, this.counts.nextEnd, ...ends);
  }

  /** Gives back expired jobs of all functions that share the limit: the others may have no worker left. */
  recoverAll(now: number): void {
    for (const user of this.counts.users) user.owner.recover(now);
  }

  /** After a claim that has found fewer jobs than were asked for, or has not. */
  asked(hadRoom: boolean): void {
    this.hasRoom = hadRoom;
  }

  waitsFor(name: string): boolean {
    const key = this.hasRoom ? this.keys.get(name) : undefined;
    if (!key || (this.rules?.order === 'strict' && key.isTaken)) return false;
    return LISTED.some((queue) => key.next(queue) !== undefined);
  }

  letPass(): void {
    this.hasRoom = false;
  }

  /** Sets the rules that a definition has. */
  declare(rules: LimitRules, now: number): void {
    const { shared } = rules;
    if (shared !== this.rules?.shared) this.count(shared === undefined ? this.own : this.shared(shared), now);
    this.rules = rules;
    if (rules.order === 'fair') for (const [, key] of this.keys) key.holder = undefined;
    this.counts.declare(rules, now);
  }

  /** Sets numbers in place of those of definitions; undefined ends that. */
  change(numbers: LimitNumbers | undefined, now: number): void {
    this.counts.change(numbers, now);
  }

  /** Adds a job that waits for the turn of its key, or until it is due. */
  add(id: string, name: string, queue: Queue, due: number, now: number, goesFirst = this.hasRun(id)): void {
    const key = this.keys.ensure(name);
    this.keyOf.set(id, key);
    if (due > now) this.wait(id, key, due);
    else if (goesFirst) key.line(listOf(queue)).unshift(id);
    else key.line(listOf(queue)).push(id);
    this.refresh(name, now);
  }

  /** Puts a job that was claimed in front of the others of its key. */
  giveBack(id: string, queue: Queue, now: number): void {
    const key = this.keyOf.get(id);
    key?.line(listOf(queue)).unshift(id);
    this.free(id, now);
  }

  /** Lets a job that was claimed wait until it is due. */
  runLater(id: string, due: number, now: number): void {
    const key = this.keyOf.get(id);
    if (key) this.wait(id, key, due);
    this.free(id, now);
  }

  /** Holds the key of a job. */
  hold(id: string, until: number, now: number): void {
    const key = this.keyOf.get(id);
    if (key) this.counts.hold(key.name, until, now);
  }

  /** Forgets a job that has ended, wherever it is. */
  finish(id: string, now: number): void {
    const key = this.keyOf.get(id);
    if (!key) return;
    this.keyOf.delete(id);
    this.due.delete(id);
    if (key.remove(id)) this.counts.free(key.name, now);
    else this.refresh(key.name, now);
  }

  /** Moves jobs that are due to the others of their keys: in front if they have run before. */
  pass(now: number): void {
    this.counts.pass(now);
    const due = this.due.take(now);
    // The one that was due first ends up in front.
    for (const id of due.filter((one) => this.hasRun(one)).toReversed()) this.arrive(id, now, 'unshift');
    for (const id of due.filter((one) => !this.hasRun(one))) this.arrive(id, now, 'push');
  }

  /** The job that may start next in this queue. */
  next(queue: Listed): string | undefined {
    return this.turns.next(queue);
  }

  /** The queue of a job that waits, if it may start now. */
  queueOf(id: string, now: number): Listed | undefined {
    const key = this.keyOf.get(id);
    if (!key || !this.isOpen(key, now)) return undefined;
    return LISTED.find((queue) => key.mayStart(id, queue));
  }

  start(id: string, queue: Listed, now: number): void {
    const key = this.keyOf.get(id);
    if (!key) return;
    key.start(id, queue, this.rules?.order === 'strict');
    this.counts.start(key.name, this, now);
    this.turns.serve(key, queue);
  }

  refresh(name: string, now: number): void {
    const key = this.keys.get(name);
    if (!key) return;
    const joins = this.turns.refresh(key, this.isOpen(key, now));
    this.keys.review(name, key);
    if (joins) this.onReady();
    this.counts.reviewTurn(name, now);
  }

  refreshAll(now: number): void {
    for (const [name] of this.keys) this.refresh(name, now);
  }

  /** Whether a new job could not start at once, if `others` of its key that are new wait before it. */
  isFull(name: string, others: number, now: number): boolean {
    const key = this.keys.get(name);
    if (this.counts.isFull(name, now, this) || (key && !this.isOpen(key, now))) return true;
    const waiting = (key?.waiting ?? 0) + others;
    const { concurrency = Infinity, rate } = this.counts.numbers;
    const strict = this.rules?.order === 'strict';
    return (
      this.counts.runningOf(name) + waiting >= concurrency ||
      (rate !== undefined && this.counts.startsOf(name, now) + waiting >= rate.max) ||
      (strict && (waiting > 0 || key?.holder !== undefined))
    );
  }

  fullUntil(name: string, now: number): Date | undefined {
    const until = this.counts.fullUntil(name, this);
    return until > now ? new Date(until) : undefined;
  }

  /** Full keys first, then those with most jobs waiting. */
  list({ key, size }: LimitsQuery, now: number): LimitState[] {
    this.pass(now);
    const all = () => new Set([...Array.from(this.keys, ([name]) => name), ...this.counts.names]);
    const names = key === undefined ? all() : [key];
    return Array.from(names, (name) => this.stateOf(name, now))
      .filter(({ waiting, running, full }) => full || waiting + running > 0)
      .sort((a, b) => Number(b.full) - Number(a.full) || b.waiting - a.waiting)
      .slice(0, size);
  }

  /** All waiting jobs. One whose key starts none for a time is due then. */
  waiting(now: number): WaitingId[] {
    this.pass(now);
    const { keys, keyOf, turns, due } = this;
    return [
      ...waitingJobs({ keys, keyOf, turns, due, fullUntil: (key) => this.counts.fullUntil(key, this) }, now),
    ];
  }

  private stateOf(name: string, now: number): LimitState {
    const key = this.keys.get(name);
    const [fullUntil, heldBy] = [this.fullUntil(name, now), key?.holder];
    return {
      key: name,
      waiting: key?.waiting ?? 0,
      running: this.counts.runningOf(name),
      full: key ? !this.isOpen(key, now) : this.counts.isFull(name, now, this),
      ...(fullUntil && { fullUntil }),
      ...(heldBy !== undefined && { heldBy }),
    };
  }

  private isOpen(key: LimitedKey, now: number): boolean {
    return !(this.rules?.order === 'strict' && key.isTaken) && !this.counts.isFull(key.name, now, this);
  }

  private hasRun(id: string): boolean {
    return this.jobs.number(id, 'token') > 0;
  }

  private wait(id: string, key: LimitedKey, due: number): void {
    key.later.add(id);
    this.due.set(id, due);
  }

  private arrive(id: string, now: number, how: 'push' | 'unshift'): void {
    const key = this.keyOf.get(id);
    if (!this.jobs.has(id)) return this.finish(id, now);
    if (!key?.later.delete(id)) return;
    key.line(listOf(this.jobs.text(id, 'queue')))[how](id);
    this.refresh(key.name, now);
  }

  private free(id: string, now: number): void {
    const key = this.keyOf.get(id);
    if (key?.running.delete(id)) this.counts.free(key.name, now);
    else if (key) this.refresh(key.name, now);
  }

  /** Counts jobs somewhere else from now on. Changed numbers stay with the counts before. */
  private count(counts: LimitCounts, now: number): void {
    const before = this.counts;
    before.users.delete(this);
    this.counts = counts;
    for (const [name, { running }] of this.keys) {
      if (running.size === 0) continue;
      before.free(name, now, running.size);
      counts.adopt(name, running.size, now);
    }
    counts.users.add(this);
  }
}
