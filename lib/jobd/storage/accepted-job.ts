import type { JobsTable } from './schema.js';
import type { OptionalColumn } from './table-setup.js';

/** A row that this daemon has accepted. */
export interface AcceptedJob {
  readonly id: number;
  readonly target: string;
  /** Its owner: this daemon, by its name when it accepted the row. */
  readonly owner: string;
  /** The status to go back to if it isn't run. */
  readonly origin: 'waiting' | 'manual';
  /** How often it was begun before; 0 if the table doesn't count. */
  readonly attempts: number;
  /** How often it may be begun in all, if the row says. */
  readonly maxAttempts?: number;
  /** Seconds, if the row says. */
  readonly timeout?: number;
  /** The row says `running` already: it was accepted and begun in one step. */
  readonly hasBegun: boolean;
}

/** Whether a row can be run again. A client waits for a manual row's result: it is run once. */
export function mayRetry({ origin }: AcceptedJob, columns: ReadonlySet<OptionalColumn>): boolean {
  return origin !== 'manual' && columns.has('attempts') && columns.has('time_scheduled');
}

/** The last write of a row by this daemon. */
export interface Ending {
  readonly id: number;
  /** The job's owner. */
  readonly owner: string;
  readonly columns: Partial<JobsTable>;
}

/** Beginnings and ends that are written together. */
export interface RowWrites {
  readonly begun: readonly AcceptedJob[];
  readonly ended: readonly Ending[];
}
