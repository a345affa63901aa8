import ms, { type StringValue } from 'ms';
import { InvalidOptionError } from './errors.js';

/** Milliseconds, or text such as `'30s'`, `'5 minutes'`, `'2h'`. */
export type Duration = number | string;

/** The longest time a timer of Node holds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * A duration in whole milliseconds, rounded up; more than 0 and at most 24 days.
 *
 * @throws InvalidOptionError naming `option`
 */
export function toMilliseconds(option: string, duration: Duration): number {
  const value = typeof duration === 'string' ? parse(duration) : duration;
  if (typeof value !== 'number' || !(value > 0) || value > MAX_TIMER_MS) {
    throw new InvalidOptionError(
      option,
      duration,
      "more than 0 ms and at most 24 days, as a number or like '30s'",
    );
  }
  return Math.ceil(value);
}

function parse(text: string): number {
  try {
    return ms(text as StringValue) ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}
