import { Worker } from 'node:worker_threads';
import type { Claim } from '../job/job-source.js';
import { LeaseTable, type LeaseRow, type LeaseSegment } from './lease-table.js';
import type { PlainConnection } from './plain-connection.js';

/** A script's call as the thread sends it. */
export interface KeptCall {
  readonly script: { readonly sha: string; readonly text: string };
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Leases that are renewed together. */
export interface KeptGroup {
  readonly name: string;
  /** Gets the members that are held as further arguments, and replies those that are lost. */
  readonly renew: KeptCall;
  /** Made as often, whatever is held. */
  readonly beat?: KeptCall;
}

/** What the thread starts with. */
export interface KeeperOptions {
  readonly connection: PlainConnection;
  /** Milliseconds from one renewal to the next. */
  readonly interval: number;
}

/** How a lease names its holder. */
export function memberOf({ id, token }: Pick<Claim, 'id' | 'token'>): string {
  return `${id}:${token}`;
}

/**
 * Keeps leases from a thread with a connection of its own, so that a handler that holds the event loop
 * keeps its job.
 */
export class LeaseKeeper {
  private readonly thread: Worker;
  private readonly table: LeaseTable;
  private groups: readonly KeptGroup[] = [];
  private readonly held = new Map<Claim, { group: number; row: LeaseRow | undefined }>();
  private closed?: Promise<void>;

  constructor(
    options: KeeperOptions,
    onLost: (group: string, members: readonly string[]) => void,
    onFailure: (error: Error) => void,
  ) {
    this.thread = new Worker(new URL('./lease-keeper.thread.mjs', import.meta.url), {
      workerData: options,
      execArgv: [],
    });
    this.thread.unref();
    this.thread.on('error', onFailure);
    this.thread.on('message', ({ group, lost }: { group: string; lost: string[] }) => onLost(group, lost));
    this.table = new LeaseTable((segment) => this.post({ segment }));
  }

  /** What is kept from now on. Groups that were there before stay where they were. */
  accept(groups: readonly KeptGroup[]): void {
    this.groups = groups;
    this.post({ groups });
  }

  hold(claim: Claim, groupName: string): void {
    const group = this.groups.findIndex(({ name }) => name === groupName);
    const row = this.table.hold(group, claim.id, claim.token);
    if (row === undefined) this.post({ hold: { group, member: memberOf(claim), deadline: Infinity } });
    this.held.set(claim, { group, row });
  }

  /** Keeps the lease until `deadline` only, in ms since 1970. */
  limit(claim: Claim, deadline: number): void {
    const held = this.held.get(claim);
    if (!held) return;
    if (held.row !== undefined) this.table.limit(held.row, deadline);
    else this.post({ hold: { group: held.group, member: memberOf(claim), deadline } });
  }

  drop(claim: Claim): void {
    const held = this.held.get(claim);
    if (!held) return;
    if (held.row !== undefined) this.table.drop(held.row);
    else this.post({ drop: { group: held.group, member: memberOf(claim) } });
    this.held.delete(claim);
  }

  close(): Promise<void> {
    this.closed ??= new Promise((resolve) => {
      this.thread.once('exit', () => resolve());
      this.thread.ref();
      this.post({ close: true });
    });
    return this.closed;
  }

  private post(message: { segment: LeaseSegment } | object): void {
    this.thread.postMessage(message);
  }
}
