import type { Claim } from '../job/job-source.js';
import { messageOf } from '../job/errors.js';
import { LeaseThread, type LeaseGroup } from './lease-thread.js';
import type { PlainConnection } from './plain-connection.js';
import type { RedisConnection } from './redis-connection.js';

export { memberOf, type LeaseGroup } from './lease-thread.js';

export interface LeaseKeeperOptions {
  readonly connections: {
    readonly commands: RedisConnection;
    /** What the thread connects with; without it there is none, and the source's caller renews leases. */
    readonly keeper: PlainConnection | undefined;
    /** The option of the connection for which there is no thread. */
    readonly obstacle?: string;
  };
  /** Milliseconds from one renewal to the next. */
  readonly interval: number;
  /** Milliseconds for which the thread may renew nothing before the main thread stands in. */
  readonly patience: number;
  /** Any key that is written: on a cluster it tells whose connection counts. */
  readonly key: () => string;
  /** Does once, from the main thread, what the thread can't now: without `leases` all but the renewals. */
  readonly renewHere: (leases: boolean) => Promise<unknown>;
  /** Members of a group whose leases others hold by now. */
  readonly onLost: (group: string, members: readonly string[]) => void;
  readonly onProblem: (message: string) => void;
}

/**
 * Keeps leases from a thread of its own, so that a handler that holds the event loop keeps its job. Where the
 * thread can't, the main thread does, as long as no handler blocks it.
 */
export class LeaseKeeper {
  private thread: LeaseThread | undefined;
  private isStandingIn = false;
  private readonly timer: NodeJS.Timeout;

  constructor(private readonly options: LeaseKeeperOptions) {
    const { connections, interval, onLost, onProblem } = options;
    const { keeper: connection, obstacle } = connections;
    if (obstacle !== undefined) onProblem(withoutThread(obstacle));
    if (connection)
      this.thread = new LeaseThread({ connection, interval }, onLost, (error) => this.failed(error));
    this.timer = setInterval(() => void this.renewIfNeeded(), interval).unref();
  }

  /** Who keeps the leases. */
  get keptBy(): 'thread' | 'main thread' {
    return this.thread && !this.isStandingIn ? 'thread' : 'main thread';
  }

  /** What is kept from now on. Groups that were there before stay where they were. */
  setGroups(groups: readonly LeaseGroup[]): void {
    this.thread?.setGroups(groups);
  }

  hold(claim: Claim, group: string): void {
    this.thread?.hold(claim, group);
  }

  /** Keeps the lease for `ms` milliseconds from now and no longer. */
  setDeadline(claim: Claim, ms: number): void {
    this.thread?.setDeadline(claim, ms);
  }

  drop(claim: Claim): void {
    this.thread?.drop(claim);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.thread?.close();
  }

  private failed(error: Error): void {
    this.options.onProblem(
      `The lease keeper's thread failed; leases are kept by the main thread: ${messageOf(error)}`,
    );
    this.thread = undefined;
    this.isStandingIn = true;
  }

  /** A renewal that fails is left to the next. */
  private async renewIfNeeded(): Promise<void> {
    const { connections, renewHere } = this.options;
    if (!connections.commands.isReady || (this.thread && !this.isThreadLate(this.thread))) return;
    await renewHere(this.isStandingIn).catch(() => undefined);
  }

  /** While Redis can be reached otherwise: in an outage nobody can keep anything, and the thread gets time to come back. */
  private isThreadLate({ age, trouble }: LeaseThread): boolean {
    const { connections, interval, patience, key, onProblem } = this.options;
    if (connections.commands.uptime(key()) <= interval) return false;
    const isLate = age > patience;
    if (isLate !== this.isStandingIn) {
      onProblem(
        isLate
          ? `The lease keeper's thread has not reached Redis for ${age} ms (${trouble}); ` +
              'leases are kept by the main thread until it does.'
          : "The lease keeper's thread reaches Redis again, and keeps the leases.",
      );
    }
    this.isStandingIn = isLate;
    return isLate;
  }
}

/** What an operator is told where the main thread has to keep leases for good. */
function withoutThread(option: string): string {
  return (
    `Leases are kept by the main thread, since \`connection.${option}\` holds a function or context, which no thread ` +
    'can be given: a handler that blocks the event loop for as long as a lease loses its job.'
  );
}
