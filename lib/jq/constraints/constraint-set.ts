import { Paths } from '../message-pack/pick.js';
import { limitOf, matches, type Constraint } from './constraint.js';
import { JobFields, stepsOf, type MatchedJob } from './job-fields.js';
import type { Limits } from './limits.js';

interface Entry {
  readonly id: string;
  readonly constraint: Constraint;
}

/** The paths below a job's argument that constraints look at. */
export function pathsOf(constraints: Iterable<Pick<Constraint, 'match' | 'per'>>): Paths {
  const fields = new Set<string>();
  for (const { match, per } of constraints) {
    for (const { field } of match) fields.add(field);
    if (per !== undefined) fields.add(per);
  }
  fields.delete('name');
  return new Paths([...fields].map(stepsOf));
}

/** The constraints of one version, grouped by names so that most jobs are tested by few of them. */
export class ConstraintSet {
  private readonly byName = new Map<string, Entry[]>();
  private readonly others: Entry[] = [];
  private readonly paths: Paths;

  constructor(
    readonly version: string,
    readonly byId: ReadonlyMap<string, Constraint>,
  ) {
    for (const [id, constraint] of byId) this.add({ id, constraint });
    this.paths = pathsOf(byId.values());
  }

  /** The limits that a job falls under. */
  limitsOf(job: MatchedJob): Limits {
    if (this.byId.size === 0) return { version: this.version, limits: [] };
    const fields = new JobFields(job, this.paths);
    const limits = [...(this.byName.get(job.name) ?? []), ...this.others]
      .filter(({ constraint }) => matches(constraint.match, fields))
      .map(({ id, constraint }) => limitOf(id, constraint, fields));
    return { version: this.version, limits: limits.sort() };
  }

  private add(entry: Entry): void {
    const name = entry.constraint.match.find(({ field, equal }) => field === 'name' && equal !== undefined);
    if (typeof name?.equal !== 'string') {
      this.others.push(entry);
      return;
    }
    const list = this.byName.get(name.equal) ?? [];
    list.push(entry);
    this.byName.set(name.equal, list);
  }
}
