import { RequestError } from '../vocabulary/errors.js';
import type { RequestArguments } from './request-handlers.js';

/** Longer than any table's column; names are kept in memory. */
export const MAX_TARGET_LENGTH = 255;

/** How many targets or jobs one request may name. */
export const MAX_LISTED = 10_000;

/** @throws RequestError for anything but a list of one name or more */
export function readTargets(targets: unknown): readonly string[] {
  if (!Array.isArray(targets)) throw new RequestError('targets must be array');
  if (targets.length === 0) throw new RequestError('targets are empty');
  if (targets.length > MAX_LISTED) throw new RequestError(`more than ${MAX_LISTED} targets`);
  return [...new Set((targets as readonly unknown[]).map(checkTarget))];
}

/** `undefined` stands for all. */
export function readOptionalTargets({ targets }: RequestArguments): readonly string[] | undefined {
  return targets === undefined ? undefined : readTargets(targets);
}

function checkTarget(target: unknown): string {
  if (typeof target !== 'string')
    throw new RequestError(`all targets must be strings, ${typeof target} given`);
  if (target.length > MAX_TARGET_LENGTH) {
    throw new RequestError(`a target's name may have ${MAX_TARGET_LENGTH} characters`);
  }
  return target;
}
