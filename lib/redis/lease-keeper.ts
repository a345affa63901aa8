import type { Claim } from '../job/job-source.js';
import { messageOf } from '../job/errors.js';
import { realNow } from '../job/real-time.js';
import type { PlainConnection, PlainSettings } from './plain-connection.js';
import type { RedisConnection } from './redis-connection.js';
import { repeat } from './rounds.js';
import { Worker } from 'node:worker_threads';
import { KEEPER_PROGRAM } from './keeper-program.embedded.js';

/** Jobs per segment; segments are added as needed. */
const SEGMENT_SIZE = 1024;

/** Leases as numbers in memory shared with the keeper's thread. A `token` of 0 marks a free row. */
export interface LeaseSegment {
  /** Index of the group in the list of groups. */
  readonly group: Int32Array;
  readonly id: Float64Array;
  /** When renewal of the lease ends, in the keeper's shared time; Infinity for no deadline; negative if the claim goes back then. */
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
  /** The call that gives claims back. For each of them its member and `each` are appended to its arguments. */
  readonly giveBack?: LeaseCall & { readonly each: readonly string[] };
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
  /** Two numbers: when the last round that reached the server began, and the last in which nothing was lost, in `sharedTime`. */
  readonly pulse: Float64Array;
}

type Told =
  | { readonly group: string; readonly lost: string[] }
  | { readonly group: string; readonly returned: string[] }
  | { readonly trouble: string };

/** Places in the pulse; the same in the thread's program. */
const [REACHED, RENEWED] = [0, 1];

/** Members of a group. */
type OnMembers = (group: string, members: readonly string[]) => void;

// Kept, because fake timers of a test replace it, and the thread goes by the real time.
const { hrtime } = process;

/** Milliseconds on a monotonic clock that all threads share: leases are not lost when the system's time jumps. */
function sharedTime(): number {
  return Number(hrtime.bigint() / 1000n) / 1000;
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
  private readonly pulse = new Float64Array(new SharedArrayBuffer(16)).fill(sharedTime());
  private lastTrouble = 'it has no connection';
  /** The shared time at 0 of this thread's `realNow`. */
  private readonly origin = sharedTime() - realNow();

  constructor(
    { connection, interval }: LeaseThreadOptions,
    onLost: OnMembers,
    onFailure: (error: Error) => void,
    onReturned: OnMembers = () => undefined,
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
      else if ('returned' in told) onReturned(told.group, told.returned);
      else this.lastTrouble = told.trouble;
    });
    this.table = new LeaseTable((segment) => this.post({ segment }));
  }

  /** Milliseconds since the thread last renewed all held leases. */
  get age(): number {
    return Math.round(sharedTime() - (this.pulse[REACHED] ?? 0));
  }

  /** When the last round that renewed all leases began, by `realNow`. */
  get renewedAt(): number {
    return (this.pulse[RENEWED] ?? 0) - this.origin;
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

  /** Stops renewing the lease after `ms` milliseconds, and gives the claim back if it is to. */
  setDeadline(claim: Claim, ms: number, givesBack = false): void {
    const held = this.held.get(claim);
    if (!held) return;
    const deadline = (sharedTime() + ms) * (givesBack ? -1 : 1);
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
  readonly onLost: OnMembers;
  /** Called with the members of a group that the thread has given back. */
  readonly onReturned?: OnMembers;
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
    const { connections, interval, onLost, onReturned, onProblem } = options;
    const { keeper: connection, obstacle } = connections;
    if (obstacle !== undefined) onProblem(withoutThread(obstacle));
    if (connection)
      this.thread = new LeaseThread(
        { connection, interval },
        onLost,
        (error) => this.failed(error),
        onReturned,
      );
    this.endChecks = repeat(interval, () => void this.renewIfNeeded());
  }

  /** Which thread renews the leases now. */
  get keptBy(): 'thread' | 'main thread' {
    return this.thread && !this.isStandingIn ? 'thread' : 'main thread';
  }

  /** When its thread last renewed all leases, by `realNow`; undefined without one. */
  get renewedAt(): number | undefined {
    return this.thread?.renewedAt;
  }

  /** Sets the groups to renew from now on. Existing groups keep their index. */
  setGroups(groups: readonly LeaseGroup[]): void {
    this.thread?.setGroups(groups);
  }

  hold(claim: Claim, group: string): void {
    this.thread?.hold(claim, group);
  }

  /** Stops renewing the lease after `ms` milliseconds, and gives the claim back if it is to: only the thread does. */
  setDeadline(claim: Claim, ms: number, givesBack = false): void {
    this.thread?.setDeadline(claim, ms, givesBack);
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
