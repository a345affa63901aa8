import { withDeadline } from '../job/deadline.js';
import { messageOf } from '../job/errors.js';
import type { JobSource, Outcome } from '../job/job-source.js';
import type { WorkerLog } from './worker-log.js';

/** Jobs that one line names. */
const MAX_NAMED = 10;

/** Hands outcomes to the source: those of one tick in one call. */
export class Settler {
  private outcomes: Outcome[] = [];
  private readonly underWay = new Set<Promise<void>>();

  constructor(
    private readonly source: Pick<JobSource, 'settle'>,
    private readonly log: WorkerLog,
  ) {}

  settle(outcome: Outcome): void {
    if (this.outcomes.push(outcome) === 1) process.nextTick(() => this.flush());
  }

  /** Resolves when all have been taken. What a server in trouble doesn't take in time is left to the leases. */
  async settled(timeout: number): Promise<void> {
    this.flush();
    const late = () => new Error(`${this.underWay.size} calls with outcomes were not answered in time`);
    await withDeadline(Promise.all(this.underWay), timeout, late).catch((error: unknown) =>
      this.log.error(messageOf(error)),
    );
  }

  private flush(): void {
    const outcomes = this.outcomes;
    if (outcomes.length === 0) return;
    this.outcomes = [];
    const call = this.hand(outcomes);
    this.underWay.add(call);
    void call.then(() => this.underWay.delete(call));
  }

  private async hand(outcomes: readonly Outcome[]): Promise<void> {
    try {
      for (const { fn, id } of await this.source.settle(outcomes))
        this.log.warn(`The outcome of ${fn} ${id} was refused: its lease had gone.`);
    } catch (error) {
      const jobs = outcomes.slice(0, MAX_NAMED).map(({ claim: { fn, id } }) => `${fn} ${id}`);
      if (outcomes.length > MAX_NAMED) jobs.push(`${outcomes.length - MAX_NAMED} more`);
      this.log.error(`The outcome of ${jobs.join(', ')} is lost: ${messageOf(error)}`);
    }
  }
}
