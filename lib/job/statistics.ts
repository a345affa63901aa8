import { checkOptions, optionNames } from './known-options.js';
import { InvalidOptionError } from './errors.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long statistics are kept, in hours. */
export const KEPT_HOURS = 72;

/** Upper bounds of the classes in which times are counted, in milliseconds. Longer times have a class of their own. */
export const TIME_BOUNDS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000,
];

/** Which statistics to read. */
export interface StatisticsOptions {
  /** The start of the first interval is at or before this time. @default an hour ago by minute, 24 hours by hour, 72 by day */
  from?: Date;
  /** The last interval begins before this time. @default now */
  to?: Date;
  /** The length of an interval. Days are those of UTC. @default 'hour' */
  by?: 'minute' | 'hour' | 'day';
}

/** How many of the times were above the class before and at most `most` milliseconds; the last class has no upper bound. */
export interface TimeClass {
  readonly most: number;
  readonly count: number;
}

/** Times of an interval's jobs, in milliseconds. */
export interface TimeStatistics {
  readonly count: number;
  /** 0 without jobs. */
  readonly mean: number;
  /** Classes that have times, in ascending order; `Infinity` bounds the last. */
  readonly classes: readonly TimeClass[];
}

/** What happened to a function's jobs in one interval. */
export interface JobStatistics {
  /** When the interval begins. */
  readonly at: Date;
  /** Jobs that succeeded. */
  readonly done: number;
  /** Jobs that ended as errors after a handler ran them, or because they lost their worker too often. */
  readonly failed: number;
  /** Attempts that failed and were to be repeated. */
  readonly retried: number;
  /** Claims that ended because their worker was lost. */
  readonly stalled: number;
  /** How long jobs waited for their first attempt after they could have run. */
  readonly wait: TimeStatistics;
  /** How long attempts took that succeeded or failed. */
  readonly run: TimeStatistics;
}

/** Counts by kind: `done`, `failed`, `retried`, `stalled`; `wait` and `run` with the number of a class, or `:ms` for the sum. */
export type Counts = ReadonlyMap<string, number>;

/** The intervals that are wanted, each with its hours and minutes. */
export interface StatisticsQuery {
  readonly by: 'minute' | 'hour' | 'day';
  /** The starts of the intervals, in ms since 1970. */
  readonly starts: readonly number[];
  /** The hours they are in, counted from 1970. */
  readonly hours: readonly number[];
}

const OPTIONS = optionNames<Required<StatisticsOptions>>({ from: true, to: true, by: true });
const LENGTHS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const;
const SPANS = { minute: HOUR_MS, hour: DAY_MS, day: KEPT_HOURS * HOUR_MS } as const;

/** @throws InvalidOptionError, ConfigurationError */
export function statisticsQuery(given: StatisticsOptions, now: number): StatisticsQuery {
  const options = checkOptions('statistics', given, OPTIONS);
  const { by = 'hour' } = options;
  if (!Object.hasOwn(LENGTHS, by)) throw new InvalidOptionError('by', by, "'minute', 'hour' or 'day'");
  const to = timeOf('to', options.to) ?? now;
  const from = timeOf('from', options.from) ?? to - SPANS[by];
  if (from >= to) throw new InvalidOptionError('from', options.from, 'a time before `to`');
  if (to - from > (KEPT_HOURS + 24) * HOUR_MS)
    throw new InvalidOptionError('from', options.from, `at most ${KEPT_HOURS} hours before \`to\``);
  const hours = startsOf(from, to, HOUR_MS).map((start) => start / HOUR_MS);
  return { by, starts: startsOf(from, to, LENGTHS[by]), hours: by === 'day' ? wholeDays(from, to) : hours };
}

/** Adds up the counts of each interval. `countsOf` returns those of an hour, or of one of its minutes. */
export function toStatistics(
  { by, starts }: StatisticsQuery,
  countsOf: (hour: number, minute?: number) => Counts,
): JobStatistics[] {
  return starts.map((start) => {
    const hour = Math.floor(start / HOUR_MS);
    const hours = by === 'day' ? Array.from({ length: 24 }, (_, index) => hour + index) : [hour];
    const minute = by === 'minute' ? (start % HOUR_MS) / MINUTE_MS : undefined;
    return statisticsOf(
      start,
      hours.map((one) => countsOf(one, minute)),
    );
  });
}

/** The kinds of counts of a time: its sum in milliseconds, and one for each class. */
function timeCounts(kind: 'wait' | 'run') {
  const classes = [...TIME_BOUNDS, Infinity].map((_, index) => `${kind}:${index}`);
  return { sum: `${kind}:ms`, classes } as const;
}

export const TIME_COUNTS = { wait: timeCounts('wait'), run: timeCounts('run') } as const;

/** All kinds of counts. */
export const COUNT_KINDS: readonly string[] = [
  ...['done', 'failed', 'retried', 'stalled'],
  ...Object.values(TIME_COUNTS).flatMap(({ sum, classes }) => [sum, ...classes]),
];

function statisticsOf(start: number, parts: readonly Counts[]): JobStatistics {
  const count = (kind: string) => parts.reduce((sum, part) => sum + (part.get(kind) ?? 0), 0);
  return {
    at: new Date(start),
    done: count('done'),
    failed: count('failed'),
    retried: count('retried'),
    stalled: count('stalled'),
    wait: timesOf('wait', count),
    run: timesOf('run', count),
  };
}

function timesOf(kind: 'wait' | 'run', countOf: (kind: string) => number): TimeStatistics {
  const classes = [...TIME_BOUNDS, Infinity]
    .map((most, index) => ({ most, count: countOf(`${kind}:${index}`) }))
    .filter((one) => one.count > 0);
  const count = classes.reduce((sum, one) => sum + one.count, 0);
  return { count, mean: count === 0 ? 0 : countOf(`${kind}:ms`) / count, classes };
}

function startsOf(from: number, to: number, length: number): number[] {
  const first = Math.floor(from / length) * length;
  return Array.from({ length: Math.ceil((to - first) / length) }, (_, index) => first + index * length);
}

function wholeDays(from: number, to: number): number[] {
  const days = startsOf(from, to, DAY_MS);
  return days.flatMap((day) => Array.from({ length: 24 }, (_, index) => day / HOUR_MS + index));
}

function timeOf(option: string, given: Date | undefined): number | undefined {
  if (given === undefined) return undefined;
  const time = given instanceof Date ? given.getTime() : NaN;
  if (!Number.isFinite(time)) throw new InvalidOptionError(option, given, 'a valid Date');
  return time;
}
