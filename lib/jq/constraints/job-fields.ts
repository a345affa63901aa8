import { createHash } from 'node:crypto';
import { pick, type Paths, type Picked } from '../message-pack/pick.js';
import type { Raw } from '../message-pack/raw.js';
import { scalarOf, type Scalar } from './scalar.js';

/** What matchers look at. */
export interface MatchedJob {
  readonly name: string;
  readonly argument: Raw;
}

/** The value of a job's field. */
export interface Found {
  /** Absent if it can't be compared. */
  readonly scalar?: Scalar;
}

const DIGEST_CHARACTERS = 20;

/** The fields of one job, for all constraints: its argument is walked once and each value decoded once. */
export class JobFields {
  private picked?: Picked;
  private readonly known = new Map<string, Found | undefined>();
  private readonly digests = new Map<string, string>();

  /** @param paths all paths that will be read */
  constructor(
    private readonly job: MatchedJob,
    private readonly paths: Paths,
  ) {}

  /** `undefined` if there is no such field. */
  at(field: string): Found | undefined {
    if (field === 'name') return { scalar: this.job.name };
    if (!this.known.has(field)) this.known.set(field, this.find(stepsOf(field)));
    return this.known.get(field);
  }

  /** The same for equal values, and for all jobs without the field. */
  digestAt(field: string): string {
    const known = this.digests.get(field);
    if (known !== undefined) return known;
    const found = this.at(field);
    const value = found === undefined ? 'none' : `${typeof found.scalar}:${String(found.scalar)}`;
    const digest = createHash('sha1').update(value).digest('hex').slice(0, DIGEST_CHARACTERS);
    this.digests.set(field, digest);
    return digest;
  }

  private find(steps: readonly string[]): Found | undefined {
    let picked: Picked | undefined = (this.picked ??= pick(this.job.argument, this.paths));
    for (const step of steps) picked = picked?.below.get(step);
    if (!picked) return undefined;
    const scalar = scalarOf(picked.raw);
    return scalar === undefined ? {} : { scalar };
  }
}

/** `argument.a.b` from the argument on. */
export function stepsOf(field: string): readonly string[] {
  return field.split('.').slice(1);
}
