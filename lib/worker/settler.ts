import { Batcher } from '../flow/batcher.js';
import { withDeadline } from '../job/deadline.js';
import { messageOf } from '../job/errors.js';
import type { JobSource, Outcome } from '../job/job-source.js';
import type { WorkerLog } from './worker-log.js';

/** A test's fake timers would keep outcomes until they are moved. */
const { nextTick } = process;
/** Jobs that one line names. */
const MAX_NAMED = 10;

/** Hands outcomes to the source: those of one tick in one call. */
export class Settler {
  private readonly outcomes: Batcher<Outcome, void>;

  constructor(
    private readonly source: Pick<JobSource, 'settle'>,
    private readonly log: WorkerLog,
  ) {
    // The source itself bounds what is under way.
    this.outcomes = new Batcher({
      maxUnderWay: Infinity,
      begin: (callback) => nextTick(callback),
      send: (outcomes) => this.hand(outcomes),
    });
  }

  settle(outcome: Outcome): void {
    void this.outcomes.add(outcome);
  }

  /** Resolves when all are settled. What an unreachable server doesn't take in time is left to the leases. */
  async settled(timeout: number): Promise<void> {
    const late = () => new Error(`${this.outcomes.underWay} calls with outcomes were not answered in time`);
    await withDeadline(this.outcomes.settled(), timeout, late).catch((error: unknown) =>
      this.log.error(messageOf(error)),
    );
  }

  private async hand(outcomes: readonly Outcome[]): Promise<undefined[]> {
    try {
      for (const { fn, id } of await this.source.settle(outcomes))
        this.log.warn(`The outcome of ${fn} ${id} was refused: its lease had gone.`);
    } catch (error) {
      const jobs = outcomes.slice(0, MAX_NAMED).map(({ claim: { fn, id } }) => `${fn} ${id}`);
      if (outcomes.length > MAX_NAMED) jobs.push(`${outcomes.length - MAX_NAMED} more`);
      this.log.error(`The outcome of ${jobs.join(', ')} is lost: ${messageOf(error)}`);
    }
    return outcomes.map(() => undefined);
  }
}
