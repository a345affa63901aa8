import { messageOf } from '../../job/errors.js';
import { realNow } from '../../job/real-time.js';
import type { Claim, OnRevoked, SourceLeases } from '../../job/job-source.js';
import type { ChannelHub } from '../../redis/channel-hub.js';
import { LeaseKeeper, memberOf } from '../../redis/lease-keeper.js';
import type { QlessConnections } from '../connection/connections.js';
import { parsed } from '../wire/replies.js';
import * as scripts from '../wire/source-scripts.js';

export interface LocksOptions {
  readonly worker: string;
  /** Seconds, or '' for the heartbeat of each queue. */
  readonly lock: number | '';
  readonly onRevoked: OnRevoked;
  readonly onProblem: (message: string) => void;
}

const DEFAULT_HEARTBEAT = 60;
/** The configuration may be changed while locks are held. */
const MAX_RENEW_MS = 5000;

/** Milliseconds: a quarter of the shortest lock. */
export function renewInterval(
  config: Readonly<Record<string, string | number>>,
  { lock, queues }: { readonly lock: number | ''; readonly queues: readonly string[] },
): number {
  const heartbeat = (queue: string) =>
    Number(config[`${queue}-heartbeat`] ?? config['heartbeat'] ?? DEFAULT_HEARTBEAT);
  const shortest = lock === '' ? Math.min(...queues.map(heartbeat)) : lock;
  return Math.max(1, Math.min(MAX_RENEW_MS, (shortest * 1000) / 4));
}

/** A group of the keeper: all locks of a worker are renewed together. */
const GROUP = 'locks';

/** The locks of a worker: renews them from a separate thread, and reports lost ones. */
export class Locks implements SourceLeases {
  private readonly claims = new Map<string, Claim>();
  /** When each was asked for, or renewed from this thread, by `realNow`. */
  private readonly asked = new Map<Claim, number>();
  /** Those whose reply was read late: the keeper has renewed all others meanwhile, and did not know them. */
  private readonly late = new Set<Claim>();
  private interval = MAX_RENEW_MS;
  private keeper: LeaseKeeper | undefined;
  private unlisten: () => void = () => undefined;

  constructor(
    private readonly connections: QlessConnections,
    private readonly hub: ChannelHub,
    private readonly options: LocksOptions,
  ) {}

  /**
   * Without a connection for the thread, the caller must call `renew`.
   *
   * @param interval milliseconds from one renewal to the next
   */
  async open(interval: number): Promise<void> {
    this.interval = interval;
    this.keeper ??= this.keep(interval);
    const { prefix } = this.connections;
    this.unlisten = await this.hub.listen(`${prefix}w:${this.options.worker}`, {
      message: (text) => this.onEvent(text),
      resync: () => void this.check([...this.claims.values()]),
    });
  }

  /** @param asked when they were asked for, by `realNow` */
  add(claims: readonly Claim[], asked: number): void {
    const isLate = realNow() - asked > this.interval;
    for (const claim of claims) {
      this.claims.set(memberOf(claim), claim);
      this.asked.set(claim, asked);
      if (isLate) this.late.add(claim);
      this.keeper?.hold(claim, GROUP);
    }
  }

  /** Whether another worker may have its job: this process was stopped, or this thread was busy when its reply came. */
  mayBeLost(claim: Claim): boolean {
    const old = realNow() - 2 * this.interval;
    if ((this.asked.get(claim) ?? -Infinity) > old) return false;
    return this.late.has(claim) || (this.keeper?.renewedAt ?? -Infinity) <= old;
  }

  drop(claim: Claim): void {
    if (this.claims.get(memberOf(claim)) === claim) this.claims.delete(memberOf(claim));
    this.asked.delete(claim);
    this.late.delete(claim);
    this.keeper?.drop(claim);
  }

  /** Keeps the lock for `ms` milliseconds from now and no longer. */
  setDeadline(claim: Claim, ms: number): void {
    this.keeper?.setDeadline(claim, ms);
  }

  holds(jid: string): boolean {
    return [...this.claims.values()].some(({ id }) => id === jid);
  }

  /** Extends locks from this thread; returns the lost ones. */
  async renew(claims: readonly Claim[]): Promise<Claim[]> {
    if (claims.length === 0) return [];
    const { commands, prefix } = this.connections;
    const { worker, lock } = this.options;
    const members = claims.map(memberOf);
    let asked = realNow();
    const gone = new Set(
      await commands.insist((redis) => {
        asked = realNow();
        return scripts.renew.run(redis, [prefix], '', worker, lock, members);
      }),
    );
    for (const claim of claims) {
      if (this.asked.has(claim)) this.asked.set(claim, asked);
      this.late.delete(claim);
    }
    return claims.filter((claim) => gone.has(memberOf(claim)));
  }

  async close(): Promise<void> {
    this.unlisten();
    await this.keeper?.close();
  }

  private keep(interval: number): LeaseKeeper {
    const { connections } = this;
    const { worker, lock, onProblem } = this.options;
    const { sha, text } = scripts.renew;
    const keeper = new LeaseKeeper({
      connections,
      interval,
      patience: interval * 2,
      key: () => connections.prefix,
      renewHere: async (leases) => leases && this.check([...this.claims.values()]),
      onLost: (_, members) => this.revoke(members),
      onProblem,
    });
    const renew = { script: { sha, text }, keys: [connections.prefix], args: ['', worker, lock] };
    keeper.setGroups([{ name: GROUP, renew }]);
    return keeper;
  }

  /** An expired lock is ours until another worker takes it, so renew before giving it up. */
  private async check(claims: readonly Claim[]): Promise<void> {
    if (!this.connections.commands.isReady) return;
    try {
      this.revoke((await this.renew(claims)).map(memberOf));
    } catch (error) {
      this.options.onProblem(`Renewing locks failed: ${messageOf(error)}`);
    }
  }

  private onEvent(text: string): void {
    const { event, jid } = readEvent(text);
    const concerned = [...this.claims.values()].filter(({ id }) => id === jid);
    if (event === 'canceled') this.revoke(concerned.map(memberOf), 'cancelled');
    else if (concerned.length > 0) void this.check(concerned);
  }

  private revoke(members: readonly string[], why: 'lost' | 'cancelled' = 'lost'): void {
    for (const member of members) {
      const claim = this.claims.get(member);
      if (!claim) continue;
      this.drop(claim);
      this.options.onRevoked(claim, why);
    }
  }
}

/** Anyone may publish on the channel. */
function readEvent(text: string): { event?: unknown; jid?: unknown } {
  try {
    return parsed<{ event?: unknown; jid?: unknown } | null>(text) ?? {};
  } catch {
    return {};
  }
}
