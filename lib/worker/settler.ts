import { Batcher } from '../flow/batcher.js';
import { withDeadline } from '../job/deadline.js';
import { messageOf } from '../job/errors.js';
import type { JobSource, Outcome } from '../job/job-source.js';
import type { JobLog } from './job-log.js';
import { leaseEnded, settleWith } from './traced-source.js';
import type { WorkerLog } from './worker-log.js';

/** A test's fake timers would keep outcomes until they are moved. */
const { nextTick } = process;

/** Passes outcomes to the source, those of one tick in one call. */
export class Settler {
  private readonly outcomes: Batcher<Outcome, void>;

  constructor(
    private readonly source: Pick<JobSource, 'settle' | 'system' | 'address'>,
    private readonly log: WorkerLog,
    private readonly jobLog: JobLog,
  ) {
    // The source itself limits how many calls are under way.
    this.outcomes = new Batcher({
      maxUnderWay: Infinity,
      begin: (callback) => nextTick(callback),
      send: (outcomes) => this.hand(outcomes),
    });
  }

  settle(outcome: Outcome): void {
    void this.outcomes.add(outcome);
  }

  /** Resolves when all outcomes are written, or after `timeout`; jobs without an outcome return when their leases end. */
  settled(timeout: number): Promise<void> {
    return this.inTime(this.outcomes.settled(), timeout);
  }

  /** The same for the outcomes up to now, in a worker that continues. */
  answered(timeout: number): Promise<void> {
    return this.inTime(this.outcomes.answered(), timeout);
  }

  private async inTime(settled: Promise<void>, timeout: number): Promise<void> {
    const late = () => new Error(`${this.outcomes.underWay} calls with outcomes were not answered in time`);
    await withDeadline(settled, timeout, late).catch((error: unknown) => this.log.error(messageOf(error)));
  }

  private async hand(outcomes: readonly Outcome[]): Promise<undefined[]> {
    try {
      for (const claim of await settleWith(this.source, outcomes)) {
        leaseEnded(this.source, claim, 'refused');
        this.jobLog.refused(claim);
      }
    } catch (error) {
      this.jobLog.unsettled(
        outcomes.map(({ claim }) => claim),
        messageOf(error),
      );
    }
    return outcomes.map(() => undefined);
  }
}
