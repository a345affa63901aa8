import type { JobKey } from '../wire/protocol.js';

/** The job that an enqueue returns. */
export interface EnqueuedKey extends JobKey {
  /** False if it was there before: its unique key is that of the new job. */
  readonly created: boolean;
}
