import type { JobsTable } from './schema.js';

/** A row that this daemon has accepted. */
export interface AcceptedJob {
  readonly id: number;
  readonly target: string;
  /** Whose it is: this daemon, as it was called when it accepted the row. */
  readonly owner: string;
  /** What the row goes back to where it isn't run. */
  readonly origin: 'waiting' | 'manual';
  /** How often it was begun before; 0 where the table doesn't count. */
  readonly attempts: number;
  /** How often it may be begun in all, where the row says. */
  readonly maxAttempts?: number;
  /** Seconds, where the row says. */
  readonly timeout?: number;
  /** The row says `running` already: it was accepted and begun in one. */
  readonly hasBegun: boolean;
}

/** How a row leaves this daemon. */
export interface Ending {
  readonly id: number;
  /** The job's. */
  readonly owner: string;
  readonly columns: Partial<JobsTable>;
}

/** What is written of rows on their way, in one go. */
export interface RowWrites {
  readonly begun: readonly AcceptedJob[];
  readonly ended: readonly Ending[];
}
