import * as scripts from '../wire/scripts.js';
import { messageOf } from '../../../job/errors.js';
import { realNow } from '../../../job/real-time.js';
import { defined } from '../../../job/defined.js';
import { ConnectionError } from '../../../job/server-errors.js';
import type { Payload } from '../../../job/codec.js';
import type { Claim, OnRevoked, SourceLeases } from '../../../job/job-source.js';
import type { ChannelHub } from '../../../redis/channel-hub.js';
import { LeaseKeeper, memberOf, type LeaseCall, type LeaseGroup } from '../../../redis/lease-keeper.js';
import type { PlainConnection } from '../../../redis/plain-connection.js';
import type { RedisConnection } from '../../../redis/redis-connection.js';
import type { Opening } from '../../../redis/source-frame.js';
import { groupBy } from './group-by.js';
import { recordFields } from './record-fields.js';
import type { Cluster, Redis } from 'ioredis';
import { chunksOf } from '../../../batching/chunks.js';
import { slotOf } from '../../../redis/cluster-slots.js';
import { claimKeys, type KeysOf } from '../wire/protocol.js';
import { NO_OPTIONS, readJobOptions } from '../wire/job-options.js';
import type { TakenJob } from '../wire/scripts.js';

/** Without their methods, which no thread can be sent; one object each, so that it is sent once for all groups. */
const [RENEW, PRESENCE, CLAIM] = [scripts.renew, scripts.presence, scripts.claim].map(({ sha, text }) => ({
  sha,
  text,
})) as [LeaseCall['script'], LeaseCall['script'], LeaseCall['script']];

export interface HeldClaimsConnections {
  readonly commands: RedisConnection;
  readonly hub: ChannelHub;
  /** The lease keeper's connection; without it the main thread does its work. */
  readonly keeper: PlainConnection | undefined;
  /** The connection option that makes a keeper impossible. */
  readonly obstacle?: string;
}

/** Times in milliseconds. */
export interface HeldClaimsOptions extends PresenceOptions {
  readonly lease: number;
  /** How long `count:{FN}` includes a worker after its last heartbeat. */
  readonly presence: number;
  readonly onRevoked: OnRevoked;
  /** Called with a message for the operator. */
  readonly onProblem: (message: string) => void;
}

/** A worker's presence and claims on a server. It also notices when a claim is lost or cancelled. */
export class HeldClaims implements SourceLeases {
  /** Claims that are not settled, and when each was asked for, or renewed from this thread. */
  private readonly claims = new Map<Claim, number>();
  /** Those whose reply was read late: the keeper has renewed all others meanwhile, and did not know them. */
  private readonly late = new Set<Claim>();
  /** When renewal of claims ends that have a deadline. */
  private readonly deadlines = new Map<Claim, number>();
  /** Claims with an announced cancellation, while their leases are checked. */
  private readonly asked = new Set<Claim>();
  private readonly functions = new Set<string>();
  private keeper?: LeaseKeeper;
  private readonly presence: Presence;
  /** Names of lease groups: each keeps its place, which another takes once its function is withdrawn and no claim of it is left. */
  private readonly groups: string[] = [];
  /** The subscription to each function's cancellations: how to end it, once the server has acknowledged it. */
  private readonly subscriptions = new Map<string, Promise<() => void>>();
  private refused = false;

  constructor(
    private readonly connections: HeldClaimsConnections,
    private readonly options: HeldClaimsOptions,
  ) {
    this.presence = new Presence(options);
  }

  /**
   * Signs this worker on and subscribes to cancellations. What fails half-way is undone by `withdraw`.
   *
   * @throws ConnectionError if the server doesn't answer in time
   */
  async open(functions: readonly string[], { timeout, subscribed }: Opening): Promise<void> {
    const { commands } = this.connections;
    await commands.insist((redis) => this.presence.sign(redis, functions, this.options.presence), timeout);
    for (const fn of functions) this.enter(fn);
    if (this.refused) throw new ConnectionError('The worker did not start', 'it was closed meanwhile');
    this.keep();
    await subscribed(Promise.all(functions.map((fn) => this.subscribe(fn))));
  }

  /** Signs this worker off from those functions that it has signed on to. If that fails, others correct the counts later. */
  async withdraw(functions: readonly string[]): Promise<void> {
    const signed = functions.filter((fn) => this.functions.delete(fn));
    if (signed.length === 0) return;
    for (const fn of signed) this.unsubscribe(fn);
    if (this.keeper) this.keep();
    const { commands } = this.connections;
    if (commands.isReady) await this.presence.sign(await commands.ready(), signed, 0);
  }

  /** Prevents opening from now on: one under way fails, and `signOff` undoes it. */
  refuse(): void {
    this.refused = true;
  }

  /**
   * Those of a function that was withdrawn meanwhile are about to be given back: their leases are not renewed.
   *
   * @param asked when they were asked for, by `realNow`
   */
  add(claims: readonly Claim[], asked: number): void {
    const isLate = realNow() - asked > this.options.lease / 4;
    for (const claim of claims) {
      this.claims.set(claim, asked);
      if (isLate) this.late.add(claim);
      if (this.functions.has(claim.fn)) this.keeper?.hold(claim, claim.fn);
    }
  }

  /** Whether its lease may be over: this process was stopped, or this thread was busy when its reply came, or no other one keeps leases. */
  mayBeLost(claim: Claim): boolean {
    const old = realNow() - this.options.lease / 2;
    if ((this.claims.get(claim) ?? -Infinity) > old) return false;
    if (this.late.has(claim)) return true;
    return Math.min(this.keeper?.renewedAt ?? -Infinity, this.deadlines.get(claim) ?? Infinity) <= old;
  }

  /** Whether this claim is held and not settled; it may be another object. */
  holds({ fn, id, token }: Pick<Claim, 'fn' | 'id' | 'token'>): boolean {
    return this.find(fn, memberOf({ id, token })) !== undefined;
  }

  drop(claim: Claim): void {
    this.claims.delete(claim);
    this.late.delete(claim);
    this.deadlines.delete(claim);
    this.keeper?.drop(claim);
  }

  /** Stops renewing the lease after `ms` milliseconds. */
  setDeadline(claim: Claim, ms: number): void {
    if (ms === Infinity) this.deadlines.delete(claim);
    else this.deadlines.set(claim, realNow() + ms);
    this.keeper?.setDeadline(claim, ms);
  }

  /** The same, and gives the claim back, from the keeper's thread. */
  giveBackAfter(claim: Claim, ms: number): void {
    this.keeper?.setDeadline(claim, ms, true);
  }

  /** Notes that a suspect waits to run alone, or begins. Returns false if the lease is lost; waits as `progress` does. */
  isolate(claim: Claim, begins: boolean): Promise<boolean> {
    return this.record(claim, new Map([['isolated', `${claim.token}:${begins ? 1 : 0}`]]));
  }

  /** Returns false if the lease is lost. During an outage, or while writes are refused, it waits. */
  async progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    const { jobs, leases, progress } = this.options.keysOf(claim.fn);
    const keys = [jobs + claim.id, leases, progress];
    const held = await this.connections.commands.insistForJob(
      (redis) => scripts.progress.run(redis, keys, memberOf(claim), dividend, divisor),
      (error) => this.options.onProblem(`Progress of jobs of "${claim.fn}" waits: ${messageOf(error)}`),
    );
    if (!held) this.drop(claim);
    return held;
  }

  /** Writes fields of the job, and removes others. Returns false if the lease is lost; waits as `progress` does. */
  record(
    claim: Claim,
    fields: ReadonlyMap<string, Payload>,
    removed: readonly string[] = [],
  ): Promise<boolean> {
    const { commands } = this.connections;
    return recordFields(commands, this.options.keysOf, { claim, fields, removed }, (error) =>
      this.options.onProblem(`A write of jobs of "${claim.fn}" waits: ${messageOf(error)}`),
    );
  }

  /** Extends leases from this thread; returns the lost claims. */
  async renew(claims: readonly Claim[]): Promise<Claim[]> {
    const { lease, worker, keysOf } = this.options;
    const redis = await this.connections.commands.ready(lease / 4);
    const asked = realNow();
    const lost = [...groupBy(claims, ({ fn }) => fn)].map(async ([fn, held]) => {
      const { leases, jobs } = keysOf(fn);
      const gone = new Set(
        await scripts.renew.run(redis, [leases, jobs], '', lease, worker, held.map(memberOf)),
      );
      for (const claim of held) {
        if (this.claims.has(claim)) this.claims.set(claim, asked);
        this.late.delete(claim);
      }
      return held.filter((claim) => gone.has(memberOf(claim)));
    });
    return (await Promise.all(lost)).flat();
  }

  /** Removes this worker from the counts. If that fails, others correct them later. */
  async signOff(): Promise<void> {
    await this.stop();
    const { commands } = this.connections;
    await commands.ready(Infinity, { patient: false });
    await commands.insist((redis) => this.presence.sign(redis, [...this.functions], 0));
  }

  /** Stops the keeper and the subscriptions. */
  async stop(): Promise<void> {
    for (const fn of this.subscriptions.keys()) this.unsubscribe(fn);
    await this.keeper?.close();
  }

  private enter(fn: string): void {
    this.functions.add(fn);
    if (this.groups.includes(fn)) return;
    const free = this.groups.findIndex((name) => !this.functions.has(name) && !this.hasClaimsOf(name));
    this.groups[free < 0 ? this.groups.length : free] = fn;
  }

  private hasClaimsOf(fn: string): boolean {
    return [...this.claims.keys()].some((claim) => claim.fn === fn);
  }

  private keep(): void {
    const { lease, presence, keysOf, onProblem } = this.options;
    const shortest = Math.min(lease, presence);
    this.keeper ??= new LeaseKeeper({
      connections: this.connections,
      interval: shortest / 4,
      patience: shortest / 2,
      key: () => keysOf(this.groups[0] ?? '').leases,
      renewHere: (leases) => this.beat(leases),
      onLost: (fn, members) => this.revoke(fn, members, 'lost'),
      onReturned: (fn, members) => this.revoke(fn, members, 'returned'),
      onProblem,
    });
    const beats = new Map(this.presence.signedTogether([...this.functions]).map((keys) => [keys[0], keys]));
    this.keeper.setGroups(this.groups.map((fn) => this.kept(fn, beats.get(keysOf(fn).count))));
  }

  /** @param signed keys of all functions whose presence is signed with this one's */
  private kept(name: string, signed: readonly string[] | undefined): LeaseGroup {
    const { worker, lease, presence, keysOf } = this.options;
    const k = keysOf(name);
    return defined({
      name,
      renew: { script: RENEW, keys: [k.leases, k.jobs], args: ['', lease, worker] },
      beat: signed && { script: PRESENCE, keys: signed, args: ['', worker, presence, 1] },
      // No slots, no look at leases, no bound of an input: outcomes alone, which may free places of limits.
      giveBack: {
        ...{ script: CLAIM, keys: claimKeys(k), args: ['', lease, 0, 0, 0, 0, 0, ''] },
        each: ['released', '', ''],
      },
    });
  }

  /** Which thread renews leases. */
  get keptBy(): 'thread' | 'main thread' {
    return this.keeper?.keptBy ?? 'main thread';
  }

  /** Does the keeper thread's work once. If it fails, the next heartbeat tries again. */
  private async beat(leases: boolean): Promise<void> {
    const signed = this.presence.sign(
      await this.connections.commands.ready(),
      [...this.functions],
      this.options.presence,
      1,
    );
    await Promise.allSettled([signed, leases && this.keepClaims()]);
  }

  private async keepClaims(): Promise<void> {
    for (const claim of await this.renew([...this.claims.keys()]))
      this.revoke(claim.fn, [memberOf(claim)], 'lost');
  }

  private subscribe(fn: string): Promise<unknown> {
    const message = (member: string) => void this.cancelled(fn, member);
    const isPatient = () => this.claims.size === 0;
    const subscription = this.connections.hub.listen(this.options.keysOf(fn).cancel, { message, isPatient });
    this.subscriptions.set(fn, subscription);
    return subscription;
  }

  private unsubscribe(fn: string): void {
    this.subscriptions.get(fn)?.then(
      (stop) => stop(),
      () => undefined,
    );
    this.subscriptions.delete(fn);
  }

  /**
   * Checks the lease after a message that announces a cancellation: any program can publish one, even for a job of
   * another database. If the check fails, the next renewal finds out.
   */
  private async cancelled(fn: string, member: string): Promise<void> {
    const claim = this.find(fn, member);
    if (!claim || this.asked.has(claim)) return;
    this.asked.add(claim);
    if ((await this.renew([claim]).catch(() => [])).length > 0) this.revoke(fn, [member], 'cancelled');
    this.asked.delete(claim);
  }

  private revoke(fn: string, members: readonly string[], why: Parameters<OnRevoked>[1]): void {
    for (const claim of members.map((member) => this.find(fn, member))) {
      if (!claim) continue;
      this.drop(claim);
      this.options.onRevoked(claim, this.asked.has(claim) ? 'cancelled' : why);
    }
  }

  /** The newest one with this member. Few look for one, so a claim costs no text. */
  private find(fn: string, member: string): Claim | undefined {
    const { id, token } = claimOf(fn, member);
    let found: Claim | undefined;
    for (const claim of this.claims.keys())
      if (claim.token === token && claim.id === id && claim.fn === fn) found = claim;
    return found;
  }
}

/** Most functions whose presence one call signs: it blocks the server meanwhile. */
const MAX_SIGNED = 100;

interface PresenceOptions {
  /** This worker's name among all. */
  readonly worker: string;
  readonly keysOf: KeysOf;
  /** Whether a call may only name keys of one slot, as on a cluster. */
  readonly bySlot: boolean;
}

/** Signs a worker on and off. */
export class Presence {
  constructor(private readonly options: PresenceOptions) {}

  /** Signs this worker on for `hold` milliseconds; 0 signs off. */
  sign(
    redis: Redis | Cluster,
    functions: readonly string[],
    hold: number,
    beat: 0 | 1 = 0,
  ): Promise<unknown> {
    const calls = this.signedTogether(functions).map((keys) =>
      scripts.presence.run(redis, keys, '', this.options.worker, hold, beat),
    );
    return Promise.all(calls);
  }

  /** The keys for each call. */
  signedTogether(functions: readonly string[]): string[][] {
    const { keysOf, bySlot } = this.options;
    const groups = groupBy(functions, (fn) => (bySlot ? String(slotOf(keysOf(fn).count)) : ''));
    const calls = [...groups.values()].flatMap((group) => chunksOf(group, MAX_SIGNED));
    return calls.map((some) => some.map(keysOf).flatMap(({ count, workers }) => [count, workers]));
  }
}

/** Converts a script's claim to the worker's. @param maxStalls how often a job may lose its worker */
export function toClaim(fn: string, job: TakenJob, maxStalls = Infinity): Claim {
  const { id, token, input, attempts, stalls, snoozes, waited } = job;
  const options = job.options === '' ? NO_OPTIONS : readJobOptions(job.options);
  const claim = { fn, id, token, input, attempts, stalls, snoozes, waited, options };
  return stalls > 0 && stalls >= maxStalls ? { ...claim, suspect: true } : claim;
}

/** Makes the parts of the claim "id:token" that are needed to release it. */
export function claimOf(fn: string, member: string): Claim {
  const end = member.lastIndexOf(':');
  const [id, token] = [member.slice(0, end), Number(member.slice(end + 1))];
  return { fn, id, token, input: new Uint8Array(), attempts: 1, stalls: 0, options: {} };
}
