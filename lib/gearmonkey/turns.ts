import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { messageOf } from '../job/errors.js';
import { ConnectionError } from '../job/server-errors.js';
import type { Claim, Outcome } from '../job/job-source.js';
import { YIELD_MS, type RedisConnection } from '../redis/redis-connection.js';
import { isReply } from '../redis/redis-errors.js';
import { memberOf } from '../redis/lease-keeper.js';
import type { KeysOf } from './protocol.js';
import * as scripts from './scripts.js';
import { claimOf, encodeOutcome, toClaim } from './turn-values.js';

/** Outcomes and claims that one script call takes at most. */
const MAX_PER_TURN = 500;
/** Calls of one function under way at the same time. */
const MAX_CALLS = 2;
/** Fewer are not worth two calls. */
const MIN_SPLIT = 8;
const RETRY_MS = 100;
/** After an outage other workers get this part of a lease to renew theirs before expired ones are given away. */
const GRACE = 1 / 4;
/** This part of a lease passes from one look for expired ones to the next. */
const RECOVERY_INTERVAL = 1 / 16;

/** Outcomes that were handed over together: they may go with several calls. */
interface Settlement {
  left: number;
  readonly refused: Claim[];
  readonly resolve: (refused: Claim[]) => void;
  readonly reject: (error: unknown) => void;
}

interface Pending {
  readonly claim: Claim;
  readonly encoded: scripts.OutcomeArguments;
  readonly settlement: Settlement;
}

export interface TurnOptions {
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
  /** What a turn claimed of what it asked for, and ms until the next scheduled job is due, or -1. */
  readonly onTurn: (fn: string, claims: readonly Claim[], wait: number, asked: number) => void;
  /** A plain client sent a job of this function. */
  readonly onPlain: (fn: string) => void;
  /** Something an operator should know. */
  readonly onProblem: (message: string) => void;
}

/** One function's calls of the turn script: two at most under way, and what comes up meanwhile goes with the next. */
export class Turns {
  private pending: Pending[] = [];
  private wantsClaim = false;
  private scheduled = false;
  private stopped = false;
  private readonly calls = new Set<Promise<void>>();
  /** Slots that calls under way have asked jobs for. */
  private asked = 0;
  private recoveredAt = -Infinity;
  private readonly keys: readonly string[];
  private readonly leases: string;
  private readonly replies: string;
  /** Where claims behind a blocking call are noted. */
  private readonly noted: string;

  constructor(
    private readonly fn: string,
    private readonly options: TurnOptions,
  ) {
    const k = options.keysOf(fn);
    this.leases = k.leases;
    this.replies = k.replies;
    this.noted = k.claims + options.worker;
    this.keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.wake, k.channel];
  }

  /** Returns the claims that were not held any more. Waits through an outage. */
  settle(outcomes: readonly Outcome[]): Promise<Claim[]> {
    return new Promise((resolve, reject) => {
      const settlement: Settlement = { left: outcomes.length, refused: [], resolve, reject };
      for (const outcome of outcomes) {
        const encoded = encodeOutcome(outcome, this.replies);
        this.pending.push({ claim: outcome.claim, encoded, settlement });
      }
      this.schedule();
    });
  }

  claim(): void {
    this.wantsClaim = true;
    this.schedule();
  }

  /**
   * A turn that claims, sent on the connection of a blocking call of up to `blocked` milliseconds, so that the
   * server takes it as soon as that ends. False when there is no slot to claim for.
   */
  async claimBehind(redis: Redis | Cluster, blocked: number): Promise<boolean> {
    const slots = Math.min(MAX_PER_TURN, this.freeSlots());
    if (slots === 0) return false;
    this.asked += slots;
    const keys = [...this.keys, this.noted];
    const reply = await this.send(redis, keys, [], slots, blocked).finally(() => (this.asked -= slots));
    this.handle(reply, [], slots);
    return true;
  }

  /** What the last turn behind a blocking call claimed: its reply may never have come. */
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
      this.takeTurns();
    });
  }

  private takeTurns(): void {
    while (this.calls.size < MAX_CALLS && this.hasWork()) {
      const call = this.takeTurn();
      this.calls.add(call);
      void call.then(() => {
        this.calls.delete(call);
        this.takeTurns();
      });
    }
  }

  private hasWork(): boolean {
    return this.pending.length > 0 || (this.wantsClaim && this.freeSlots() > 0);
  }

  private freeSlots(): number {
    return Math.max(0, this.options.slots(this.fn) - this.asked);
  }

  private async takeTurn(): Promise<void> {
    const batch = this.pending.splice(0, this.share(this.pending.length));
    const free = this.wantsClaim ? this.freeSlots() : 0;
    const slots = this.share(free);
    this.wantsClaim &&= slots < free;
    this.asked += slots;
    try {
      const reply = await this.call(batch, slots);
      this.asked -= slots;
      this.handle(reply, batch, slots);
    } catch (error) {
      this.asked -= slots;
      await this.retry(batch, slots, error);
    }
  }

  /** The first of two calls takes half, so that the server works on one while handlers work on the other. */
  private share(count: number): number {
    const part = this.calls.size === 0 && count >= MIN_SPLIT ? Math.ceil(count / 2) : count;
    return Math.min(MAX_PER_TURN, part);
  }

  private async call(batch: readonly Pending[], slots: number): Promise<scripts.TurnReply> {
    return this.send(await this.options.connection.ready(), this.keys, batch, slots, 0);
  }

  private async send(
    redis: Redis | Cluster,
    keys: readonly string[],
    batch: readonly Pending[],
    slots: number,
    blocked: number,
  ): Promise<scripts.TurnReply> {
    const { lease, maxStalls, maxPayloadBytes } = this.options;
    const outcomes = batch.flatMap(({ encoded }) => encoded);
    const sent = performance.now();
    const recover = this.recovers(sent);
    const reply = await scripts.turn.run(
      redis,
      keys,
      '',
      lease,
      slots,
      maxStalls,
      recover,
      maxPayloadBytes,
      outcomes,
    );
    // Claims that took longer than a lease to arrive, as in a process that was stopped, are others' by now.
    return performance.now() - sent < lease + blocked ? reply : { ...reply, claims: [] };
  }

  /** Not in each turn of a busy worker, and not before others had time to come back after an outage. */
  private recovers(now: number): 0 | 1 {
    const { connection, lease } = this.options;
    if (connection.uptime(this.leases) <= lease * GRACE || now - this.recoveredAt < lease * RECOVERY_INTERVAL)
      return 0;
    this.recoveredAt = now;
    return 1;
  }

  private handle(reply: scripts.TurnReply, batch: readonly Pending[], slots: number): void {
    const refused = new Set(reply.refused);
    for (const { claim, settlement } of batch) {
      if (refused.size > 0 && refused.has(memberOf(claim))) settlement.refused.push(claim);
      settlement.left -= 1;
      if (settlement.left === 0) settlement.resolve(settlement.refused);
    }
    for (const id of reply.dropped) {
      this.options.onProblem(
        `Job ${id} of "${this.fn}" is queued but can't be run: its hash is missing, malformed or finished.`,
      );
    }
    if (reply.plain) this.options.onPlain(this.fn);
    const claims = reply.claims.map((job) => toClaim(this.fn, job));
    if (slots > 0) this.options.onTurn(this.fn, claims, reply.wait, slots);
  }

  /** The script may have run: outcomes are safe to send again, and claims whose reply was lost expire. */
  private async retry(batch: Pending[], slots: number, error: unknown): Promise<void> {
    if (this.stopped || error instanceof ConnectionError) {
      for (const { settlement } of batch) settlement.reject(error);
      return;
    }
    this.pending.unshift(...batch);
    if (slots > 0) this.wantsClaim = true;
    this.options.onProblem(`A turn of "${this.fn}" is tried again: ${messageOf(error)}`);
    await delay(isReply(error) ? RETRY_MS : YIELD_MS);
  }
}
