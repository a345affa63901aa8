import { InvalidOptionError } from '../../job/errors.js';

/** Drivers make SQL of other values, or fail at them. @throws InvalidOptionError */
export function checkIds(ids: readonly unknown[]): void {
  if (!ids.every(Number.isSafeInteger))
    throw new InvalidOptionError('ids', ids, `ids of rows, whole numbers up to ${Number.MAX_SAFE_INTEGER}`);
}
