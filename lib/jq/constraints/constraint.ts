import type { JobFields } from './job-fields.js';
import type { Scalar } from './scalar.js';

/** One condition on a job. All its tests must hold. */
export interface Condition {
  /** `name`, or `argument` with a path, such as `argument.tenant.id` or `argument.sizes.0`. */
  readonly field: string;
  readonly equal?: StorableScalar;
  readonly in?: readonly StorableScalar[];
  /** For text of at most 1024 characters: `*` stands for any, `?` for one. */
  readonly glob?: string;
  /** The least number, itself included. */
  readonly min?: number;
  /** The greatest number, itself included. */
  readonly max?: number;
  readonly exists?: boolean;
}

/** A value that constraints compare. */
export type StorableScalar = string | number | boolean | null;

/** At most `count` starts in any `period` of seconds: as the body of a request has it. */
export interface RateLimit {
  readonly count: number;
  readonly period: number;
}

/** A limit on the jobs that a matcher selects: the body of a request. */
export interface Constraint {
  /** The JobMatcher: all conditions must hold; an empty list selects every job. */
  readonly match: readonly Condition[];
  /** A field: jobs are counted separately for each of its values. */
  readonly per?: string;
  readonly rate?: RateLimit;
  /** How many may be handed out at a time. */
  readonly concurrency?: number;
}

export function matches(conditions: readonly Condition[], job: JobFields): boolean {
  return conditions.every((condition) => holds(condition, job));
}

function holds({ field, exists, ...tests }: Condition, job: JobFields): boolean {
  const value = job.at(field);
  if (exists !== undefined && (value !== undefined) !== exists) return false;
  const wantsValue = Object.keys(tests).length > 0;
  return !wantsValue || (value !== undefined && passes(tests, value.scalar));
}

function passes(tests: Omit<Condition, 'field' | 'exists'>, value: Scalar | undefined): boolean {
  if ('equal' in tests && value !== tests.equal) return false;
  if (tests.in && !tests.in.some((element) => element === value)) return false;
  if (tests.glob !== undefined && !(typeof value === 'string' && matchesGlob(tests.glob, value)))
    return false;
  if (tests.min !== undefined && !(isNumber(value) && value >= tests.min)) return false;
  return tests.max === undefined || (isNumber(value) && value <= tests.max);
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** A limit's name in Redis, shared by jobs that are counted together. Jobs without the value share one, too. */
export function limitOf(id: string, { per }: Constraint, job: JobFields): string {
  return per === undefined ? id : `${id}=${job.digestAt(per)}`;
}

/** Longer text matches no pattern: time grows with the product of both lengths, for any pattern. */
export const LONGEST_GLOBBED = 1024;

/** Whether the whole text matches a pattern in which `*` stands for any characters and `?` for one. */
export function matchesGlob(pattern: string, text: string): boolean {
  if (text.length > LONGEST_GLOBBED) return false;
  let [at, in_, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[in_] === '*') {
      star = in_;
      in_ += 1;
      resume = at;
    } else if (in_ < pattern.length && (pattern[in_] === '?' || pattern[in_] === text[at])) {
      in_ += 1;
      at += 1;
    } else if (star >= 0) {
      in_ = star + 1;
      resume += 1;
      at = resume;
    } else {
      return false;
    }
  }
  while (pattern[in_] === '*') in_ += 1;
  return in_ === pattern.length;
}
