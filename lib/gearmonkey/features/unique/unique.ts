import { InvalidOptionError } from '../../../job/errors.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import { checkUnique, type Unique } from '../../../job/unique.js';
import { explainRefusal, type Call } from '../../../redis/rights.js';
import type { KnownFunctions } from '../../core/client/known-functions.js';
import type { PlaceHook } from '../../core/client/new-jobs.js';
import type { Placement } from '../../core/client/placement.js';
import type { AnyRunOptions } from '../../core/client/run-options.js';
import type { Feature } from '../../core/feature.js';
import type { FunctionKeys } from '../../core/wire/protocol.js';
import type { ExplainMore, Role } from '../../core/wire/rights.js';
import { createUnique } from './create-unique.js';

/** The option of a call, or that of the definition. @throws ConfigurationError, InvalidOptionError */
export function uniqueOf(
  functions: KnownFunctions,
  ref: FunctionRef,
  { unique }: Pick<AnyRunOptions, 'unique'>,
): Unique | undefined {
  if (unique === undefined) return functions.setting(ref, 'unique');
  return unique === false ? undefined : checkUnique(unique);
}

/** Comes behind limits, whose keys its jobs get from a worker. */
export const placeUnique: Required<PlaceHook> = {
  /** A debounced job waits in `scheduled` until its delay is over. */
  options(functions, ref, options) {
    const rule = uniqueOf(functions, ref, options)?.rule;
    if (rule?.kind !== 'debounce') return options;
    const { priority, scheduled, delay } = options;
    for (const [option, value] of Object.entries({ priority, scheduled, delay }))
      if (value !== undefined)
        throw new InvalidOptionError(
          option,
          value,
          'absent with `unique.debounce`: its delay says when the job runs',
        );
    return { ...options, delay: rule.span };
  },

  place(functions, ref, placement, options, inputs) {
    const unique = uniqueOf(functions, ref, options);
    if (!unique) return placement;
    const { rule } = unique;
    const { feature, apart, alone: _, ...place } = placement;
    if (feature?.insists) throw new InvalidOptionError('unique', rule.kind, feature.insists);
    // What another feature said goes with what it would have created; a worker does that for it.
    const rest: Placement = feature || apart === undefined ? place : { ...place, apart };
    const each = inputs.map((input) => ({ rule, key: unique.keyOf(input) }));
    // Of debounced jobs of a key the last input is that of the last call.
    const inOrder = rule.kind === 'debounce' && { inOrder: true as const };
    return { ...rest, ...inOrder, feature: { way: createUnique, each } };
  },
};

const X = 'x';

/** Workers create jobs of schedules, which may be unique. */
function uniqueRights(role: Role, { unique }: FunctionKeys): Call[] {
  const both: Call[] = [
    ['HMGET', unique, X],
    ['HSET', unique, X, X],
  ];
  return role === 'worker' ? both : [...both, ['HDEL', unique, X], ['HRANDFIELD', unique]];
}

/** If Redis refused a call for a missing right to unique keys, returns an error that names it; otherwise `refusal`. */
const explainOfUnique: ExplainMore = (commands, refusal, fn, k) =>
  explainRefusal(commands, refusal, uniqueRights('client', k), `a client of "${fn}"`);

/** Jobs with a key: while one of that key is there, a new one is not created. */
export const unique: Feature = {
  name: 'unique',
  place: placeUnique,
  settings: ['unique'],
  rights: uniqueRights,
  explain: explainOfUnique,
};
