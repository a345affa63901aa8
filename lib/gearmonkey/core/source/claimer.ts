import type { Cluster, Redis } from 'ioredis';
import { messageOf } from '../../../job/errors.js';
import type { Claim, FreeSlots } from '../../../job/job-source.js';
import { showAs } from '../../../job/show-as.js';
import { groupBy } from './group-by.js';
import { CallFailures, CallPlan, RoundTrips, type Call, type Reply } from './round-trips.js';
import { openNotifier } from './cluster-notifier.js';
import { FunctionStates } from './function-states.js';
import type { Notifier, NotifierListener } from './notifier.js';
import type { SourceOutcome } from './outbox.js';
import { PlainJobs } from './plain-jobs.js';
import { droppedLine, type Problems } from './problems.js';
import type { SourceFrame } from '../../../redis/source-frame.js';
import type { HeldClaims } from './held-claims.js';
import type { SourceFeatures } from './source-features.js';
import type { RedisSourceOptions, SourceConnections } from './source-options.js';
import { clearTimeout, setTimeout } from 'node:timers';

interface FunctionCalls {
  readonly plan: CallPlan;
  readonly trips: RoundTrips;
}

/**
 * Claims and settles jobs. The state of each function in `FunctionStates` decides how: if there may be jobs, it makes
 * round trips; if not, the notifier waits. The first reply with jobs resolves the worker's claim.
 */
export class Claimer implements NotifierListener {
  static {
    showAs(Claimer, ({ functions }) => ({ functions: [...functions.keys()] }));
  }

  private readonly functions = new Map<string, FunctionCalls>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly states: FunctionStates;
  private readonly failures = new CallFailures();
  readonly notifier: Notifier;
  private readonly plainJobs: PlainJobs;
  private readonly delays = new ShortDelays((fn) =>
    this.report(`Looking for jobs of "${fn}" that are due`, this.notifier.look(fn)),
  );
  /** One object instead of several fields with functions, which would live until a full garbage collection. */
  private waiting: { answer(claims: readonly Claim[]): void } | undefined;
  private slots: FreeSlots | undefined;
  private readonly spare = new SpareClaims((claims) => this.returned(claims));

  constructor(private readonly parts: ClaimerParts) {
    const { connections, worker, duties } = parts;
    const housekeeper = () => parts.housekeeper();
    const { keysOf, onIllegal, pollInterval } = parts.options;
    const states = (this.states = new FunctionStates(onIllegal));
    const { commands } = connections;
    const notified = {
      commands,
      worker,
      keysOf,
      housekeeper,
      duties,
      states,
      failures: this.failures,
      listener: this,
      pollInterval,
    };
    this.notifier = openNotifier(notified, connections.blocking);
    this.plainJobs = new PlainJobs(connections, keysOf, (fn) => this.notifier.look(fn));
  }

  claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    this.slots = slots;
    this.states.resume();
    if (!this.spare.isEmpty || signal.aborted) return Promise.resolve(this.spare.take());
    return new Promise((resolve) => {
      const stop = () => {
        this.answer([]);
        setImmediate(() => this.drain());
      };
      this.waiting = {
        answer: (claims) => {
          signal.removeEventListener('abort', stop);
          ignoreSlots();
          resolve(claims);
        },
      };
      signal.addEventListener('abort', stop, { once: true });
      const claimOf = (fn: string) => (this.states.isWaiting(fn) ? undefined : this.onWork(fn));
      const ignoreSlots = slots.onFree(claimOf);
      for (const fn of slots.functions()) claimOf(fn);
    });
  }

  /** Writes outcomes; returns the claims that were no longer held. */
  async settle(outcomes: readonly SourceOutcome[]): Promise<readonly Claim[]> {
    const fn = outcomes[0]?.claim.fn;
    if (fn !== undefined && outcomes.every(({ claim }) => claim.fn === fn))
      return this.settleOf(fn, outcomes);
    const groups = [...groupBy(outcomes, ({ claim }) => claim.fn)];
    return (await Promise.all(groups.map(([fn, those]) => this.settleOf(fn, those)))).flat();
  }

  /** The worker runs jobs of a function from now on. */
  serve(fn: string): void {
    this.functions.get(fn)?.trips.reopen();
    this.notifier.serve(fn);
  }

  /** Stops waiting for jobs of a function that the worker no longer runs. */
  async withdraw(fn: string): Promise<void> {
    for (const duty of this.parts.duties) duty.forget?.(fn);
    await this.notifier.leave(fn);
    if (this.functions.get(fn)?.trips.outcomes === 0) this.functions.delete(fn);
  }

  /** Ends a waiting claim; jobs claimed from now on are released. */
  stop(): void {
    this.answer([]);
  }

  /** Resolves when no call is under way. */
  async close(): Promise<void> {
    this.plainJobs.close();
    this.delays.close();
    for (const duty of this.parts.duties) duty.close?.();
    await this.notifier.close();
    for (const { trips } of this.functions.values()) trips.stop();
    while (this.underWay.size > 0) await Promise.all(this.underWay);
    await this.giveBack(this.spare.take());
  }

  /** Ends everything that still waits for the server. */
  disconnect(): void {
    this.notifier.disconnect();
  }

  onWork(fn: string): void {
    const calls = this.callsOf(fn);
    calls.plan.wantClaims();
    calls.plan.schedule(() => this.begin(fn, calls));
  }

  hasSlots(fn: string): boolean {
    return (this.slots?.of(fn) ?? 0) > 0;
  }

  async claimBehind(fn: string, redis: Redis | Cluster, blocked: number): Promise<boolean> {
    const { plan, trips } = this.callsOf(fn);
    const slots = plan.takeSlots(this.freeSlots(fn));
    if (slots === 0) return false;
    try {
      this.take(fn, await trips.makeBehind(redis, blocked, slots), slots);
      return true;
    } finally {
      plan.giveSlots(slots);
    }
  }

  onRefused(error: unknown): void {
    this.parts.problems.report('wait', `Waiting for work is tried again: ${messageOf(error)}`);
  }

  onListen(fn: string, listens: boolean): void {
    this.plainJobs.listen(fn, listens);
  }

  /** Releases claims whose reply never came: otherwise they would wait until their leases end. */
  async recall(fn: string): Promise<void> {
    const noted = await this.callsOf(fn).trips.lastBehind();
    await this.giveBack(noted.filter((claim) => !this.parts.held.holds(claim)));
  }

  /** Renews the leases until the server has taken the outcomes. */
  private async settleOf(fn: string, outcomes: readonly SourceOutcome[]): Promise<Claim[]> {
    try {
      const calls = this.callsOf(fn);
      const settled = calls.trips.settle(outcomes);
      calls.plan.schedule(() => this.begin(fn, calls));
      const lost = await settled;
      for (const outcome of outcomes) if ('delay' in outcome) this.delays.expect(fn, outcome.delay);
      return lost;
    } finally {
      for (const { claim } of outcomes) this.parts.held.drop(claim);
    }
  }

  private callsOf(fn: string): FunctionCalls {
    let calls = this.functions.get(fn);
    if (!calls) {
      const { connections, options, keys, kept, ...others } = this.parts;
      const rulesOf = (one: string) => ({ isLimited: keys.has(one), keep: kept.of(one) });
      const storeLimit = () => this.report(`Storing the limit of "${fn}" again`, keys.store([fn]));
      const onAwaited = () => others.onAwaited(fn);
      const told = { connection: connections.commands, rulesOf, storeLimit, onAwaited };
      const { failures } = this;
      const trips = new RoundTrips(fn, { ...options, ...others, ...told, failures });
      calls = { plan: new CallPlan(), trips };
      this.functions.set(fn, calls);
    }
    return calls;
  }

  /** How many jobs of `fn` the waiting claim can take. */
  private freeSlots(fn: string): number {
    return (this.waiting && this.slots?.of(fn)) ?? 0;
  }

  private begin(fn: string, calls: FunctionCalls): void {
    const { plan, trips } = calls;
    for (;;) {
      const call = plan.next(trips.outcomes, this.freeSlots(fn));
      if (!call) return;
      const trip = this.roundTrip(fn, calls, call);
      this.underWay.add(trip);
      void trip.then(() => this.underWay.delete(trip));
    }
  }

  /** Never rejects. */
  private async roundTrip(fn: string, calls: FunctionCalls, call: Call): Promise<void> {
    const reply = await calls.trips.make(call);
    try {
      if (reply && call.slots > 0) this.take(fn, reply, call.slots);
    } catch (error) {
      // Their leases end, and others begin them.
      for (const claim of reply?.claims ?? []) this.parts.held.drop(claim);
      this.parts.problems.report('take', `Claimed jobs of "${fn}" were not begun: ${messageOf(error)}`);
    }
    calls.plan.end(call, !reply);
    this.begin(fn, calls);
  }

  /** @param asked how many jobs the call asked for */
  private take(fn: string, { claims, unfiled, dropped, wait, plain }: Reply, asked: number): void {
    const { frame, problems } = this.parts;
    if (dropped.length > 0) problems.report(`dropped ${fn}`, droppedLine(fn, dropped));
    if (plain) this.plainJobs.saw(fn);
    if (unfiled.length > 0)
      void this.report(`Giving jobs of "${fn}" their keys`, this.settle(this.parts.keys.file(fn, unfiled)));
    frame.replied();
    this.states.apply(fn, claims.length === asked ? 'filled' : 'short');
    this.states.expect(fn, wait);
    if (this.states.isWaiting(fn)) this.notifier.await(fn);
    if (claims.length === 0) return;
    if (this.waiting) this.answer(claims);
    else if (this.hasSlots(fn)) this.spare.keep(claims);
    else this.returned(claims);
  }

  private returned(claims: readonly Claim[]): void {
    const functions = [...new Set(claims.map(({ fn }) => `"${fn}"`))].join(', ');
    void this.report(`Giving back jobs of ${functions}`, this.giveBack(claims));
  }

  /** Never rejects: what fails is done later, by this worker or others. */
  private async report(what: string, trying: Promise<unknown>): Promise<void> {
    await trying.catch((error: unknown) =>
      this.parts.problems.report(what, `${what} failed: ${messageOf(error)}`),
    );
  }

  /** Releases claims, newest first, so that the oldest ends up in front. */
  private giveBack(claims: readonly Claim[]): Promise<unknown> {
    return this.settle(claims.toReversed().map((claim) => ({ claim, status: 'released' })));
  }

  /** Drains, unless the worker claims again. */
  private drain(): void {
    if (this.waiting || this.states.isDraining) return;
    this.states.drain();
    this.notifier.interrupt();
  }

  private answer(claims: readonly Claim[]): void {
    this.waiting?.answer(claims);
    this.waiting = undefined;
  }
}

/** The parts that a Claimer uses. */
interface ClaimerParts extends SourceFeatures {
  readonly connections: SourceConnections;
  /** This worker's unique name. */
  readonly worker: string;
  readonly options: Required<RedisSourceOptions>;
  readonly held: HeldClaims;
  readonly frame: SourceFrame;
  readonly problems: Problems;
}

/** In ms. What is due later, the leader of the function finds in time: it looks once a second. */
const LONGEST = 1000;

/** In ms. Jobs that are due within as much of each other are looked for once. */
const TOGETHER = 10;

/** Looks for jobs when they are due that this worker has put off for less than a second. */
export class ShortDelays {
  private readonly timers = new Map<string, NodeJS.Timeout>();

  /** @param look whether a function has work; sets its wake marker then */
  constructor(private readonly look: (fn: string) => unknown) {}

  /** A job of the function is due in so many milliseconds. */
  expect(fn: string, wait: number): void {
    if (wait >= LONGEST) return;
    const at = Math.ceil((performance.now() + wait) / TOGETHER);
    const key = `${at} ${fn}`;
    if (this.timers.has(key)) return;
    const ring = () => {
      this.timers.delete(key);
      this.look(fn);
    };
    this.timers.set(key, setTimeout(ring, at * TOGETHER - performance.now() + 1).unref());
  }

  close(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
  }
}

/** Claims of a second reply in the same tick as the first, for a worker that claims again in this tick. */
export class SpareClaims {
  private claims: Claim[] = [];

  /** @param release gives back those that were not taken */
  constructor(private readonly release: (claims: readonly Claim[]) => void) {}

  get isEmpty(): boolean {
    return this.claims.length === 0;
  }

  keep(claims: readonly Claim[]): void {
    this.claims.push(...claims);
    setImmediate(() => this.release(this.take()));
  }

  take(): Claim[] {
    return this.claims.splice(0);
  }
}
