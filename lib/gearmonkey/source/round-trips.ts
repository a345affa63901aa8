import type { Cluster, Redis } from 'ioredis';
import { messageOf } from '../../job/errors.js';
import { ConnectionError } from '../../job/server-errors.js';
import type { Claim, Outcome } from '../../job/job-source.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { isOutage, pauseAfter } from '../../redis/retry.js';
import { isOutcomesFault, Outbox, type Pending } from './outbox.js';
import { memberOf } from '../../redis/lease-keeper.js';
import { droppedLine, notStoredLine } from './problems.js';
import type { KeysOf } from '../wire/protocol.js';
import { RecoveryPace } from './recovery-pace.js';
import * as scripts from '../wire/scripts.js';
import { claimOf, toClaim } from './claims.js';

/** Claims that one script call takes at most. */
const MAX_CLAIMS = 500;
/** Calls of one function under way at the same time. */
const MAX_CALLS = 2;
/** Fewer are not worth two calls. */
const MIN_SPLIT = 8;
/** One call of the script, and its reply. */
interface RoundTrip {
  readonly redis: Redis | Cluster;
  readonly keys: readonly string[];
  readonly batch: readonly Pending[];
  readonly slots: number;
  /** Milliseconds that a blocking call before it may take. */
  readonly blocked: number;
  readonly mayRecover?: boolean;
}

export interface RoundTripOptions {
  readonly connection: RedisConnection;
  /** This worker's name among all. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  /** Milliseconds. */
  readonly lease: number;
  readonly maxStalls: number;
  /** A job with a larger input ends as an error. */
  readonly maxPayloadBytes: number;
  /** How many jobs may be claimed now. */
  readonly slots: (fn: string) => number;
  /** What a call claimed of what it asked for, and ms until the next scheduled job is due, or -1. */
  readonly onReply: (fn: string, claims: readonly Claim[], wait: number, asked: number) => void;
  /** A plain client sent a job of this function. */
  readonly onPlain: (fn: string) => void;
  /** Something an operator should know; what is of one kind may come very often. */
  readonly onProblem: (kind: string, message: string) => void;
}

/** One function's calls of the claim script: two at most under way, and what comes up meanwhile goes with the next. */
export class RoundTrips {
  private readonly outbox: Outbox;
  private wantsClaim = false;
  private scheduled = false;
  private stopped = false;
  private readonly calls = new Set<Promise<void>>();
  /** Slots that calls under way have asked jobs for. */
  private asked = 0;
  private readonly recovery: RecoveryPace;
  private readonly keys: readonly string[];
  /** Where claims behind a blocking call are noted. */
  private readonly noted: string;

  constructor(
    private readonly fn: string,
    private readonly options: RoundTripOptions,
  ) {
    const k = options.keysOf(fn);
    this.recovery = new RecoveryPace(options.lease, () => options.connection.uptime(k.leases));
    this.outbox = new Outbox(k.replies);
    this.noted = k.claims + options.worker;
    this.keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.wake, k.channel];
  }

  /** Returns the claims that were not held any more. Waits through an outage. */
  settle(outcomes: readonly Outcome[]): Promise<Claim[]> {
    const settled = this.outbox.add(outcomes);
    this.schedule();
    return settled;
  }

  claim(): void {
    this.wantsClaim = true;
    this.schedule();
  }

  /**
   * A round trip that claims, sent on the connection of a blocking call of up to `blocked` milliseconds, so that the
   * server takes it as soon as that ends. False when there is no slot to claim for.
   */
  async claimBehind(redis: Redis | Cluster, blocked: number): Promise<boolean> {
    const slots = Math.min(MAX_CLAIMS, this.freeSlots());
    if (slots === 0) return false;
    this.asked += slots;
    try {
      const keys = [...this.keys, this.noted];
      this.handle(await this.send({ redis, keys, batch: [], slots, blocked }), [], slots);
      return true;
    } finally {
      this.asked -= slots;
    }
  }

  /** What the last call behind a blocking call claimed: its reply may never have come. */
  async lastBehind(): Promise<Claim[]> {
    const noted = await this.options.connection.insist((redis) => redis.get(this.noted));
    const members = noted === null ? [] : (JSON.parse(noted) as string[]);
    return members.map((member) => claimOf(this.fn, member));
  }

  /** From now on an outage is an error. Resolves when no call is under way. */
  async stop(): Promise<void> {
    this.stopped = true;
    while (this.calls.size > 0) await Promise.all(this.calls);
  }

  /** After all that runs in this tick, so that a settle and the claim that follows it are one call. */
  private schedule(): void {
    if (this.scheduled || this.calls.size === MAX_CALLS) return;
    this.scheduled = true;
    process.nextTick(() => {
      this.scheduled = false;
      this.sendNext();
    });
  }

  private sendNext(): void {
    while (this.calls.size < MAX_CALLS && this.hasWork()) {
      const call = this.makeTrip();
      this.calls.add(call);
      void call.then(() => {
        this.calls.delete(call);
        this.sendNext();
      });
    }
  }

  private hasWork(): boolean {
    return this.outbox.size > 0 || (this.wantsClaim && this.freeSlots() > 0);
  }

  private freeSlots(): number {
    return Math.max(0, this.options.slots(this.fn) - this.asked);
  }

  private async makeTrip(): Promise<void> {
    const batch = this.outbox.take(this.share(this.outbox.size));
    const free = this.wantsClaim ? this.freeSlots() : 0;
    const slots = Math.min(MAX_CLAIMS, this.share(free));
    this.wantsClaim &&= slots < free;
    this.asked += slots;
    try {
      this.handle(await this.call(batch, slots), batch, slots);
    } catch (error) {
      if (slots > 0) this.wantsClaim = true;
      await this.failed(batch, error);
    } finally {
      this.asked -= slots;
    }
  }

  /** The first of two calls takes half, so that the server works on one while handlers work on the other. */
  private share(count: number): number {
    return this.calls.size === 0 && count >= MIN_SPLIT ? Math.ceil(count / 2) : count;
  }

  private async call(
    batch: readonly Pending[],
    slots: number,
    mayRecover = true,
  ): Promise<scripts.ClaimReply> {
    const redis = await this.options.connection.ready();
    return this.send({ redis, keys: this.keys, batch, slots, blocked: 0, mayRecover });
  }

  private async send({
    redis,
    keys,
    batch,
    slots,
    blocked,
    mayRecover = true,
  }: RoundTrip): Promise<scripts.ClaimReply> {
    const { lease, maxStalls, maxPayloadBytes } = this.options;
    const outcomes = batch.flatMap(({ encoded }) => encoded);
    const sent = performance.now();
    const recover = mayRecover && this.recovery.isDue(sent) ? 1 : 0;
    const args = ['', lease, slots, maxStalls, recover, maxPayloadBytes, outcomes] as const;
    const reply = await scripts.claim.run(redis, keys, ...args);
    // Claims that took longer than a lease to arrive, as in a process that was stopped, are others' by now.
    return performance.now() - sent < lease + blocked ? reply : { ...reply, claims: [] };
  }

  private handle(reply: scripts.ClaimReply, batch: readonly Pending[], slots: number): void {
    const { onProblem, onPlain, onReply } = this.options;
    this.outbox.answered(batch, reply.refused);
    if (reply.dropped.length > 0) onProblem(`dropped ${this.fn}`, droppedLine(this.fn, reply.dropped));
    if (reply.plain) onPlain(this.fn);
    const claims = reply.claims.map((job) => toClaim(this.fn, job));
    if (slots > 0) onReply(this.fn, claims, reply.wait, slots);
  }

  /** The script may have run: outcomes are safe to send again, and claims whose reply was lost expire. */
  private async failed(batch: readonly Pending[], error: unknown): Promise<void> {
    if (this.isOver(error)) return this.outbox.reject(batch, error);
    this.complain(error);
    if (isOutage(error)) this.outbox.putBack(batch);
    else if (batch.length > 0) return this.settleAlone(batch);
    await pauseAfter(error);
  }

  /** Without claims, which may be to blame; and then in parts, so that an outcome no server takes holds up no other. */
  private async settleAlone(batch: readonly Pending[]): Promise<void> {
    try {
      this.handle(await this.call(batch, 0, false), batch, 0);
    } catch (error) {
      if (this.isOver(error)) return this.outbox.reject(batch, error);
      if (!isOutcomesFault(error)) {
        this.outbox.putBack(batch);
        return pauseAfter(error);
      }
      const [first, ...others] = batch;
      if (first && others.length === 0) return this.giveUp(first, error);
      const half = Math.ceil(batch.length / 2);
      await this.settleAlone(batch.slice(0, half));
      await this.settleAlone(batch.slice(half));
    }
  }

  private isOver(error: unknown): boolean {
    return this.stopped || error instanceof ConnectionError;
  }

  private giveUp(one: Pending, error: unknown): void {
    this.options.onProblem(`outcome ${this.fn}`, notStoredLine(this.fn, one.claim.id, error));
    this.outbox.answered([one], [memberOf(one.claim)]);
  }

  private complain(error: unknown): void {
    this.options.onProblem(`call ${this.fn}`, `A call of "${this.fn}" is tried again: ${messageOf(error)}`);
  }
}
