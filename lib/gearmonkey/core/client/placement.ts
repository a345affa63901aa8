import type { Clock } from '../../../job/clock.js';
import type { Limit } from '../../../job/limit.js';
import type { UniqueRule } from '../../../job/unique.js';
import type { Queue } from '../wire/protocol.js';

/** The queue and options of new jobs. */
export interface Placement {
  readonly queue: Queue;
  /** Seconds since 1970 from which a job in `scheduled` may run. */
  readonly score?: number;
  /** Milliseconds after which a job in `scheduled` may run, instead of `score`. */
  readonly delay?: number;
  /** The jobs' own options, as JSON. */
  readonly options?: string;
  /** When they expire, in milliseconds since 1970; the options have it, too. */
  readonly expires?: number;
  /** Milliseconds from when they may run to when they expire, instead of `expires`; the options get the time from the store. */
  readonly expiresIn?: number;
  /** What they are limited by; absent for functions without a limit, and for unique jobs, which workers file. */
  readonly limit?: PlacedLimit;
  /** Present if another job may stand for a new one. */
  readonly unique?: PlacedUnique;
  /** True for functions with a strict order: jobs are created in the order of the calls, also when connections break. */
  readonly inOrder?: true;
}

/** The limit of new jobs. */
export interface PlacedLimit extends Pick<Limit, 'rules' | 'onFull' | 'replace'> {
  /** The key of each new job. */
  readonly keys: readonly string[];
}

/** The unique keys of new jobs. */
export interface PlacedUnique {
  readonly rule: UniqueRule;
  /** The key of each new job. */
  readonly keys: readonly string[];
}

/** When a job in `scheduled` may run, in seconds since 1970. `now` is in milliseconds. */
export function scoreOf(
  { score, delay }: Pick<Placement, 'score' | 'delay'>,
  now: number,
): number | undefined {
  return delay === undefined ? score : (now + delay) / 1000;
}

/** The same as scripts take it: a span goes by the server's clock, unless a test brings its own. */
export function dueText(
  { score, delay }: Pick<Placement, 'score' | 'delay'>,
  clock: Pick<Clock, 'now'> | undefined,
): number | string {
  if (delay === undefined) return score ?? '';
  return clock ? (clock.now() + delay) / 1000 : `+${delay}`;
}

/** When jobs expire, in ms since 1970; undefined if they don't. `now` is in ms. */
export function expiryAt(
  { expires, expiresIn, ...time }: Pick<Placement, 'score' | 'delay' | 'expires' | 'expiresIn'>,
  now: number,
): number | undefined {
  if (expiresIn === undefined) return expires;
  const score = scoreOf(time, now);
  return (score === undefined ? now : Math.round(score * 1000)) + expiresIn;
}

/** Where a job waits, and until when. */
export type Place = Pick<Placement, 'queue' | 'score' | 'delay'>;
