import { Worker } from 'node:worker_threads';
import type { Claim } from '../job/job-source.js';
import { KEEPER_PROGRAM } from './keeper-program.embedded.js';
import type { PlainConnection, PlainSettings } from './plain-connection.js';

/** Jobs per segment; segments are added as needed. */
const SEGMENT_SIZE = 1024;

/** Leases as numbers in memory shared with the keeper's thread. A `token` of 0 marks a free row. */
export interface LeaseSegment {
  /** Index of the group in the list of groups. */
  readonly group: Int32Array;
  readonly id: Float64Array;
  /** When renewal of the lease ends, in the keeper's shared time; Infinity for no deadline. */
  readonly deadline: Float64Array;
  readonly token: Float64Array;
}

/** A row of the table. */
export type LeaseRow = number;

/**
 * The leases of this process. The main thread writes a row when it claims a job and frees it after settling. Since no
 * message goes to the thread, a lease costs almost nothing.
 */
export class LeaseTable {
  private readonly segments: LeaseSegment[] = [];
  private readonly free: LeaseRow[] = [];

  constructor(private readonly onSegment: (segment: LeaseSegment) => void) {}

  /** Returns undefined for an id that is no number: the table can't hold such a lease. */
  hold(group: number, id: string, token: number): LeaseRow | undefined {
    const number = Number(id);
    if (!Number.isSafeInteger(number) || String(number) !== id) return undefined;
    if (this.free.length === 0) this.grow();
    const row = this.free.pop() as LeaseRow;
    const [segment, index] = this.at(row);
    segment.group[index] = group;
    segment.id[index] = number;
    segment.deadline[index] = Infinity;
    // Written last: a row with a token is complete for the thread.
    segment.token[index] = token;
    return row;
  }

  limit(row: LeaseRow, deadline: number): void {
    const [segment, index] = this.at(row);
    segment.deadline[index] = deadline;
  }

  drop(row: LeaseRow): void {
    const [segment, index] = this.at(row);
    segment.token[index] = 0;
    this.free.push(row);
  }

  private at(row: LeaseRow): [LeaseSegment, number] {
    return [this.segments[Math.floor(row / SEGMENT_SIZE)] as LeaseSegment, row % SEGMENT_SIZE];
  }

  private grow(): void {
    const shared = (bytes: number) => new SharedArrayBuffer(SEGMENT_SIZE * bytes);
    const segment: LeaseSegment = {
      group: new Int32Array(shared(4)),
      id: new Float64Array(shared(8)),
      deadline: new Float64Array(shared(8)),
      token: new Float64Array(shared(8)),
    };
    const first = this.segments.length * SEGMENT_SIZE;
    this.segments.push(segment);
    for (let row = first + SEGMENT_SIZE - 1; row >= first; row--) this.free.push(row);
    this.onSegment(segment);
  }
}

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
