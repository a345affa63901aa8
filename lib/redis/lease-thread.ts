import { Worker } from 'node:worker_threads';
import type { Claim } from '../job/job-source.js';
import { KEEPER_PROGRAM } from './keeper-program.embedded.js';
import { LeaseTable, type LeaseRow, type LeaseSegment } from './lease-table.js';
import type { PlainConnection, PlainSettings } from './plain-connection.js';

/** A script call that the thread sends. */
export interface LeaseCall {
  readonly script: { readonly sha: string; readonly text: string };
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Leases that are renewed together. */
export interface LeaseGroup {
  readonly name: string;
  /** The call that renews. Held members are appended to its arguments, and it replies with those that are lost. */
  readonly renew: LeaseCall;
  /** A call that is made in each round, even if no lease is held. */
  readonly beat?: LeaseCall;
}

export interface LeaseThreadOptions {
  readonly connection: PlainConnection;
  /** Milliseconds from one renewal to the next. */
  readonly interval: number;
}

/** The data that the thread starts with. */
export interface LeaseThreadData {
  readonly connection: PlainSettings;
  readonly interval: number;
  /** One number: when the last round that renewed all leases began, in `sharedTime`. */
  readonly pulse: Float64Array;
}

type Told = { readonly group: string; readonly lost: string[] } | { readonly trouble: string };

/** Milliseconds on a monotonic clock that all threads share: leases are not lost when the system's time jumps. */
function sharedTime(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

/** The member of the set of leases that stands for a claim. */
export function memberOf({ id, token }: Pick<Claim, 'id' | 'token'>): string {
  return `${id}:${token}`;
}

/** A thread that renews leases on its own connection. */
export class LeaseThread {
  private readonly thread: Worker;
  private readonly table: LeaseTable;
  /** Index of each group in the list of groups, by name. */
  private places = new Map<string, number>();
  private readonly held = new Map<Claim, { group: number; row: LeaseRow | undefined }>();
  private closed?: Promise<void>;
  private readonly pulse = new Float64Array(new SharedArrayBuffer(8)).fill(sharedTime());
  private lastTrouble = 'it has no connection';

  constructor(
    { connection, interval }: LeaseThreadOptions,
    onLost: (group: string, members: readonly string[]) => void,
    onFailure: (error: Error) => void,
  ) {
    const workerData: LeaseThreadData = { connection: connection.reveal(), interval, pulse: this.pulse };
    this.thread = new Worker(KEEPER_PROGRAM, {
      eval: typeof KEEPER_PROGRAM === 'string',
      workerData,
      execArgv: [],
    });
    this.thread.unref();
    this.thread.on('error', onFailure);
    this.thread.on('message', (told: Told) => {
      if ('lost' in told) onLost(told.group, told.lost);
      else this.lastTrouble = told.trouble;
    });
    this.table = new LeaseTable((segment) => this.post({ segment }));
  }

  /** Milliseconds since the thread last renewed all held leases. */
  get age(): number {
    return Math.round(sharedTime() - (this.pulse[0] ?? 0));
  }

  /** The thread's last error. */
  get trouble(): string {
    return this.lastTrouble;
  }

  /** Sets the groups to renew from now on. Existing groups keep their index. */
  setGroups(groups: readonly LeaseGroup[]): void {
    this.places = new Map(groups.map(({ name }, index) => [name, index]));
    this.post({ groups });
  }

  hold(claim: Claim, groupName: string): void {
    const group = this.places.get(groupName);
    if (group === undefined) throw new RangeError(`Nothing is kept for ${groupName}`);
    const row = this.table.hold(group, claim.id, claim.token);
    if (row === undefined) this.post({ hold: { group, member: memberOf(claim), deadline: Infinity } });
    this.held.set(claim, { group, row });
  }

  /** Stops renewing the lease after `ms` milliseconds. */
  setDeadline(claim: Claim, ms: number): void {
    const held = this.held.get(claim);
    if (!held) return;
    const deadline = sharedTime() + ms;
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

  /** Terminates the thread at once: one that is still starting would not read a message. */
  close(): Promise<void> {
    this.thread.ref();
    this.closed ??= this.thread.terminate().then(() => undefined);
    return this.closed;
  }

  private post(message: { segment: LeaseSegment } | object): void {
    this.thread.postMessage(message);
  }
}
