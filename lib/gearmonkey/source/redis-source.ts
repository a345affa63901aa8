import { randomUUID } from 'node:crypto';
import { messageOf } from '../../job/errors.js';
import type { Claim, JobSource, FreeSlots, OnRevoked, Outcome, SourceHealth } from '../../job/job-source.js';
import { ALL_CAPABILITIES } from '../../job/source-capabilities.js';
import { byFunction } from './by-function.js';
import { Holdings } from './holdings.js';
import { openWaker } from './cluster-waker.js';
import { SourceFrame } from '../../redis/source-frame.js';
import { PlainJobs } from './plain-jobs.js';
import { Problems } from './problems.js';
import { requireWorkerRights } from '../wire/rights.js';
import { SOURCE_DEFAULTS, type RedisSourceOptions, type SourceConnections } from './source-options.js';
import { Turns } from './turns.js';
import type { WorkSignal } from './waker.js';

/** Jobs of a Redis server, by the GearMonkey protocol. */
export class RedisSource implements JobSource {
  readonly capabilities = ALL_CAPABILITIES;
  readonly renewInterval?: number;
  readonly claimsAhead = true;
  private readonly worker = randomUUID();
  private readonly turns = new Map<string, Turns>();
  private readonly waker: WorkSignal;
  private readonly frame: SourceFrame;
  private readonly plainJobs: PlainJobs;
  private readonly holdings: Holdings;
  private readonly opened = new Set<string>();
  /** Functions of which nothing is known to wait: the waker tells when that changes. */
  private readonly asleep = new Set<string>();
  private readonly options: Required<RedisSourceOptions>;
  private readonly problems: Problems;
  private onRevoked: OnRevoked = () => undefined;
  /** Answers the claim that waits. */
  private waiting: ((claims: readonly Claim[]) => void) | undefined;
  private slots: FreeSlots | undefined;
  private spare: Claim[] = [];
  /** Whether nobody claims any more: a worker that drains leaves all work to others. */
  private resting = false;

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
    this.waker = this.openWaker();
    this.frame = new SourceFrame({ ...connections, blocking: this.waker }, (message) =>
      this.problems.report('close', message),
    );
    this.plainJobs = new PlainJobs(connections, keysOf, (fn) => this.waker.look(fn));
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
    this.resting = false;
    if (this.spare.length > 0 || signal.aborted) return Promise.resolve(this.spare.splice(0));
    return new Promise((resolve) => {
      const stop = () => {
        this.answer([]);
        setImmediate(() => this.rest());
      };
      this.waiting = (claims) => {
        signal.removeEventListener('abort', stop);
        ignoreSlots();
        resolve(claims);
      };
      signal.addEventListener('abort', stop, { once: true });
      const claimOf = (fn: string) => (this.asleep.has(fn) ? undefined : this.turnsOf(fn).claim());
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
    this.waker.disconnect();
    this.opened.clear();
  }

  private async signOff(opened: Promise<void>): Promise<void> {
    this.holdings.refuse();
    await opened;
    this.plainJobs.close();
    await this.waker.close();
    await Promise.all([...this.turns.values()].map((turns) => turns.stop()));
    await this.giveBack(this.spare.splice(0));
    await this.holdings.signOff();
  }

  /** The leases are kept until their outcomes have been taken. */
  private async settleOf(fn: string, outcomes: readonly Outcome[]): Promise<Claim[]> {
    try {
      return await this.turnsOf(fn).settle(outcomes);
    } finally {
      for (const { claim } of outcomes) this.holdings.drop(claim);
    }
  }

  private openWaker(): WorkSignal {
    return openWaker(this.connections, this.worker, this.options.keysOf, {
      onWork: (fn) => {
        this.asleep.delete(fn);
        this.turnsOf(fn).claim();
      },
      hasSlots: (fn) => (this.slots?.of(fn) ?? 0) > 0,
      claimBehind: (fn, ...call) => this.turnsOf(fn).claimBehind(...call),
      onRefused: (error) =>
        this.problems.report('wait', `Waiting for work is tried again: ${messageOf(error)}`),
      onListen: (fn, listens) => this.plainJobs.listen(fn, listens),
      recall: (fn) => this.recall(fn),
    });
  }

  private turnsOf(fn: string): Turns {
    let turns = this.turns.get(fn);
    if (!turns) {
      turns = new Turns(fn, {
        ...this.options,
        connection: this.connections.commands,
        worker: this.worker,
        slots: (name) => (this.waiting && this.slots?.of(name)) ?? 0,
        onTurn: (...turn) => this.onTurn(...turn),
        onPlain: (name) => this.plainJobs.saw(name),
        onProblem: (kind, message) => this.problems.report(kind, message),
      });
      this.turns.set(fn, turns);
    }
    return turns;
  }

  /** The newest first, so that the oldest is in front again in the end. */
  private giveBack(claims: readonly Claim[]): Promise<unknown> {
    return this.settle(claims.toReversed().map((claim) => ({ claim, status: 'released' })));
  }

  /** Claims whose reply never came would wait for their leases to end. */
  private async recall(fn: string): Promise<void> {
    const noted = await this.turnsOf(fn).lastBehind();
    const lost = noted.filter((claim) => !this.holdings.holds(claim));
    if (lost.length > 0) await this.giveBack(lost);
  }

  private onTurn(fn: string, claims: readonly Claim[], wait: number, asked: number): void {
    this.frame.replied();
    if (claims.length === asked) {
      this.asleep.delete(fn);
      this.waker.awake(fn);
    } else if (!this.resting) {
      this.asleep.add(fn);
      this.waker.sleep(fn, wait);
    }
    if (claims.length === 0) return;
    this.holdings.add(claims);
    if (this.waiting) this.answer(claims);
    else if ((this.slots?.of(fn) ?? 0) > 0) this.spend(claims);
    else this.returnUnused(claims);
  }

  /** Whoever was answered in this tick claims again before it is over, or not at all. */
  private spend(claims: readonly Claim[]): void {
    this.spare.push(...claims);
    setImmediate(() => this.returnUnused(this.spare.splice(0)));
  }

  private returnUnused(claims: readonly Claim[]): void {
    this.giveBack(claims).catch((error: unknown) => this.problems.report('back', messageOf(error)));
  }

  /** Unless it is claimed again: waits for no work, so that no marker or job goes to who would not take it. */
  private rest(): void {
    if (this.waiting || this.resting) return;
    this.resting = true;
    this.asleep.clear();
    this.waker.rest();
  }

  private answer(claims: readonly Claim[]): void {
    this.waiting?.(claims);
    this.waiting = undefined;
  }
}
