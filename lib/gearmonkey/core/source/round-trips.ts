// Of the module, not the global: a test's fake timers must not change when leases are looked at.
import { performance } from 'node:perf_hooks';
import * as scripts from '../wire/scripts.js';
import type { Cluster, Redis } from 'ioredis';
import { messageOf } from '../../../job/errors.js';
import { realNow } from '../../../job/real-time.js';
import { instrumentation, traced, type TurnEvent } from '../../../job/instrumentation.js';
import { ConnectionError } from '../../../job/server-errors.js';
import type { Claim } from '../../../job/job-source.js';
import { memberOf } from '../../../redis/lease-keeper.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import { isOutage, pauseAfter } from '../../../redis/retry.js';
import { claimOf, toClaim, type HeldClaims } from './held-claims.js';
import { type SourceOutcome, isOutcomesFault, Outbox, type Pending } from './outbox.js';
import { notStoredLine, type Problems } from './problems.js';
import { claimKeys, type KeptText, type KeysOf } from '../wire/protocol.js';
import { KEPT_MS, type KeepRules } from '../../../job/keep.js';

/** How often a worker that ends jobs sets when their list expires, as long as the function may have no leader. */
const LIST_EXPIRY_MS = 600_000;

/** What holds for a function from when a worker is opened for it. */
export interface FunctionRules {
  /** Whether this worker makes the keys of jobs that have none. */
  readonly isLimited: boolean;
  /** How long ended jobs are kept. */
  readonly keep: KeepRules;
}

export interface RoundTripOptions {
  /** Whose jobs these are, in events. */
  readonly system: string;
  readonly connection: RedisConnection;
  /** This worker's unique name. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  /** Milliseconds. */
  readonly lease: number;
  /** How often it asks for jobs, in ms, if it polls; else 0. */
  readonly pollInterval: number;
  readonly maxStalls: number;
  /** A job with a larger input ends as an error. */
  readonly maxPayloadBytes: number;
  readonly problems: Problems;
  readonly failures: CallFailures;
  readonly held: Pick<HeldClaims, 'add'>;
  /** What holds for the function now. */
  readonly rulesOf: (fn: string) => FunctionRules;
  /** Stores the limit's rules again. */
  readonly storeLimit: () => Promise<void>;
  /** Jobs have ended that others wait for. */
  readonly onAwaited: () => void;
}

/** The reply of a round trip. */
export interface Reply {
  readonly claims: readonly Claim[];
  /** Queued ids that can't be run. */
  readonly dropped: readonly string[];
  /** Milliseconds until the next scheduled job is due; 0 if no slot is left, -1 if there is no such job. */
  readonly wait: number;
  /** Whether plain clients sent any of the claimed jobs. */
  readonly plain: boolean;
  /** Jobs of a function with a limit that have no key yet. */
  readonly unfiled: readonly Claim[];
}

const NONE: readonly Claim[] = [];

/** The arguments of one call of the script. */
interface Request {
  readonly redis: Redis | Cluster;
  readonly keys: readonly string[];
  readonly batch: readonly Pending[];
  readonly slots: number;
  /** How long the blocking call before it may take, in milliseconds. */
  readonly blocked: number;
  readonly mayRecover: boolean;
}

/** One function's calls of the claim script. Outcomes wait here until a call has taken them. */
export class RoundTrips {
  private readonly outbox: Outbox;
  private readonly recovery: RecoveryPace;
  private readonly keys: readonly string[];
  /** The key that holds the claims of a call behind a blocking one. */
  private readonly noted: string;
  private stopped = false;
  /** Whether claims of this worker may have a place in a limit, which their outcomes free. */
  private sawLimit = false;
  /** When the list of successes was last told when to expire. */
  private listedAt = -Infinity;
  private rules: FunctionRules;

  constructor(
    private readonly fn: string,
    private readonly options: RoundTripOptions,
  ) {
    const k = options.keysOf(fn);
    this.recovery = new RecoveryPace(options.lease, options.failures);
    this.outbox = new Outbox(k.replies);
    this.noted = k.claims + options.worker;
    this.keys = claimKeys(k);
    this.rules = options.rulesOf(fn);
  }

  /** The worker is opened again for the function, perhaps with other rules. */
  reopen(): void {
    this.rules = this.options.rulesOf(this.fn);
  }

  /** How many outcomes wait to be sent. */
  get outcomes(): number {
    return this.outbox.size;
  }

  /** Sends outcomes with the next calls. Resolves with the claims that were no longer held; during an outage it waits. */
  settle(outcomes: readonly SourceOutcome[]): Promise<Claim[]> {
    return this.outbox.add(outcomes);
  }

  /** Makes a call. Returns undefined, after a pause, if it failed: its outcomes wait again. Never rejects. */
  async make({ outcomes, slots }: Call): Promise<Reply | undefined> {
    const batch = this.outbox.take(outcomes);
    try {
      return await this.call(batch, slots);
    } catch (error) {
      await this.failed(batch, error);
      return undefined;
    }
  }

  /**
   * Sends a claim behind a blocking call of up to `blocked` milliseconds on the same connection: the server runs it as
   * soon as that ends. The server stores these claims for `lastBehind`.
   */
  makeBehind(redis: Redis | Cluster, blocked: number, slots: number): Promise<Reply> {
    const keys = [...this.keys, this.noted];
    return this.send({ redis, keys, batch: [], slots, blocked, mayRecover: true });
  }

  /** The claims of the last call behind a blocking one, whose reply may never have come. */
  async lastBehind(): Promise<Claim[]> {
    const noted = await this.options.connection.insist((redis) => redis.get(this.noted));
    const members = noted === null ? [] : (JSON.parse(noted) as string[]);
    return members.map((member) => claimOf(this.fn, member));
  }

  /** Makes an outage an error from now on. */
  stop(): void {
    this.stopped = true;
  }

  private async call(batch: readonly Pending[], slots: number, mayRecover = true): Promise<Reply> {
    const redis = await this.options.connection.ready();
    return this.send({ redis, keys: this.keys, batch, slots, blocked: 0, mayRecover });
  }

  private async send({ redis, keys, batch, slots, blocked, mayRecover }: Request): Promise<Reply> {
    const { lease, maxStalls, maxPayloadBytes } = this.options;
    const outcomes: scripts.OutcomeArguments = [];
    for (const { encoded } of batch) outcomes.push(...encoded);
    const [sent, asked] = [performance.now(), realNow()];
    const recover = mayRecover ? this.recovery.next(sent, this.options.pollInterval) : 0;
    const files = this.rules.isLimited ? 1 : this.sawLimit ? 0 : '';
    const kept = this.kept(batch, sent);
    const args = ['', lease, slots, maxStalls, recover, maxPayloadBytes, files, kept, outcomes] as const;
    const run = () => scripts.claim.run(redis, keys, ...args);
    const call = instrumentation.turn.hasSubscribers
      ? this.traced(run, { slots, outcomes: batch.length, blocked })
      : run();
    let answer: scripts.ClaimReply;
    try {
      answer = await call;
    } catch (error) {
      this.options.failures.note();
      this.recovery.again();
      throw error;
    }
    if (recover !== 0) this.recovery.looked(sent);
    const { claims, unfiled, limited, lostRules, awaited, refused, ...reply } = answer;
    this.sawLimit ||= limited;
    if (batch.length === 0 && claims.length === 0) this.recovery.again();
    this.outbox.answered(batch, refused);
    if (awaited) this.options.onAwaited();
    const read = { ...reply, claims: this.taken(claims, asked), unfiled: this.taken(unfiled, asked) };
    if (lostRules) await this.options.storeLimit();
    return read;
  }

  /** From now on their leases are renewed. A reply that is read late brings claims that may be lost: `HeldClaims` knows. */
  private taken(jobs: readonly scripts.TakenJob[], asked: number): readonly Claim[] {
    if (jobs.length === 0) return NONE;
    const claims = jobs.map((job) => toClaim(this.fn, job, this.options.maxStalls));
    this.options.held.add(claims, asked);
    return claims;
  }

  private kept(batch: readonly Pending[], now: number): KeptText {
    const { success, error } = this.rules.keep;
    const isTime = batch.length > 0 && now - this.listedAt >= LIST_EXPIRY_MS;
    if (!isTime && success.age === KEPT_MS && error.age === KEPT_MS) return '';
    if (isTime) this.listedAt = now;
    return `${Math.ceil(success.age / 1000)}:${Math.ceil(error.age / 1000)}:${isTime ? 1 : 0}`;
  }

  private traced(
    call: () => Promise<scripts.ClaimReply>,
    numbers: Pick<TurnEvent, 'slots' | 'outcomes' | 'blocked'>,
  ): Promise<scripts.ClaimReply> {
    const { address } = this.options.connection;
    const event: TurnEvent = { system: this.options.system, server: address, fn: this.fn, ...numbers };
    return traced(instrumentation.turn, event, call, (turn, { claims }) => (turn.claimed = claims.length));
  }

  /** The script may have run. Outcomes can be sent again safely, and claims whose reply was lost expire. */
  private async failed(batch: readonly Pending[], error: unknown): Promise<void> {
    if (this.isOver(error)) return this.outbox.reject(batch, error);
    const { problems } = this.options;
    problems.report(
      `call ${this.fn}`,
      `Claiming or settling jobs of "${this.fn}" failed and is tried again: ${messageOf(error)}`,
    );
    if (isOutage(error)) this.outbox.putBack(batch);
    else if (batch.length > 0) return this.settleAlone(batch);
    await pauseAfter(error);
  }

  /** Sends outcomes without claiming, which may be the cause; then in parts, so that one bad outcome doesn't block others. */
  private async settleAlone(batch: readonly Pending[]): Promise<void> {
    try {
      await this.call(batch, 0, false);
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
    this.options.problems.report(`outcome ${this.fn}`, notStoredLine(this.fn, one.claim.id, error));
    this.outbox.answered([one], [memberOf(one.claim)]);
  }
}

/** The part of a lease between two checks for expired jobs. */
const INTERVAL = 1 / 16;

/** When a call of this worker has failed last: before that the server may have been away, or have refused writes. */
export class CallFailures {
  private at = -Infinity;

  note(): void {
    this.at = performance.now();
  }

  /** @param looked when the worker has looked last, by `performance.now()`; -Infinity if it never has */
  since(looked: number): boolean {
    return looked > -Infinity && this.at >= looked;
  }
}

/** When a call of the claim script asks to give expired jobs back: not each of a busy worker. Whether it does, the server decides. */
export class RecoveryPace {
  private askedAt = -Infinity;
  /** When the last call was sent that has looked. */
  private lookedAt = -Infinity;

  /** @param lease in ms */
  constructor(
    private readonly lease: number,
    private readonly failures: CallFailures,
  ) {}

  /**
   * What to ask with a call, as its argument: 0 for nothing; then the next time is a while later.
   *
   * @param now by `performance.now()`
   * @param pollInterval in ms, 0 if this worker does not poll
   */
  next(now: number, pollInterval: number): number {
    if (now - this.askedAt < this.lease * INTERVAL) return 0;
    this.askedAt = now;
    const every = Math.max(1, pollInterval);
    return this.failures.since(this.lookedAt) ? -every : every;
  }

  /** The call has looked. @param sent when it was sent */
  looked(sent: number): void {
    this.lookedAt = sent;
  }

  /** The server may not have noted that it was asked, since it had nothing to look at or the call failed: the next one asks again. */
  again(): void {
    this.askedAt = -Infinity;
  }
}

/** Most jobs that one call asks for. */
const MAX_CLAIMS = 500;
/** Most calls of one function under way at the same time. */
const MAX_CALLS = 2;
/** Fewer outcomes or slots than this are not split between two calls. */
const MIN_SPLIT = 8;

/** What one call carries. */
export interface Call {
  /** The most outcomes that it takes. */
  readonly outcomes: number;
  /** How many jobs it asks for. */
  readonly slots: number;
}

/**
 * Decides when calls of one function are made, and what each carries. At most two are under way, and further outcomes
 * and claims go with the next call, so under load a job costs fewer calls.
 */
export class CallPlan {
  private wantsClaims = false;
  private underWay = 0;
  /** For how many slots the calls under way have asked for jobs. */
  private asked = 0;
  private isScheduled = false;

  /** Calls `begin` at the end of this tick, so that a settle and the following claim share a call. */
  schedule(begin: () => void): void {
    if (this.isScheduled || this.isFull) return;
    this.isScheduled = true;
    process.nextTick(() => {
      this.isScheduled = false;
      begin();
    });
  }

  /** Makes the next call ask for as many jobs as there are free slots. */
  wantClaims(): void {
    this.wantsClaims = true;
  }

  /**
   * Begins the next call, if there is anything to send.
   *
   * @param outcomes how many outcomes wait to be sent
   * @param slots how many slots are free, including those that calls under way have asked for
   */
  next(outcomes: number, slots: number): Call | undefined {
    const free = this.wantsClaims ? this.unasked(slots) : 0;
    if (this.isFull || (outcomes === 0 && free === 0)) return undefined;
    const call = { outcomes: this.share(outcomes), slots: Math.min(MAX_CLAIMS, this.share(free)) };
    this.wantsClaims &&= call.slots < free;
    this.underWay += 1;
    this.asked += call.slots;
    return call;
  }

  /** Records that a call has ended and its claims were passed on. @param failed whether it must be repeated */
  end({ slots }: Call, failed = false): void {
    this.underWay -= 1;
    this.asked -= slots;
    if (failed && slots > 0) this.wantsClaims = true;
  }

  /** Reserves slots for a call outside this plan; returns how many, perhaps 0. Call `giveSlots` afterwards. */
  takeSlots(slots: number): number {
    const taken = Math.min(MAX_CLAIMS, this.unasked(slots));
    this.asked += taken;
    return taken;
  }

  /** Ends the reservation of `takeSlots`. */
  giveSlots(taken: number): void {
    this.asked -= taken;
  }

  private get isFull(): boolean {
    return this.underWay === MAX_CALLS;
  }

  private unasked(slots: number): number {
    return Math.max(0, slots - this.asked);
  }

  /** The first of two calls takes half, so that the server works on one while handlers work on the other. */
  private share(count: number): number {
    return this.underWay === 0 && count >= MIN_SPLIT ? Math.ceil(count / 2) : count;
  }
}
