import { messageOf } from '../job/errors.js';
import type { JobSource, OnRevoked } from '../job/job-source.js';
import type { WorkerLog } from './worker-log.js';

/** Announces a worker's functions to its source, one call after the other: a source that closes waits for the last. */
export class Announcer {
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly source: Pick<JobSource, 'open' | 'withdraw'>,
    private readonly log: WorkerLog,
    private readonly onRevoked: OnRevoked,
  ) {}

  /** @throws what the source says of a server that doesn't take them */
  open(functions: readonly string[]): Promise<void> {
    const opening = this.last.then(() => this.source.open(functions, this.onRevoked));
    this.last = opening.catch(() => undefined);
    return opening;
  }

  /** If it fails, the function only stays announced until the worker's end: its handler has stopped anyway. */
  async withdraw(fn: string): Promise<void> {
    await this.last;
    try {
      await this.source.withdraw?.([fn]);
    } catch (error) {
      this.log.warn(`Signing off from ${fn} failed: ${messageOf(error)}`);
    }
  }
}
