import type { Claim } from '../job/job-source.js';
import { messageOf } from '../job/errors.js';
import { LeaseThread, type LeaseGroup } from './lease-thread.js';
import type { PlainConnection } from './plain-connection.js';
import type { RedisConnection } from './redis-connection.js';
import { repeat } from './rounds.js';

export { memberOf, type LeaseGroup } from './lease-thread.js';

export interface LeaseKeeperOptions {
  readonly connections: {
    readonly commands: RedisConnection;
    /** The thread's connection; without it there is no thread, and the source's caller renews leases. */
    readonly keeper: PlainConnection | undefined;
    /** The connection option that makes a thread impossible. */
    readonly obstacle?: string;
  };
  /** Milliseconds from one renewal to the next. */
  readonly interval: number;
  /** Milliseconds without a renewal by the thread after which the main thread renews. */
  readonly patience: number;
  /** Any key that is written. On a cluster it selects the node whose connection is checked. */
  readonly key: () => string;
  /** Does the thread's work once in the main thread; without `leases` everything except renewals. */
  readonly renewHere: (leases: boolean) => Promise<unknown>;
  /** Called with the members of a group whose leases are lost. */
  readonly onLost: (group: string, members: readonly string[]) => void;
  readonly onProblem: (message: string) => void;
}

/**
 * Renews leases in a separate thread, so that a handler that blocks the event loop keeps its job. If the thread can't,
 * the main thread renews them, which works only while no handler blocks it.
 */
export class LeaseKeeper {
  private thread: LeaseThread | undefined;
  private isStandingIn = false;
  private readonly endChecks: () => void;

  constructor(private readonly options: LeaseKeeperOptions) {
    const { connections, interval, onLost, onProblem } = options;
    const { keeper: connection, obstacle } = connections;
    if (obstacle !== undefined) onProblem(withoutThread(obstacle));
    if (connection)
      this.thread = new LeaseThread({ connection, interval }, onLost, (error) => this.failed(error));
    this.endChecks = repeat(interval, () => void this.renewIfNeeded());
  }

  /** Which thread renews the leases now. */
  get keptBy(): 'thread' | 'main thread' {
    return this.thread && !this.isStandingIn ? 'thread' : 'main thread';
  }

  /** Sets the groups to renew from now on. Existing groups keep their index. */
  setGroups(groups: readonly LeaseGroup[]): void {
    this.thread?.setGroups(groups);
  }

  hold(claim: Claim, group: string): void {
    this.thread?.hold(claim, group);
  }

  /** Stops renewing the lease after `ms` milliseconds. */
  setDeadline(claim: Claim, ms: number): void {
    this.thread?.setDeadline(claim, ms);
  }

  drop(claim: Claim): void {
    this.thread?.drop(claim);
  }

  async close(): Promise<void> {
    this.endChecks();
    await this.thread?.close();
  }

  private failed(error: Error): void {
    this.options.onProblem(
      `The lease keeper's thread failed, so the main thread renews leases: ${messageOf(error)}`,
    );
    this.thread = undefined;
    this.isStandingIn = true;
  }

  /** If a renewal fails, the next one tries again. */
  private async renewIfNeeded(): Promise<void> {
    const { connections, renewHere } = this.options;
    if (!connections.commands.isReady) return;
    const isLate = this.thread !== undefined && this.isThreadLate(this.thread);
    if (this.thread && !isLate) return;
    await renewHere(isLate || this.isStandingIn).catch(() => undefined);
  }

  /** Only while the main thread reaches Redis: during an outage no thread can renew. */
  private isThreadLate({ age, trouble }: LeaseThread): boolean {
    const { connections, interval, patience, key, onProblem } = this.options;
    const isLate = age > patience;
    // The thread needs time to reconnect, and is not complained of meanwhile; the leases have none.
    if (connections.commands.uptime(key()) <= interval) return isLate;
    if (isLate !== this.isStandingIn) {
      onProblem(
        isLate
          ? `The lease keeper's thread has not reached Redis for ${age} ms (${trouble}); ` +
              'the main thread renews leases until it does.'
          : "The lease keeper's thread reaches Redis again and renews the leases.",
      );
    }
    this.isStandingIn = isLate;
    return isLate;
  }
}

/** The warning for a connection with which no thread can be started. */
function withoutThread(option: string): string {
  return (
    `The main thread renews leases, because \`connection.${option}\` holds a function or context, which can't be passed ` +
    'to a thread: a handler that blocks the event loop for as long as a lease loses its job.'
  );
}
