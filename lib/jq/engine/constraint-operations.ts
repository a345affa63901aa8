import type { Limits } from '../constraints/limits.js';
import { isOne, type Operation } from './operations.js';
import type { StaleJob } from './turn.js';

export interface StoredConstraints {
  readonly version: string;
  /** JSON by id; absent if the known version is current. */
  readonly byId?: ReadonlyMap<string, string>;
}

/** Constraints, unless the version `known` is current. If `repeatable`, it is sent until Redis answers. */
export function constraints(known: string, repeatable: boolean): Operation<StoredConstraints> {
  return {
    name: 'constraints',
    args: [known],
    repeatable,
    decode: (reply) => {
      const [version, flat] = reply as [Buffer, Buffer[] | undefined];
      if (!flat) return { version: String(version) };
      const byId = new Map<string, string>();
      for (let i = 0; i < flat.length; i += 2) byId.set(String(flat[i]), String(flat[i + 1]));
      return { version: String(version), byId };
    },
  };
}

/** The fields of a constraint that scripts read. */
export interface LimitRules {
  readonly concurrency?: number;
  readonly rate?: { readonly count: number; readonly period: number };
}

export interface ConstraintChange {
  readonly id: string;
  readonly json: string;
  readonly rules: LimitRules;
  /** Only change an existing one. */
  readonly known: boolean;
  /** Which jobs it selects, and how they are counted: if this changes, jobs are matched anew. */
  readonly selects: string;
}

/** False if there is none to change, or there are too many already. */
export function putConstraint({ id, json, rules, known, selects }: ConstraintChange): Operation<boolean> {
  const { concurrency = '', rate } = rules;
  const numbers = [concurrency, rate?.count ?? '', rate?.period ?? ''];
  return {
    name: 'put_constraint',
    args: [id, json, ...numbers, known ? 1 : 0, selects],
    decode: isOne,
  };
}

export function removeConstraint(id: string): Operation<boolean> {
  return { name: 'remove_constraint', args: [id], decode: isOne };
}

export function reassignLane({ id, lane }: StaleJob, { version, limits }: Limits): Operation<void> {
  return {
    name: 'reassign_lane',
    args: [id, lane, version, limits.join()],
    repeatable: true,
    decode: () => undefined,
  };
}
