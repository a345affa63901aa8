import type { JobErrorInfo } from '../job/errors.js';
import type { JobStatus } from '../job/job.js';
import type { MemoryJobs } from './memory-jobs.js';

/** How a job ended, as lists call it. */
export type EndedState = 'success' | 'failed' | 'cancelled';

/** Codes of jobs that a client ended. */
const CANCELLED: ReadonlySet<string | undefined> = new Set(['JOB_CANCELLED', 'JOB_DRAINED']);

/** The jobs of one function that have ended or will be tried again, with the time of that. */
export class MemoryLists {
  private readonly ended: Record<EndedState, Map<string, number>> = {
    success: new Map(),
    failed: new Map(),
    cancelled: new Map(),
  };
  private readonly retries = new Map<string, number>();

  constructor(private readonly jobs: MemoryJobs) {}

  end(id: string, status: JobStatus, error: JobErrorInfo | undefined, now: number): void {
    this.retries.delete(id);
    const state = status === 'success' ? status : CANCELLED.has(error?.code) ? 'cancelled' : 'failed';
    const list = this.ended[state];
    list.set(id, now);
    for (const first of list.keys()) {
      if (this.jobs.has(first)) break;
      list.delete(first);
    }
  }

  /** A failed or cancelled job is retried or deleted. */
  forget(id: string): void {
    this.ended.failed.delete(id);
    this.ended.cancelled.delete(id);
  }

  retry(id: string, due: number): void {
    this.retries.set(id, due);
  }

  in(state: EndedState): ReadonlyMap<string, number> {
    return this.ended[state];
  }

  /** Retries that are not due yet. */
  retrying(now: number): ReadonlyMap<string, number> {
    for (const [id, due] of this.retries) if (due <= now) this.retries.delete(id);
    return this.retries;
  }
}
