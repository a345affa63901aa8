import { inspect } from 'node:util';

/** What no option takes as a duration, in whatever bounds. */
const NO_DURATIONS: readonly unknown[] = [
  ...['', ' ', '30', '1e3', '30s ', '-5s', '1 fortnight', 'soon', 'x'.repeat(200)],
  ...[-1, Number.NaN, Infinity, -Infinity, 5n, null, true, {}, [], Symbol('30s')],
  ...[new Date(), new Date('never'), { valueOf: () => 30 }],
];

/** The rows of `it.each`: how such a value looks, and the value. */
export const noDurations = (): [string, unknown][] =>
  NO_DURATIONS.map((value) => [inspect(value).slice(0, 40), value]);
