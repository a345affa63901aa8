import { Worker } from 'node:worker_threads';
import type { Claim } from '../job/job-source.js';
import type { PlainConnection } from '../redis/plain-connection.js';
import { LeaseTable, type LeaseRow, type LeaseSegment } from './lease-table.js';
import type { KeysOf } from './protocol.js';
import * as scripts from './scripts.js';

/** A script as the thread sends it. */
interface KeeperScript {
  readonly sha: string;
  readonly text: string;
}

export interface KeptFunction {
  readonly name: string;
  readonly leases: string;
  readonly count: string;
  readonly workers: string;
}

/** What the thread starts with. Times in milliseconds. */
export interface KeeperData {
  readonly connection: PlainConnection;
  readonly worker: string;
  readonly interval: number;
  readonly lease: number;
  readonly presence: number;
  readonly scripts: { readonly renew: KeeperScript; readonly presence: KeeperScript };
}

export type KeeperOptions = Omit<KeeperData, 'scripts'> & { readonly keysOf: KeysOf };

/** How a lease names its holder. */
export function memberOf({ id, token }: Pick<Claim, 'id' | 'token'>): string {
  return `${id}:${token}`;
}

/**
 * Keeps leases and presence from a thread with a connection of its own, so that a handler that holds the
 * event loop keeps its job.
 */
export class LeaseKeeper {
  private readonly thread: Worker;
  private readonly table: LeaseTable;
  private readonly functions: string[] = [];
  private readonly held = new Map<Claim, LeaseRow | undefined>();
  private readonly keysOf: KeysOf;
  private closed?: Promise<void>;

  constructor(
    { keysOf, ...options }: KeeperOptions,
    onLost: (fn: string, members: readonly string[]) => void,
    onFailure: (error: Error) => void,
  ) {
    this.keysOf = keysOf;
    const { renew, presence } = scripts;
    const workerData: KeeperData = {
      ...options,
      scripts: {
        renew: { sha: renew.sha, text: renew.text },
        presence: { sha: presence.sha, text: presence.text },
      },
    };
    this.thread = new Worker(new URL('./lease-keeper.thread.mjs', import.meta.url), {
      workerData,
      execArgv: [],
    });
    this.thread.unref();
    this.thread.on('error', onFailure);
    this.thread.on('message', ({ fn, lost }: { fn: string; lost: string[] }) => onLost(fn, lost));
    this.table = new LeaseTable((segment) => this.post({ segment }));
  }

  accept(functions: readonly string[]): void {
    for (const fn of functions) if (!this.functions.includes(fn)) this.functions.push(fn);
    this.post({
      functions: this.functions.map((name) => {
        const { leases, count, workers } = this.keysOf(name);
        return { name, leases, count, workers };
      }),
    });
  }

  hold(claim: Claim): void {
    const fn = this.functions.indexOf(claim.fn);
    const row = this.table.hold(fn, claim.id, claim.token);
    if (row === undefined) this.post({ hold: { fn, member: memberOf(claim) } });
    this.held.set(claim, row);
  }

  /** Keeps the lease until `deadline` only, in ms since 1970. */
  limit(claim: Claim, deadline: number): void {
    const row = this.held.get(claim);
    if (row !== undefined) this.table.limit(row, deadline);
  }

  drop(claim: Claim): void {
    if (!this.held.has(claim)) return;
    const row = this.held.get(claim);
    if (row !== undefined) this.table.drop(row);
    else this.post({ drop: { fn: this.functions.indexOf(claim.fn), member: memberOf(claim) } });
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
