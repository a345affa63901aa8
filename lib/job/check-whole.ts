import { InvalidOptionError } from './errors.js';

/** Checks that an option is a whole number within bounds. @throws InvalidOptionError */
export function checkWhole(
  option: string,
  value: number,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  const bounds = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`;
  throw new InvalidOptionError(option, value, `a whole number${bounds}`);
}
