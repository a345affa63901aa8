import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, messageOf } from '../job/errors.js';
import type { Claim, Outcome } from '../job/job-source.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { keysOf } from './protocol.js';
import { isReply } from '../redis/redis-errors.js';
import * as scripts from './scripts.js';

/** Outcomes and claims that one script call takes at most. */
const MAX_PER_TURN = 500;
const RETRY_MS = 100;

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
  /** What a turn claimed, and ms until the next scheduled job is due, 0 when jobs are left, or -1. */
  readonly onTurn: (fn: string, claims: readonly Claim[], wait: number, asked: number) => void;
  readonly onDropped: (fn: string, id: string) => void;
  readonly onFailure: (fn: string, reason: string) => void;
}

/** One function's calls of the turn script: one in flight, and what comes up meanwhile goes with the next. */
export class Turns {
  private pending: Pending[] = [];
  private wantsClaim = false;
  private scheduled = false;
  private taking = false;
  private stopped = false;
  private taken: Promise<void> = Promise.resolve();

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
  stop(): Promise<void> {
    this.stopped = true;
    return this.taken;
  }

  /** After all that runs in this tick, so that a settle and the claim that follows it are one call. */
  private schedule(): void {
    if (this.scheduled || this.taking) return;
    this.scheduled = true;
    process.nextTick(() => {
      this.scheduled = false;
      this.taken = this.takeTurns();
    });
  }

  private async takeTurns(): Promise<void> {
    this.taking = true;
    while (this.pending.length > 0 || (this.wantsClaim && this.options.slots(this.fn) > 0))
      await this.takeTurn();
    this.taking = false;
  }

  private async takeTurn(): Promise<void> {
    const batch = this.pending.splice(0, MAX_PER_TURN);
    this.wantsClaim = false;
    const slots = Math.min(MAX_PER_TURN, this.options.slots(this.fn));
    try {
      const reply = await this.call(batch, slots);
      const refused = new Set(reply.refused);
      for (const { outcome, resolve } of batch) resolve(!refused.has(memberOf(outcome.claim)));
      for (const id of reply.dropped) this.options.onDropped(this.fn, id);
      if (slots > 0)
        this.options.onTurn(
          this.fn,
          reply.claims.map((claim) => ({ fn: this.fn, ...claim })),
          reply.wait,
          slots,
        );
    } catch (error) {
      await this.retry(batch, slots, error);
    }
  }

  private async call(batch: readonly Pending[], slots: number): Promise<scripts.TurnReply> {
    const { connection, lease, maxStalls } = this.options;
    const redis = await connection.ready();
    const k = keysOf(this.fn);
    const keys = [k.jobs, k.locks, k.leases, k.scheduled, k.high, k.normal, k.low, k.wake, k.channel];
    return scripts.turn.run(
      redis,
      keys,
      '',
      lease,
      slots,
      maxStalls,
      batch.flatMap(({ outcome }) => toArguments(outcome)),
    );
  }

  /** The script may have run: outcomes are safe to send again, and claims whose reply was lost expire. */
  private async retry(batch: Pending[], slots: number, error: unknown): Promise<void> {
    if (this.stopped || error instanceof ConnectionError) {
      for (const { reject } of batch) reject(error);
      return;
    }
    this.pending.unshift(...batch);
    if (slots > 0) this.wantsClaim = true;
    this.options.onFailure(this.fn, messageOf(error));
    if (isReply(error)) await delay(RETRY_MS);
  }
}

/** How a lease names its holder. */
export function memberOf({ id, token }: Pick<Claim, 'id' | 'token'>): string {
  return `${id}:${token}`;
}

function toArguments(outcome: Outcome): scripts.OutcomeArguments {
  const member = memberOf(outcome.claim);
  if (outcome.status === 'success') return [member, 'success', outcome.output, ''];
  if (outcome.status === 'error')
    return [member, 'error', outcome.error.message, JSON.stringify(outcome.error)];
  return [member, 'released', '', ''];
}
