import { withDeadline } from '../job/clock.js';
import { messageOf } from '../job/errors.js';
import { instrumentation } from '../job/instrumentation.js';
import type { JobSource, Outcome } from '../job/job-source.js';
import type { JobLog } from './job-log.js';
import { leaseEnded, tracedSettle } from './traced-source.js';
import type { WorkerLog } from './worker-log.js';

/** A test's fake timers would keep outcomes until they are moved. */
const { nextTick } = process;

/** Passes outcomes to the source, those of one tick in one call. The source itself limits how many are under way. */
export class Settler {
  /** Those of this tick. */
  private outcomes: Outcome[] = [];
  private readonly calls = new Set<Promise<void>>();

  constructor(
    private readonly source: Pick<JobSource, 'settle' | 'system' | 'address'>,
    private readonly log: WorkerLog,
    private readonly jobLog: JobLog,
  ) {}

  settle(outcome: Outcome): void {
    if (this.outcomes.push(outcome) === 1) nextTick(() => this.send());
  }

  /** Resolves when all outcomes are written, or after `timeout`; jobs without an outcome return when their leases end. */
  settled(timeout: number): Promise<void> {
    return this.inTime(this.allCalls(), timeout);
  }

  /** The same for the outcomes up to now, in a worker that continues. */
  answered(timeout: number): Promise<void> {
    this.send();
    return this.inTime(Promise.all(this.calls), timeout);
  }

  private async allCalls(): Promise<void> {
    for (this.send(); this.calls.size > 0; this.send()) await Promise.all(this.calls);
  }

  private send(): void {
    if (this.outcomes.length === 0) return;
    const call = this.hand(this.outcomes);
    this.outcomes = [];
    this.calls.add(call);
    void call.then(() => this.calls.delete(call));
  }

  private async inTime(settled: Promise<unknown>, timeout: number): Promise<void> {
    const late = () => new Error(`${this.calls.size} calls with outcomes were not answered in time`);
    await withDeadline(settled, timeout, late).catch((error: unknown) => this.log.error(messageOf(error)));
  }

  private async hand(outcomes: readonly Outcome[]): Promise<void> {
    try {
      const isTraced = instrumentation.settle.hasSubscribers;
      const settled = isTraced ? tracedSettle(this.source, outcomes) : this.source.settle(outcomes);
      for (const claim of await settled) {
        leaseEnded(this.source, claim, 'refused');
        // One that was to go back is elsewhere already.
        const outcome = outcomes.find((one) => one.claim === claim);
        if (outcome?.status !== 'released') this.jobLog.refused(claim);
      }
    } catch (error) {
      this.jobLog.unsettled(
        outcomes.map(({ claim }) => claim),
        messageOf(error),
      );
    }
  }
}
