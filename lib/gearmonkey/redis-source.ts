import { randomUUID } from 'node:crypto';
import type { Health } from '../job/health.js';
import type {
  Claim,
  FreeSlots,
  FunctionSetting,
  JobRecords,
  JobSource,
  SourceMonitor,
  OnRevoked,
  Outcome,
  SourceLeases,
  SourceLimit,
} from '../job/job-source.js';
import type { Keep } from '../job/keep.js';
import { RefusedError } from '../job/server-errors.js';
import { showAs } from '../job/show-as.js';
import { ALL_CAPABILITIES } from '../job/source-capabilities.js';
import { isReply } from '../redis/redis-errors.js';
import { SourceFrame } from '../redis/source-frame.js';
import { Claimer } from './core/source/claimer.js';
import { HeldClaims } from './core/source/held-claims.js';
import { Problems } from './core/source/problems.js';
import { featuresOf, type SourceFeatures } from './core/source/source-features.js';
import {
  withDefaults,
  type RedisSourceOptions,
  type SourceConnections,
} from './core/source/source-options.js';
import type { FunctionKeys } from './core/wire/protocol.js';
import { requireWorkerRights } from './core/wire/rights.js';
import { FEATURES, featureRights } from './features/index.js';

/** Jobs of a Redis server, by the GearMonkey protocol. */
export class RedisSource implements JobSource, SourceMonitor {
  static {
    showAs(RedisSource, ({ address, opened }) => ({
      server: address,
      functions: [...opened],
    }));
  }

  readonly system: string;
  readonly monitor = this;
  readonly capabilities = ALL_CAPABILITIES;
  readonly renewInterval?: number;
  readonly claimsAhead = true;
  readonly records: JobRecords;
  readonly leases: SourceLeases;
  readonly limits: FunctionSetting<SourceLimit>;
  readonly keep: FunctionSetting<Keep>;
  private readonly worker = randomUUID();
  private readonly options: Required<RedisSourceOptions>;
  private readonly held: HeldClaims;
  private readonly claimer: Claimer;
  private readonly frame: SourceFrame;
  private readonly opened = new Set<string>();
  private readonly features: SourceFeatures;
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
    const features = featuresOf({ connections, keysOf, options: this.options, problems }, FEATURES);
    [this.records, this.leases, this.limits, this.keep] = [features, held, features.keys, features.kept];
    const claimer = new Claimer({
      ...features,
      connections,
      worker,
      options: this.options,
      held,
      frame,
      problems,
    });
    [this.held, this.frame, this.claimer, this.features] = [held, frame, claimer, features];
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
        const more = (fn: string, k: FunctionKeys) => [
          ...featureRights('worker', k),
          ...this.features.keys.rights(fn, k),
        ];
        await requireWorkerRights(this.connections, added, this.worker, this.options.keysOf, more);
        await this.features.keys.store(added, opening.timeout);
        await this.held.open(added, opening);
      })
      .catch((error: unknown) => {
        throw isReply(error) ? new RefusedError('The start of a worker', error) : error;
      });
    for (const fn of added) {
      this.opened.add(fn);
      this.claimer.serve(fn);
    }
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    const claims = await this.claimer.claim(slots, signal);
    this.features.counting?.claimed(claims);
    return claims;
  }

  renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return this.held.renew(claims);
  }

  progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    return this.held.progress(claim, dividend, divisor);
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const refused = await this.claimer.settle(outcomes);
    this.features.counting?.settled(outcomes, refused);
    return refused;
  }

  async withdraw(functions: readonly string[]): Promise<void> {
    const served = functions.filter((fn) => this.opened.delete(fn));
    for (const fn of functions) this.features.keys.forget(fn);
    await Promise.all(served.map((fn) => this.claimer.withdraw(fn)));
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
    await this.features.counting?.close();
    await this.held.signOff();
  }
}
