import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import type { ConstraintStore } from './constraint-store.js';
import type { StaleJob } from './operations.js';

/** The pause before failed matches are tried again. */
const PAUSE_MS = 1000;

/** Matches jobs anew after constraints have changed, a batch at a time. */
export class LaneReassignment {
  /** Set while jobs are matched. No job is handed out meanwhile, since the next one may be among them. */
  underWay?: Promise<void>;

  constructor(
    private readonly constraints: ConstraintStore,
    private readonly onDone: () => void,
    private readonly onProblem: ((message: string) => void) | undefined,
  ) {}

  begin(jobs: readonly StaleJob[]): void {
    this.underWay ??= this.reassign(jobs);
  }

  private async reassign(jobs: readonly StaleJob[]): Promise<void> {
    try {
      await this.constraints.reassignLanes(jobs, ({ id }, error) => this.complain(`Job ${id}`, error));
    } catch (error) {
      this.complain('Jobs', error);
      await delay(PAUSE_MS, undefined, { ref: false });
    } finally {
      delete this.underWay;
      this.onDone();
    }
  }

  private complain(what: string, error: unknown): void {
    this.onProblem?.(`${what} could not be matched with the constraints: ${messageOf(error)}`);
  }
}
