import { checkPriority } from '../../../job/check-limit.js';
import { InvalidOptionError } from '../../../job/errors.js';
import type { Limit } from '../../../job/limit.js';
import type { Place } from '../../core/client/new-jobs.js';
import type { PlacedLimit, Placement } from '../../core/client/placement.js';

/** The limit of new jobs. @throws LimitKeyError, InvalidOptionError */
export function placedLimit(limit: Limit, inputs: readonly unknown[], { queue }: Placement): PlacedLimit {
  const { rules, onFull, replace } = limit;
  checkPriority(limit, queue);
  return { rules, onFull, replace, keys: inputs.map((input) => limit.keyOf(input)) };
}

/** Adds the keys of a limit and of unique jobs. Unique jobs get the key of a limit from the worker. */
export const placeKeys: Place = (functions, ref, placement, unique, inputs) => {
  const limit = functions.limitOf(ref);
  if (!limit && !unique) return placement;
  const limited = limit && placedLimit(limit, inputs, placement);
  const inOrder = limit?.rules.order === 'strict' && { inOrder: true as const };
  if (!unique) return { ...placement, ...inOrder, ...(limited && { limit: limited }) };
  if (limit && limit.onFull !== 'wait')
    throw new InvalidOptionError(
      'unique',
      unique.rule.kind,
      `absent when the limit says onFull: '${limit.onFull}'`,
    );
  const keys = inputs.map((input) => unique.keyOf(input));
  return { ...placement, ...inOrder, unique: { rule: unique.rule, keys } };
};
