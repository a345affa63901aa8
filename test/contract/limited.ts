import type { Claim, JobSource, Outcome } from '../../lib/job/job-source.js';
import type { LimitRules, LimitState } from '../../lib/job/limit.js';
import type { Placement } from '../../lib/gearmonkey/core/client/job-store.js';
import { placeLimited, type LimitedJob } from '../../lib/gearmonkey/features/limits/placed-limit.js';
import type { GearMonkeyStore } from '../../lib/gearmonkey/features/index.js';
import type { JobKey } from '../../lib/gearmonkey/core/wire/protocol.js';
import { claimOne, claimUpTo, success } from './claiming.js';
import type { ClientRig } from './rig.js';

export const HOUR_MS = 3_600_000;
const MOST = 50;

export interface LimitedOptions {
  /** Of several functions with one name, such as that of another worker. */
  readonly fn?: string;
  /** In ms, long unless given. */
  readonly lease?: number;
  /** Makes the key of a job that has none. @default its input up to the first colon */
  readonly keyOf?: (input: string) => string;
}

/** A function with a limit: a worker's side and a client's side of it. */
export class Limited {
  readonly source: JobSource;
  readonly store: GearMonkeyStore;
  private sentinels = 0;

  constructor(
    rig: ClientRig,
    readonly rules: LimitRules,
    readonly fn: string,
    { lease, keyOf = (input: string) => input.split(':')[0] ?? '' }: LimitedOptions,
  ) {
    this.source = rig.source(lease === undefined ? {} : { lease });
    this.store = rig.store();
    this.source.limits?.set(fn, { rules, keyOf: (input) => keyOf(Buffer.from(input).toString()) });
  }

  /** Adds jobs of one key with one call. Their inputs are `key:0`, `key:1` … */
  async add(
    key: string,
    count = 1,
    placement: Partial<Placement> = {},
    limit: Partial<LimitedJob['limit']> = {},
  ): Promise<JobKey[]> {
    const keys = Array.from({ length: count }, () => key);
    return this.addAll(keys, placement, limit);
  }

  /** Adds a job of each key with one call. */
  addAll(
    keys: readonly string[],
    placement: Partial<Placement> = {},
    limit: Partial<LimitedJob['limit']> = {},
  ): Promise<JobKey[]> {
    const inputs = keys.map((key, index) => `${key}:${index}`);
    const own = { rules: this.rules, onFull: 'wait', replace: 'waiting', ...limit } as const;
    return this.store.enqueue(this.fn, inputs, placeLimited({ queue: 'normal', ...placement }, own, keys));
  }

  /** Adds one job, and returns it. */
  async addOne(
    ...[key, placement, limit]: [string, Partial<Placement>?, Partial<LimitedJob['limit']>?]
  ): Promise<JobKey> {
    const [job] = await this.add(key, 1, placement, limit);
    if (!job) throw new Error(`No job was created for "${key}"`);
    return job;
  }

  claimOne(): Promise<Claim> {
    return claimOne(this.source, this.fn);
  }

  claimUpTo(slots: number): Promise<readonly Claim[]> {
    return claimUpTo(this.source, this.fn, slots);
  }

  /** Claims what may start now, without waiting: a job of a key of its own ends the wait. */
  async claimNow(): Promise<Claim[]> {
    const sentinel = await this.addOne(
      `sentinel-${++this.sentinels}`,
      { queue: 'low' },
      { rules: this.rules },
    );
    const claims = await this.claimUpTo(MOST);
    const own = claims.find(({ id }) => id === sentinel.id);
    if (!own) throw new Error('A job of a key of its own was not claimed');
    await this.settle(success(own));
    return claims.filter((claim) => claim !== own);
  }

  async idsNow(): Promise<string[]> {
    return (await this.claimNow()).map(({ id }) => id);
  }

  settle(...outcomes: Outcome[]): Promise<readonly Claim[]> {
    return this.source.settle(outcomes);
  }

  /** Runs jobs one at a time until `count` have ended; returns their ids in the order they started. */
  async run(count: number): Promise<string[]> {
    const ids: string[] = [];
    while (ids.length < count) {
      const claim = await this.claimOne();
      ids.push(claim.id);
      await this.settle(success(claim));
    }
    return ids;
  }

  /** What `limits` says of a key. */
  async state(key: string): Promise<LimitState | undefined> {
    return (await this.store.limits.read(this.fn, { key, size: 1 }))[0];
  }

  /** When a job was claimed last, in ms since 1970. */
  async started({ id }: Pick<JobKey, 'id'>): Promise<number> {
    return Number(await this.field(id, 'started'));
  }

  async field(id: string, name: string): Promise<string | undefined> {
    const [hash] = await this.store.read(this.fn, [id]);
    const bytes = hash?.get(name);
    return bytes && Buffer.from(bytes).toString();
  }
}

/** Makes functions with limits for the tests of a `describe`, and closes what they opened. */
export class LimitedFunctions {
  private opened: Limited[] = [];

  constructor(private readonly rigOf: () => ClientRig) {}

  /** Starts a worker of a function with this limit. */
  async open(rules: Partial<LimitRules>, options: LimitedOptions = {}): Promise<Limited> {
    const { fn = this.rigOf().fn() } = options;
    const limited = new Limited(this.rigOf(), { order: 'fair', ...rules }, fn, options);
    this.opened.push(limited);
    await limited.source.open([fn]);
    return limited;
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.map(({ source }) => source.close()));
    this.opened = [];
  }
}

export function held(claim: Claim, delay: number): Outcome {
  return { claim, status: 'held', delay };
}

export function idsOf(jobs: readonly { readonly id: string }[]): string[] {
  return jobs.map(({ id }) => id);
}
