import { randomUUID } from 'node:crypto';
import { messageOf } from '../../job/errors.js';
import type { Claim, JobSource, FreeSlots, OnRevoked, Outcome, SourceHealth } from '../../job/job-source.js';
import { ALL_CAPABILITIES } from '../../job/source-capabilities.js';
import { byFunction } from './by-function.js';
import { FunctionStates } from './function-states.js';
import { Holdings } from './holdings.js';
import { openNotifier } from './cluster-notifier.js';
import { SourceFrame } from '../../redis/source-frame.js';
import { PlainJobs } from './plain-jobs.js';
import { Problems } from './problems.js';
import { requireWorkerRights } from '../wire/rights.js';
import { SOURCE_DEFAULTS, type RedisSourceOptions, type SourceConnections } from './source-options.js';
import type { Notifier } from './notifier.js';
import { RoundTrips } from './round-trips.js';
import { showAs } from '../../job/show-as.js';

/** A claim that waits. An object: functions kept in a field one after the other live until the next full collection. */
interface Waiting {
  answer(claims: readonly Claim[]): void;
}

/** Jobs of a Redis server, by the GearMonkey protocol. */
export class RedisSource implements JobSource {
  static {
    showAs(RedisSource, ({ connections, opened }) => ({
      server: connections.commands.address,
      functions: [...opened],
    }));
  }

  readonly capabilities = ALL_CAPABILITIES;
  readonly renewInterval?: number;
  readonly claimsAhead = true;
  private readonly worker = randomUUID();
  private readonly trips = new Map<string, RoundTrips>();
  private readonly notifier: Notifier;
  private readonly frame: SourceFrame;
  private readonly plainJobs: PlainJobs;
  private readonly holdings: Holdings;
  private readonly opened = new Set<string>();
  private readonly states = new FunctionStates();
  private readonly options: Required<RedisSourceOptions>;
  private readonly problems: Problems;
  private onRevoked: OnRevoked = () => undefined;
  private waiting: Waiting | undefined;
  private slots: FreeSlots | undefined;
  private spare: Claim[] = [];

  constructor(
    private readonly connections: SourceConnections,
    options: RedisSourceOptions = {},
  ) {
    this.options = { ...SOURCE_DEFAULTS, ...options };
    const { lease, presence, keysOf, onProblem } = this.options;
    if (!connections.keeper) this.renewInterval = lease / 4;
    this.problems = new Problems(onProblem);
    this.holdings = new Holdings(connections, {
      worker: this.worker,
      lease,
      presence,
      keysOf,
      bySlot: typeof connections.blocking === 'function',
      onRevoked: (...revoked) => this.onRevoked(...revoked),
      onProblem: (message) => this.problems.report(message, message),
    });
    this.notifier = this.openNotifier();
    this.frame = new SourceFrame({ ...connections, blocking: this.notifier }, (message) =>
      this.problems.report('close', message),
    );
    this.plainJobs = new PlainJobs(connections, keysOf, (fn) => this.notifier.look(fn));
  }

  health(): SourceHealth {
    const health = this.frame.health();
    return this.opened.size > 0 ? { ...health, leasesKeptBy: this.holdings.keptBy } : health;
  }

  reach(timeout: number): Promise<void> {
    return this.frame.reach(timeout);
  }

  async open(functions: readonly string[], onRevoked: OnRevoked = this.onRevoked): Promise<void> {
    this.onRevoked = onRevoked;
    const added = functions.filter((fn) => !this.opened.has(fn));
    if (added.length === 0) return;
    await this.frame.open(async (opening) => {
      await requireWorkerRights(this.connections, added, this.worker, this.options.keysOf);
      await this.holdings.open(added, opening);
    });
    for (const fn of added) this.opened.add(fn);
  }

  claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    this.slots = slots;
    this.states.resume();
    if (this.spare.length > 0 || signal.aborted) return Promise.resolve(this.spare.splice(0));
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
      const claimOf = (fn: string) => (this.states.isWaiting(fn) ? undefined : this.tripsOf(fn).claim());
      const ignoreSlots = slots.onFree(claimOf);
      for (const fn of slots.functions()) claimOf(fn);
    });
  }

  renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return this.holdings.renew(claims);
  }

  setDeadline(claim: Claim, ms: number): void {
    this.holdings.setDeadline(claim, ms);
  }

  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.holdings.progress(claim, dividend, divisor);
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const groups = [...byFunction(outcomes, ({ claim }) => claim.fn)];
    const refused = await Promise.all(groups.map(([fn, those]) => this.settleOf(fn, those)));
    return refused.flat();
  }

  async close(): Promise<void> {
    this.answer([]);
    await this.frame.close((opened) => this.signOff(opened));
    await this.holdings.stop();
    this.notifier.disconnect();
    this.opened.clear();
  }

  private async signOff(opened: Promise<void>): Promise<void> {
    this.holdings.refuse();
    await opened;
    this.plainJobs.close();
    await this.notifier.close();
    await Promise.all([...this.trips.values()].map((trips) => trips.stop()));
    await this.giveBack(this.spare.splice(0));
    await this.holdings.signOff();
  }

  /** The leases are kept until their outcomes have been taken. */
  private async settleOf(fn: string, outcomes: readonly Outcome[]): Promise<Claim[]> {
    try {
      return await this.tripsOf(fn).settle(outcomes);
    } finally {
      for (const { claim } of outcomes) this.holdings.drop(claim);
    }
  }

  private openNotifier(): Notifier {
    return openNotifier(this.connections, this.worker, this.options.keysOf, this.states, {
      onWork: (fn) => this.tripsOf(fn).claim(),
      hasSlots: (fn) => (this.slots?.of(fn) ?? 0) > 0,
      claimBehind: (fn, ...call) => this.tripsOf(fn).claimBehind(...call),
      onRefused: (error) =>
        this.problems.report('wait', `Waiting for work is tried again: ${messageOf(error)}`),
      onListen: (fn, listens) => this.plainJobs.listen(fn, listens),
      recall: (fn) => this.recall(fn),
    });
  }

  private tripsOf(fn: string): RoundTrips {
    let trips = this.trips.get(fn);
    if (!trips) {
      trips = new RoundTrips(fn, {
        ...this.options,
        connection: this.connections.commands,
        worker: this.worker,
        slots: (name) => (this.waiting && this.slots?.of(name)) ?? 0,
        onReply: (...reply) => this.onReply(...reply),
        onPlain: (name) => this.plainJobs.saw(name),
        onProblem: (kind, message) => this.problems.report(kind, message),
      });
      this.trips.set(fn, trips);
    }
    return trips;
  }

  /** Newest first, which leaves the oldest in front. */
  private giveBack(claims: readonly Claim[]): Promise<unknown> {
    return this.settle(claims.toReversed().map((claim) => ({ claim, status: 'released' })));
  }

  /** Claims whose reply never came would wait for their leases to end. */
  private async recall(fn: string): Promise<void> {
    const noted = await this.tripsOf(fn).lastBehind();
    const lost = noted.filter((claim) => !this.holdings.holds(claim));
    if (lost.length > 0) await this.giveBack(lost);
  }

  private onReply(fn: string, claims: readonly Claim[], wait: number, asked: number): void {
    this.frame.replied();
    this.states.apply(fn, claims.length === asked ? 'filled' : 'short');
    this.states.expect(fn, wait);
    if (this.states.isWaiting(fn)) this.notifier.await(fn);
    if (claims.length === 0) return;
    this.holdings.add(claims);
    if (this.waiting) this.answer(claims);
    else if ((this.slots?.of(fn) ?? 0) > 0) this.spend(claims);
    else this.returnUnused(claims);
  }

  /** Workers that were answered in this tick claim again before it is over, or not at all. */
  private spend(claims: readonly Claim[]): void {
    this.spare.push(...claims);
    setImmediate(() => this.returnUnused(this.spare.splice(0)));
  }

  private returnUnused(claims: readonly Claim[]): void {
    this.giveBack(claims).catch((error: unknown) => this.problems.report('back', messageOf(error)));
  }

  /** Unless it is claimed again. */
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
