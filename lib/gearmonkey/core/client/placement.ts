import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../../../job/clock.js';
import type { Payload } from '../../../job/codec.js';
import type { FunctionKeys, Queue } from '../wire/protocol.js';
import type { Times } from '../wire/scripts.js';
import type { EnqueuedKey } from './enqueued-key.js';

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
  /** Jobs are created in the order of the calls, also when connections break. */
  readonly inOrder?: true;
  /** Only jobs that say the same share a call: Redis may refuse it for what is said here. */
  readonly apart?: string;
  /** They share no call with the jobs of another caller, as it is refused as a whole. */
  readonly alone?: true;
  /** Present if a feature creates them. */
  readonly feature?: FeatureJobs;
}

/** What the jobs of a call have in common. */
export type CallPlacement = Pick<
  Placement,
  'queue' | 'score' | 'delay' | 'expiresIn' | 'inOrder' | 'apart' | 'alone'
>;

/** Jobs that a feature creates, with a script of its own. */
export interface FeatureJobs<Each = unknown> {
  readonly way: CreateWay<Each>;
  /** What it knows of each of them. */
  readonly each: readonly Each[];
  /** Why no other feature may create them, as what its option has to be; absent if it may. */
  readonly insists?: string;
}

/** A feature's way to create jobs. Unless its jobs are `apart`, it also creates those of their call that have nothing to do with it. */
export interface CreateWay<Each = unknown> {
  /**
   * Returns the jobs' keys, or the last id if all are new: they have ids in a row.
   *
   * @param each what the feature knows of a job, by its index; undefined for others
   */
  create(
    redis: Redis | Cluster,
    jobs: JobsOfCall,
    each: readonly (Each | undefined)[],
    how: CreateCall,
  ): Promise<number | EnqueuedKey[]>;
}

/** The jobs of one call. */
export interface JobsOfCall {
  readonly fn: string;
  readonly placement: CallPlacement;
  /** The mark of the first one. */
  readonly mark: number;
  readonly inputs: readonly Payload[];
  /** The options of each as JSON, or ''. */
  readonly options: readonly string[];
}

/** What a feature's script gets beside the jobs. */
export interface CreateCall {
  readonly k: FunctionKeys;
  /** The key of the sender. */
  readonly sender: string;
  readonly head: Head;
  readonly times: Times;
  /** That of a test; '' is the server's time. */
  readonly time: number | '';
}

/** The arguments that the scripts have in common. */
export type Head = readonly [created: number, call: number, memorySeconds: number, mark: number];

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
