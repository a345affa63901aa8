import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { AcceptedRows } from './accepted-rows.js';

export interface ReleaseOptions {
  readonly log: JobdLog;
  /** Milliseconds to wait during an outage of the database, once `until` has resolved. */
  readonly lastWrites: number;
  readonly until?: Promise<void> | undefined;
  /** Aborted when this one shuts down. */
  readonly closing: AbortSignal;
}

/** Releases accepted rows that were not run. Never rejects: rows that could not be written are released at a later heartbeat. */
export async function releaseRows(
  accepted: AcceptedRows,
  jobs: readonly AcceptedJob[],
  { log, lastWrites, until, closing }: ReleaseOptions,
): Promise<void> {
  const patience = new AbortController();
  const giveUp = async () => {
    await until;
    await delay(lastWrites, undefined, { signal: patience.signal, ref: false }).catch(() => undefined);
    patience.abort();
  };
  void giveUp();
  try {
    await accepted.release(jobs, patience.signal);
  } catch (error) {
    log.error(`${jobs.length} rows could not be given back: ${messageOf(error)}`);
    // As strays they are released with one of the next beats. On shutdown the rows stay for others to take over.
    if (!closing.aborted) for (const job of jobs) accepted.forget(job);
  } finally {
    patience.abort();
  }
}
