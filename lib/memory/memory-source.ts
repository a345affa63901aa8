import { setImmediate } from 'node:timers';
import { readJobOptions } from '../gearmonkey/core/wire/job-options.js';
import { Ticker } from '../gearmonkey/features/schedules/ticker.js';
import { systemClock } from '../job/clock.js';
import type { Health } from '../job/health.js';
import type { Claim, FreeSlots, JobSource, OnRevoked, Outcome, SourceLimit } from '../job/job-source.js';
import type { Keep } from '../job/keep.js';
import { ALL_CAPABILITIES } from '../job/source-capabilities.js';
import { MemoryRecords } from './memory-records.js';
import { MemorySchedules, waitOf } from './memory-schedules.js';
import type { MemoryServer } from './memory-server.js';
import { showAs } from '../job/show-as.js';

const MAX_SLEEP_MS = 60_000;

export interface MemorySourceOptions {
  /** How long a claim holds without being renewed, in ms. @default 8000 */
  lease?: number;
  /** Whether it counts what happens to jobs, for statistics. @default true */
  statistics?: boolean;
  /** How long ended jobs can be read, unless `setKeep` says otherwise. @default 25 hours */
  keep?: Keep;
}

/** Jobs of the embedded server. */
export class MemorySource implements JobSource {
  static {
    showAs(MemorySource, ({ address, opened }) => ({ server: address, functions: [...opened.keys()] }));
  }

  readonly system = 'memory';
  readonly capabilities = ALL_CAPABILITIES;
  readonly address = 'memory:';
  readonly records: MemoryRecords;
  readonly renewInterval: number;
  private readonly lease: number;
  private readonly counts: boolean;
  /** The functions this worker runs, each with the call that signs off from it. */
  private readonly opened = new Map<string, () => void>();
  private readonly limits = new Map<string, SourceLimit>();
  private readonly keep: Keep | undefined;
  private readonly kept = new Map<string, Keep>();
  private readonly held = new Set<Claim>();
  private onRevoked: OnRevoked = () => undefined;
  /** Creates recurring jobs when they are due. */
  private readonly ticker: Ticker;

  constructor(
    private readonly server: MemoryServer,
    options: MemorySourceOptions = {},
  ) {
    this.records = new MemoryRecords(server);
    this.lease = options.lease ?? 8000;
    this.counts = options.statistics ?? true;
    this.keep = options.keep;
    this.renewInterval = this.lease / 4;
    this.ticker = new Ticker(new MemorySchedules(server, systemClock), () => undefined);
  }

  /** Always connected: the server is in this process. */
  health(): Health {
    return { connected: true, server: this.address };
  }

  async open(functions: readonly string[], onRevoked: OnRevoked = this.onRevoked): Promise<void> {
    this.onRevoked = onRevoked;
    for (const fn of functions.filter((name) => !this.opened.has(name))) {
      const server = this.server.function(fn);
      const limit = this.limits.get(fn);
      if (limit) server.limits.declare(limit.rules, Date.now());
      server.lists.setKeep(this.keep, this.kept.get(fn));
      const tell = (id: string, token: number) => this.revoke(fn, id, token);
      server.workers += 1;
      server.cancellations.add(tell);
      const tick = () => this.ticker.expect(fn, waitOf(server, Date.now()));
      server.schedules.tickers.add(tick);
      tick();
      this.opened.set(fn, () => {
        server.workers -= 1;
        server.cancellations.delete(tell);
        server.schedules.tickers.delete(tick);
        this.ticker.forget(fn);
      });
    }
  }

  setLimit(fn: string, limit: SourceLimit): void {
    this.limits.set(fn, limit);
  }

  setKeep(fn: string, keep: Keep): void {
    this.kept.set(fn, keep);
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    while (!signal.aborted) {
      if (this.hasEndedLeases(slots)) await timersTurn();
      // Jobs that only wait for each other would leave no room for timers and sockets.
      else await eventLoopTurn();
      if (signal.aborted) break;
      const claims = this.claimNow(slots);
      if (claims.length > 0) return claims;
      await this.sleep(slots, signal);
    }
    return [];
  }

  async renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return claims.filter(
      ({ fn, id, token }) => !this.server.function(fn).renew(id, token, this.lease, Date.now()),
    );
  }

  async progress({ fn, id, token }: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.server.function(fn).progress(id, token, dividend, divisor);
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    for (const { claim } of outcomes) this.held.delete(claim);
    const refused = new Set(outcomes.filter((outcome) => !this.accept(outcome)));
    if (this.counts)
      for (const outcome of outcomes)
        if (!refused.has(outcome)) this.server.statistics(outcome.claim.fn).ended(outcome, Date.now());
    return Array.from(refused, ({ claim }) => claim);
  }

  async withdraw(functions: readonly string[]): Promise<void> {
    for (const fn of functions) {
      this.opened.get(fn)?.();
      this.opened.delete(fn);
      this.limits.delete(fn);
      this.kept.delete(fn);
    }
  }

  async close(): Promise<void> {
    await this.withdraw([...this.opened.keys()]);
    this.ticker.close();
  }

  private hasEndedLeases(slots: FreeSlots): boolean {
    const now = Date.now();
    return slots.functions().some((fn) => this.server.function(fn).leases.nextExpiry <= now);
  }

  private claimNow(slots: FreeSlots): Claim[] {
    this.server.flowExpiries.end(Date.now());
    const claims = slots.functions().flatMap((fn) =>
      this.server
        .function(fn)
        .claim(slots.of(fn), this.lease, Date.now(), { keyOf: this.limits.get(fn)?.keyOf })
        .map(({ options, ...taken }) => ({
          fn,
          ...taken,
          options: readJobOptions(options),
        })),
    );
    for (const claim of claims) this.held.add(claim);
    for (const { fn, waited } of this.counts ? claims : [])
      if (waited !== undefined) this.server.statistics(fn).waited(waited, Date.now());
    return claims;
  }

  private accept({ claim: { fn, id, token }, ...outcome }: Outcome): boolean {
    const owner = this.server.function(fn);
    const now = Date.now();
    if (outcome.status === 'released') return owner.release(id, token, now);
    if (outcome.status === 'held') return owner.release(id, token, now, outcome.delay);
    if (outcome.status === 'retry') return owner.retry(id, token, outcome.error, outcome.delay, now);
    if (outcome.status === 'snoozed') return owner.snooze(id, token, outcome.delay, now, outcome.waitsFor);
    if (outcome.status === 'success')
      return owner.finish(id, token, 'success', outcome.output, undefined, now);
    return owner.finish(id, token, 'error', outcome.error.message, outcome.error, now);
  }

  private revoke(fn: string, id: string, token: number): void {
    for (const claim of this.held) {
      if (claim.fn !== fn || claim.id !== id || claim.token !== token) continue;
      this.held.delete(claim);
      this.onRevoked(claim, 'cancelled');
    }
  }

  /** Waits until a job is enqueued, given back or due, a lease ends, or another function gets a slot. */
  private sleep(slots: FreeSlots, signal: AbortSignal): Promise<void> {
    const functions = slots.functions().map((fn) => this.server.function(fn));
    const expiry = Math.max(0, this.server.flowExpiries.next - Date.now());
    const wait = Math.min(...functions.map((fn) => fn.outlook(Date.now())), expiry, MAX_SLEEP_MS);
    return new Promise((resolve) => {
      const wakeUp = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wakeUp);
        ignoreSlots();
        for (const { sleepers } of functions) sleepers.delete(wakeUp);
        resolve();
      };
      const timer = setTimeout(wakeUp, wait);
      const ignoreSlots = slots.onFree(wakeUp);
      signal.addEventListener('abort', wakeUp, { once: true });
      for (const { sleepers } of functions) sleepers.add(wakeUp);
    });
  }
}

/**
 * All workers live in this process, so while its event loop is blocked no lease can be renewed. Pending renewals and
 * outcomes run first; only then are expired jobs given to other workers.
 */
function timersTurn(): Promise<void> {
  // Timers that were due before this one fire first.
  return new Promise((resolve) => setTimeout(resolve, 1));
}

/** The module's, which no fake timers of a test replace. */
function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
