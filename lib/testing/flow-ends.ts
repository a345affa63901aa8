import type { JobStore } from '../gearmonkey/client/job-store.js';
import type { JobName, JobRecords } from './job-records.js';

/** Notes jobs that have ended without a run, because jobs that they waited for have, or because their flow was cancelled. */
export class FlowEnds {
  constructor(
    private readonly store: Pick<JobStore, 'read'>,
    private readonly records: JobRecords,
    private readonly onEnded: (job: JobName) => void,
  ) {}

  /** Called when jobs may have ended. It costs nothing in a test without flows. */
  async note(): Promise<void> {
    const waiting = this.records.waitingInFlows();
    const ids = new Map<string, string[]>();
    for (const { fn, id } of waiting) ids.set(fn, [...(ids.get(fn) ?? []), id]);
    await Promise.all([...ids].map(([fn, some]) => this.noteOf(fn, some)));
  }

  private async noteOf(fn: string, ids: readonly string[]): Promise<void> {
    const stored = await this.store.read(fn, ids);
    const isWaiting = new Set(
      this.records.waitingInFlows().map((record) => (record.fn === fn ? record.id : '')),
    );
    for (const [index, id] of ids.entries())
      if (isWaiting.has(id) && stored[index]?.has('finished')) this.onEnded({ fn, id });
  }
}
