import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import type { ConstraintStore } from './constraint-store.js';
import type { StaleJob } from './operations.js';

/** Before jobs are matched again that could not be. */
const PAUSE_MS = 1000;

/** Jobs that are matched anew after constraints have changed, a batch at a time. */
export class LaneReassignment {
  /** Nothing is handed out in the meantime: what is in front may be what has to be looked at. */
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
