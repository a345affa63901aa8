import { randomBytes } from 'node:crypto';
import { defined } from '../../job/defined.js';
import * as operations from './constraint-operations.js';
import type { Operation, StaleJob } from './operations.js';
import type { Constraint } from '../constraints/constraint.js';
import { ConstraintSet } from '../constraints/constraint-set.js';

const ID_BYTES = 6;

interface Runner {
  run<Reply>(operation: Operation<Reply>): Promise<Reply>;
}

/** The constraints in Redis, with a copy here. */
export class ConstraintStore {
  private set = new ConstraintSet('', new Map());

  constructor(private readonly turns: Runner) {}

  get current(): ConstraintSet {
    return this.set;
  }

  /** Reads them if Redis has another version. @throws EngineUnavailableError */
  refresh(): Promise<ConstraintSet> {
    return this.read(this.set.version, false);
  }

  /** Reads them. @throws EngineUnavailableError */
  load(): Promise<ConstraintSet> {
    return this.read('', false);
  }

  /** Reads them, retrying until Redis answers. */
  loadUntilAnswered(): Promise<ConstraintSet> {
    return this.read('', true);
  }

  /** Its id, or `undefined` when there are too many. */
  async create(constraint: Constraint): Promise<string | undefined> {
    const id = randomBytes(ID_BYTES).toString('hex');
    const isTaken = await this.turns.run(changeOf(id, constraint, false));
    return isTaken ? id : undefined;
  }

  /** False when there is no such constraint. */
  replace(id: string, constraint: Constraint): Promise<boolean> {
    return this.turns.run(changeOf(id, constraint, true));
  }

  /** False when there is no such constraint. */
  remove(id: string): Promise<boolean> {
    return this.turns.run(operations.removeConstraint(id));
  }

  /**
   * Matches jobs anew that were matched with other constraints. A job that can't be read falls under none, so that it
   * doesn't block others.
   */
  async reassignLanes(
    jobs: readonly StaleJob[],
    onUnreadable: (job: StaleJob, error: unknown) => void = () => undefined,
  ): Promise<void> {
    const set = await this.read(this.set.version, true);
    const limitsOf = (job: StaleJob) => {
      try {
        return set.limitsOf(job);
      } catch (error) {
        onUnreadable(job, error);
        return { version: set.version, limits: [] };
      }
    };
    await Promise.all(jobs.map((job) => this.turns.run(operations.reassignLane(job, limitsOf(job)))));
  }

  private async read(known: string, repeatable: boolean): Promise<ConstraintSet> {
    const { version, byId } = await this.turns.run(operations.constraints(known, repeatable));
    if (byId) this.set = new ConstraintSet(version, parsed(byId));
    return this.set;
  }
}

function changeOf(id: string, constraint: Constraint, known: boolean) {
  const { match, per, rate, concurrency } = constraint;
  return operations.putConstraint({
    id,
    json: JSON.stringify(constraint),
    rules: defined({
      concurrency,
      rate: rate && { count: rate.count, period: rate.period * 1000 },
    }),
    known,
    selects: JSON.stringify([match, per]),
  });
}

/** Only masters write them, in the form of `readConstraint`. */
function parsed(byId: ReadonlyMap<string, string>): Map<string, Constraint> {
  return new Map([...byId].map(([id, json]) => [id, JSON.parse(json) as Constraint]));
}
