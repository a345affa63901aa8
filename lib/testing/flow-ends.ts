import type { GearMonkeyStore } from '../gearmonkey/features/index.js';
import { isWaiting, type JobName, type JobRecord, type JobRecords } from './job-records.js';

/** Notes jobs that have ended without a run, because jobs that they waited for have, or because their flow was cancelled. */
export class FlowEnds {
  constructor(
    private readonly store: Pick<GearMonkeyStore, 'read'>,
    private readonly records: JobRecords,
    private readonly onEnded: (job: JobName) => void,
  ) {}

  /** Called when jobs have ended. It reads only jobs that may have ended with them. */
  async note(): Promise<void> {
    for (const record of await this.noteOf(this.records.blockedBehindEnds()))
      this.records.noteBlocked(record);
  }

  /** Called when a flow was cancelled. */
  async noteCancelled(): Promise<void> {
    await this.noteOf(this.records.waitingInFlows());
  }

  /** Returns those that have not ended. An end may end others: these are looked at too. */
  private async noteOf(jobs: readonly JobRecord[]): Promise<JobRecord[]> {
    const stored = await Promise.all(jobs.map(({ fn, id }) => this.store.read(fn, [id])));
    const ended = new Set(jobs.filter((_, index) => stored[index]?.[0]?.has('finished')));
    // The end of one that has begun meanwhile is noted with its outcome.
    for (const job of ended) if (isWaiting(job)) this.onEnded({ fn: job.fn, id: job.id });
    if (ended.size > 0) await this.note();
    return jobs.filter((job) => !ended.has(job));
  }
}
