import type { Keep } from '../job/keep.js';
import type { LimitCounts } from './limit-counts.js';
import type { KeyOf } from './waiting-jobs.js';

/** What a function of the embedded server has to know about its server. */
export interface MemoryFunctionOptions {
  /** How often a job may lose its worker. */
  readonly maxStalls: number;
  /** How long ended jobs can be read. @default 25 hours */
  readonly keep?: Keep | undefined;
  /** What counts for a limit that several functions share. */
  readonly sharedLimit?: (name: string) => LimitCounts;
  /** A claim ended because its worker was lost; with `isLast` the job failed. */
  readonly onStalled?: (isLast: boolean, now: number) => void;
  /** A job has ended: others may wait for it. */
  readonly onEnd?: (id: string, succeeded: boolean, now: number) => void;
  /** A job is no longer kept. */
  readonly onDelete?: (id: string) => void;
  /** Whether a job that has ended may still be read by one that waited for it. */
  readonly isHeld?: (id: string) => boolean;
}

export interface ClaimOptions {
  /** The id of the only job that is wanted. */
  readonly only?: string;
  /** Makes the keys of jobs that have none. */
  readonly keyOf?: KeyOf | undefined;
}
