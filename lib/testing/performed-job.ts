import { randomUUID } from 'node:crypto';
import type { Placement } from '../gearmonkey/client/job-store.js';
import type { KnownFunctions } from '../gearmonkey/client/known-functions.js';
import { placedLimit } from '../gearmonkey/client/limit-access.js';
import {
  placementOf as placedAt,
  type AddedOptions,
  type RunOptions,
} from '../gearmonkey/client/run-options.js';
import type { FunctionRef } from '../job/job-definition.js';

/**
 * Where a job that a test performs is placed. With a limit it gets a key that no other job has, so it can run at once.
 *
 * @throws LimitKeyError if the function could not make its key · ConfigurationError, InvalidOptionError
 */
export function placementOf(
  functions: KnownFunctions,
  ref: FunctionRef,
  input: unknown,
  { options, added }: { options: RunOptions; added: AddedOptions },
): Placement {
  const placement = placedAt(options, added);
  const limit = functions.limitOf(ref);
  if (!limit) return placement;
  const placed = placedLimit(limit, [input], placement);
  return { ...placement, limit: { ...placed, onFull: 'wait', keys: [`perform:${randomUUID()}`] } };
}
