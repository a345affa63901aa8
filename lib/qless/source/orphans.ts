import { GearMonkeyError, messageOf } from '../../job/errors.js';
import { isOutage } from '../../redis/retry.js';
import { orphan } from './claims.js';
import type { QlessConnections } from '../connection/connections.js';
import type { Locks } from './locks.js';
import type { Settler } from './settler.js';

/** After a reply that couldn't be read, so many claims take one job each: as many as that reply may have locked. */
const ALONE_CLAIMS = 250;

export interface OrphansOptions {
  readonly worker: string;
  readonly onProblem: (message: string) => void;
}

/** Finds jobs that are locked for this worker but never reached it: the reply was lost or unreadable. */
export class Orphans {
  private exist = false;
  private alone = 0;
  /** Why the only job of a claim couldn't be read. */
  private unreadable: string | undefined;

  constructor(
    private readonly connections: QlessConnections,
    private readonly settler: Settler,
    private readonly locks: Locks,
    private readonly options: OrphansOptions,
  ) {}

  /** How many jobs a claim may take now. */
  most(count: number): number {
    return this.alone > 0 ? Math.min(1, count) : count;
  }

  /** Call this when the reply to a claim was read. */
  read(): void {
    this.alone = Math.max(0, this.alone - 1);
  }

  /** Call this when there may be such jobs. */
  suspect(): void {
    this.exist = true;
  }

  /** A claim's reply was lost, or couldn't be read: then jobs are claimed one by one, and the unreadable one is filed as failed. */
  unclear(error: unknown): void {
    this.suspect();
    if (isOutage(error) || error instanceof GearMonkeyError) return;
    if (this.alone > 0) this.unreadable = messageOf(error);
    else
      this.options.onProblem(
        `What qless says of some jobs can't be read, so they are taken one by one: ${messageOf(error)}`,
      );
    this.alone = ALONE_CLAIMS;
  }

  /** Releases them, or files the one that can't be read as failed. */
  async settle(): Promise<void> {
    if (!this.exist) return;
    const { commands, prefix } = this.connections;
    const redis = await commands.ready();
    const jids = await redis.zrange(`${prefix}w:${this.options.worker}:jobs`, '0', '-1');
    for (const id of jids.filter((jid) => !this.locks.holds(jid))) {
      const [time, klass] = await redis.hmget(`${prefix}j:${id}`, 'time', 'klass');
      await this.settleOne(id, Number(time), klass ?? '');
    }
    this.unreadable = undefined;
    this.exist = false;
  }

  private async settleOne(id: string, token: number, klass: string): Promise<void> {
    const claim = { ...orphan(id, token), fn: klass };
    if (this.unreadable === undefined) {
      await this.settler.settle({ claim, status: 'released' });
      return;
    }
    const message = `What qless says of the job can't be read: ${this.unreadable}`;
    this.options.onProblem(`Job ${id} is filed as failed. ${message}`);
    await this.settler.settle({ claim, status: 'error', error: { name: 'UnreadableJob', message } });
  }
}
