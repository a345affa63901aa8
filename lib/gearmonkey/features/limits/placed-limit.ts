import { InvalidOptionError } from '../../../job/errors.js';
import type { Limit } from '../../../job/limit.js';
import type { PlacedLimit, Placement } from '../../core/client/placement.js';

/** The limit of new jobs. @throws LimitKeyError, InvalidOptionError */
export function placedLimit(limit: Limit, inputs: readonly unknown[], { queue }: Placement): PlacedLimit {
  const { rules, onFull, replace } = limit;
  checkPriority(limit, queue);
  return { rules, onFull, replace, keys: inputs.map((input) => limit.keyOf(input)) };
}

/** Jobs in strict order have no priority. @throws InvalidOptionError */
export function checkPriority({ rules }: Limit, queue: Placement['queue']): void {
  if (rules.order === 'strict' && (queue === 'high' || queue === 'low'))
    throw new InvalidOptionError(
      'priority',
      queue,
      "absent or 'normal' for a function whose order is 'strict'",
    );
}
