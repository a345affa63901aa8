import ms, { type StringValue } from 'ms';
import { InvalidOptionError } from './errors.js';

/** A span of time: milliseconds, or text with a unit, such as `'30s'`, `'5 minutes'`, `'2h'`. */
export type Duration = number | string;

/** The longest delay of a Node timer. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
/** The longest time span where no timer is involved, such as a job's delay. */
export const MAX_SPAN_MS = 36_525 * 24 * 3_600_000;

/** The shortest and longest duration an option accepts, in milliseconds. */
export interface DurationBounds {
  /** @default more than 0 */
  readonly least?: number;
  /** @default the longest delay of a Node timer, about 24 days */
  readonly most?: number;
}

/**
 * Converts a duration to whole milliseconds, rounded up. All options that take a duration use this function.
 *
 * @throws InvalidOptionError naming `option`
 */
export function toMilliseconds(option: string, duration: Duration, bounds: DurationBounds = {}): number {
  const { least, most = MAX_TIMER_MS } = bounds;
  const value = typeof duration === 'string' ? parse(duration) : duration;
  if (typeof value === 'number' && (least === undefined ? value > 0 : value >= least) && value <= most)
    return Math.ceil(value);
  throw new InvalidOptionError(option, duration, expectation(least, most));
}

/** The same for an option with a default. Null is refused, since it may be a mistake. @throws InvalidOptionError */
export function millisecondsOr(
  absent: Duration,
  option: string,
  duration: Duration | undefined,
  bounds?: DurationBounds,
): number {
  return toMilliseconds(option, duration === undefined ? absent : duration, bounds);
}

/** Text needs a unit: a bare number may have been meant as seconds. */
function parse(text: string): number {
  try {
    return /[a-z]$/i.test(text) ? (ms(text as StringValue) ?? Number.NaN) : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

function expectation(least: number | undefined, most: number): string {
  const from = least === undefined ? 'more than 0 ms' : `at least ${inWords(least)}`;
  return `${from} and at most ${inWords(most)}, as a number of milliseconds or text with a unit like '30s'`;
}

function inWords(span: number): string {
  if (span === MAX_TIMER_MS) return '24 days';
  return span === MAX_SPAN_MS ? '100 years' : `${span} ms`;
}
