import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../job/errors.js';
import { ConnectionError } from '../job/server-errors.js';
import type { Claim, Outcome } from '../job/job-source.js';
import { YIELD_MS, type RedisConnection } from '../redis/redis-connection.js';
import { isReply } from '../redis/redis-errors.js';
import { memberOf } from './lease-keeper.js';
import { keysOf } from './protocol.js';
import { readJobOptions } from './run-options.js';
import * as scripts from './scripts.js';

/** Outcomes and claims that one script call takes at most. */
const MAX_PER_TURN = 500;
/** Calls of one function under way at the same time. */
const MAX_CALLS = 2;
/** Fewer are not worth two calls. */
const MIN_SPLIT = 8;
const RETRY_MS = 100;
/** After an outage other workers get this part of a lease to renew theirs before expired ones are given away. */
const GRACE = 1 / 4;

interface Pending {
  readonly outcome: Outcome;
  readonly resolve: (accepted: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export interface TurnOptions {
  readonly connection: RedisConnection;
  /** Milliseconds. */
  readonly lease: number;
  readonly maxStalls: number;
  /** How many jobs may be claimed now. */
  readonly slots: (fn: string) => number;
  /** What a turn claimed of what it asked for, and ms until the next scheduled job is due, or -1. */
  readonly onTurn: (fn: string, claims: readonly Claim[], wait: number, asked: number) => void;
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

  constructor(
    private readonly fn: string,
    private readonly options: TurnOptions,
  ) {}

  /** Whether the claim was still held. Waits through an outage. */
  settle(outcome: Outcome): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.pending.push({ outcome, resolve, reject });
      this.schedule();
    });
  }

  claim(): void {
    this.wantsClaim = true;
    this.schedule();
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
    const free = this.freeSlots();
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
    const { connection, lease, maxStalls } = this.options;
    const redis = await connection.ready();
    const k = keysOf(this.fn);
    const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.wake, k.channel];
    const recover = connection.uptime > lease * GRACE ? 1 : 0;
    const outcomes = batch.flatMap(({ outcome }) => toArguments(outcome));
    const sent = performance.now();
    const reply = await scripts.turn.run(redis, keys, '', lease, slots, maxStalls, recover, outcomes);
    // Claims that took longer than a lease to arrive, as in a process that was stopped, are others' by now.
    return performance.now() - sent < lease ? reply : { ...reply, claims: [] };
  }

  private handle(reply: scripts.TurnReply, batch: readonly Pending[], slots: number): void {
    const refused = new Set(reply.refused);
    for (const { outcome, resolve } of batch) resolve(!refused.has(memberOf(outcome.claim)));
    for (const id of reply.dropped) {
      this.options.onProblem(
        `Job ${id} of "${this.fn}" is queued but can't be run: its hash is missing, malformed or finished.`,
      );
    }
    const claims = reply.claims.map((job) => toClaim(this.fn, job));
    if (slots > 0) this.options.onTurn(this.fn, claims, reply.wait, slots);
  }

  /** The script may have run: outcomes are safe to send again, and claims whose reply was lost expire. */
  private async retry(batch: Pending[], slots: number, error: unknown): Promise<void> {
    if (this.stopped || error instanceof ConnectionError) {
      for (const { reject } of batch) reject(error);
      return;
    }
    this.pending.unshift(...batch);
    if (slots > 0) this.wantsClaim = true;
    this.options.onProblem(`A turn of "${this.fn}" is tried again: ${messageOf(error)}`);
    await delay(isReply(error) ? RETRY_MS : YIELD_MS);
  }
}

function toClaim(fn: string, { id, token, attempts, stalls, options, input }: scripts.TakenJob): Claim {
  return { fn, id, token, attempts, stalls, options: readJobOptions(options), input };
}

function toArguments(outcome: Outcome): scripts.OutcomeArguments {
  const member = memberOf(outcome.claim);
  switch (outcome.status) {
    case 'success':
      return [member, 'success', outcome.output, ''];
    case 'error':
      return [member, 'error', outcome.error.message, JSON.stringify(outcome.error)];
    case 'retry':
      return [member, 'retry', String(outcome.delay), JSON.stringify(outcome.error)];
    case 'released':
      return [member, 'released', '', ''];
  }
}
