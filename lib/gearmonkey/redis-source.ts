import { randomUUID } from 'node:crypto';
import { messageOf } from '../job/errors.js';
import type { Health } from '../job/health.js';
import type { Claim, JobSource, FreeSlots, OnRevoked, Outcome, SourceLimit } from '../job/job-source.js';
import type { Keep } from '../job/keep.js';
import { RefusedError } from '../job/server-errors.js';
import { showAs } from '../job/show-as.js';
import { ALL_CAPABILITIES } from '../job/source-capabilities.js';
import { SourceFrame } from '../redis/source-frame.js';
import { Claimer } from './core/source/claimer.js';
import { FlowSettler } from './features/flows/flow-settler.js';
import { HeldClaims } from './core/source/held-claims.js';
import { Problems } from './core/source/problems.js';
import { RedisRecords } from './features/records/redis-records.js';
import { requireWorkerRights } from './core/wire/rights.js';
import { SourceKeep } from './features/keep/source-keep.js';
import { SourceLimits } from './features/limits/source-limits.js';
import { Housekeeping } from './features/views/housekeeping.js';
import { StatisticsWriter } from './features/views/statistics-writer.js';
import {
  withDefaults,
  type RedisSourceOptions,
  type SourceConnections,
} from './core/source/source-options.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import { isReply } from '../redis/redis-errors.js';
import { RedisSchedules } from './features/schedules/redis-schedules.js';
import { Ticker } from './features/schedules/ticker.js';
import type { FunctionKeys, KeysOf } from './core/wire/protocol.js';

/** Jobs of a Redis server, by the GearMonkey protocol. */
export class RedisSource implements JobSource {
  static {
    showAs(RedisSource, ({ address, opened }) => ({
      server: address,
      functions: [...opened],
    }));
  }

  readonly system: string;
  readonly capabilities = ALL_CAPABILITIES;
  readonly renewInterval?: number;
  readonly claimsAhead = true;
  readonly records: RedisRecords;
  private readonly worker = randomUUID();
  private readonly options: Required<RedisSourceOptions>;
  private readonly held: HeldClaims;
  private readonly claimer: Claimer;
  private readonly frame: SourceFrame;
  private readonly opened = new Set<string>();
  private readonly limits: SourceLimits;
  private readonly keep: SourceKeep;
  private readonly statistics: StatisticsWriter | undefined;
  private onRevoked: OnRevoked = () => undefined;

  constructor(
    private readonly connections: SourceConnections,
    options: RedisSourceOptions = {},
  ) {
    this.options = withDefaults(options);
    this.system = this.options.system;
    const { lease, presence, keysOf, onProblem } = this.options;
    const { worker } = this;
    if (!connections.keeper) this.renewInterval = lease / 4;
    const problems = new Problems(onProblem);
    this.records = recordsOf(connections.commands, keysOf, problems);
    const held = new HeldClaims(connections, {
      worker,
      lease,
      presence,
      keysOf,
      bySlot: typeof connections.blocking === 'function',
      onRevoked: (...revoked) => this.onRevoked(...revoked),
      onProblem: (message) => problems.report(message, message),
    });
    const blocking = {
      get isDown(): boolean {
        return claimer.notifier.isDown;
      },
    };
    const frame = new SourceFrame({ ...connections, blocking }, (message) =>
      problems.report('close', message),
    );
    const limits = new SourceLimits(connections.commands, keysOf);
    const keep = (this.keep = new SourceKeep(this.options.keep));
    if (this.options.statistics)
      this.statistics = new StatisticsWriter(connections.commands, keysOf, problems);
    const ticker = tickerOf(connections.commands, keysOf, problems);
    const claimer = new Claimer({
      connections,
      worker,
      options: this.options,
      held,
      frame,
      problems,
      limits,
      keep,
      ticker,
      flows: new FlowSettler(connections.commands, keysOf, problems),
      housekeeper: () => new Housekeeping(keysOf, keep, () => connections.commands.ready()),
    });
    [this.held, this.frame, this.claimer, this.limits] = [held, frame, claimer, limits];
  }

  get address(): string {
    return this.connections.commands.address;
  }

  health(): Health {
    const health = this.frame.health();
    return this.opened.size > 0 ? { ...health, leasesKeptBy: this.held.keptBy } : health;
  }

  reach(timeout: number): Promise<void> {
    return this.frame.reach(timeout);
  }

  async open(functions: readonly string[], onRevoked: OnRevoked = this.onRevoked): Promise<void> {
    this.onRevoked = onRevoked;
    const added = functions.filter((fn) => !this.opened.has(fn));
    if (added.length === 0) return;
    await this.frame
      .open(async (opening) => {
        const more = (fn: string, k: FunctionKeys) => this.limits.rights(fn, k);
        await requireWorkerRights(this.connections, added, this.worker, this.options.keysOf, more);
        await this.limits.store(added, opening.timeout);
        await this.held.open(added, opening);
      })
      .catch((error: unknown) => {
        throw isReply(error) ? new RefusedError('The start of a worker', error) : error;
      });
    for (const fn of added) {
      this.opened.add(fn);
      this.claimer.notifier.serve(fn);
    }
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    const claims = await this.claimer.claim(slots, signal);
    this.statistics?.claimed(claims);
    return claims;
  }

  renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return this.held.renew(claims);
  }

  setLimit(fn: string, limit: SourceLimit): void {
    this.limits.set(fn, limit);
  }

  setKeep(fn: string, keep: Keep): void {
    this.keep.set(fn, keep);
  }

  setDeadline(claim: Claim, ms: number): void {
    this.held.setDeadline(claim, ms);
  }

  isolate(claim: Claim, begins: boolean): Promise<boolean> {
    return this.records.write(claim, new Map([['isolated', `${claim.token}:${begins ? 1 : 0}`]]), []);
  }

  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.held.progress(claim, dividend, divisor);
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const refused = await this.claimer.settle(outcomes);
    this.statistics?.settled(outcomes, refused);
    return refused;
  }

  async withdraw(functions: readonly string[]): Promise<void> {
    for (const fn of functions) this.opened.delete(fn);
    for (const fn of functions) this.limits.forget(fn);
    await Promise.all(functions.map((fn) => this.claimer.withdraw(fn)));
    await this.held.withdraw(functions);
  }

  async close(): Promise<void> {
    this.claimer.stop();
    await this.frame.close((opened) => this.signOff(opened));
    await this.held.stop();
    this.claimer.disconnect();
    this.opened.clear();
  }

  private async signOff(opened: Promise<void>): Promise<void> {
    this.held.refuse();
    await opened;
    await this.claimer.close();
    await this.statistics?.close();
    await this.held.signOff();
  }
}

/** What jobs record on a Redis server. */
function recordsOf(commands: RedisConnection, keysOf: KeysOf, problems: Problems): RedisRecords {
  return new RedisRecords(commands, keysOf, undefined, undefined, (fn, error) =>
    problems.report(`records ${fn}`, `What jobs of "${fn}" record waits: ${messageOf(error)}`),
  );
}

/** After this time the next report of a due tick tries again. */
const TIMEOUT_MS = 5000;

/** Creates recurring jobs on a Redis server. */
function tickerOf(commands: RedisConnection, keysOf: KeysOf, problems: Problems): Ticker {
  const schedules = new RedisSchedules({
    keysOf,
    ask: (_, __, question) => commands.insist(question, TIMEOUT_MS),
  });
  return new Ticker(schedules, (fn, message) => problems.report(`tick ${fn}`, message));
}
