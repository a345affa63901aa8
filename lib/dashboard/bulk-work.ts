import type { BulkRun, EndedJobs } from '../job/failed-jobs.js';
import { JobNotFoundError, NotCancellableError } from '../job/errors.js';
import type { JobState } from '../job/job-state.js';
import { ApiFailure } from './dashboard-errors.js';
import type { BulkWork } from './bulk-runs.js';
import type { ViewedFunction } from './viewed-instance.js';

const STEP = 100;

/** Retries or deletes ended jobs. */
export function mendWork(
  { client, fn }: ViewedFunction,
  verb: 'retry' | 'discard',
  which: EndedJobs,
): BulkWork {
  return async (report, isCancelled) => {
    const run: BulkRun = client[verb](fn, which);
    run.progress$.subscribe({
      next: (done) => {
        report(done);
        if (isCancelled()) run.cancel();
      },
      // `done` has it, too.
      error: () => undefined,
    });
    return run.done;
  };
}

/** Whether a job may be cancelled: others may wait for it. */
export type MayCancel = (id: string) => Promise<boolean>;

/**
 * Cancels jobs page by page, until a whole round finds none that was created before it began. Those that may not be cancelled
 * are left. Then it ends with an ApiFailure. One that has begun since it was listed as waiting goes on.
 */
export function cancelWork({ client, fn }: ViewedFunction, state: JobState, mayCancel: MayCancel): BulkWork {
  return async (report, isCancelled) => {
    const [newest] = (await client.list(fn, { state, order: 'newest', size: 1 })).jobs;
    // Clients write when they create a job by clocks of their own.
    const begun = Math.max(Date.now(), newest?.times.created?.getTime() ?? 0);
    const left = new Set<string>();
    const cancel = async (id: string) => {
      if (await mayCancel(id)) return cancelled(client.cancelNow(fn, id, { running: state === 'running' }));
      left.add(id);
      return false;
    };
    let done = 0;
    for (let moved = 1; moved > 0 && !isCancelled();) {
      moved = 0;
      for (let page: string | undefined = ''; page !== undefined && !isCancelled();) {
        const found = await client.list(fn, { state, order: 'oldest', size: STEP, page });
        const old = found.jobs.filter(({ times }) => (times.created?.getTime() ?? 0) <= begun);
        const step = await Promise.all(old.map(({ id }) => cancel(id)));
        const count = step.filter(Boolean).length;
        done += count;
        // A running handler takes a while to stop: it is cancelled, but still listed.
        moved += state === 'running' ? 0 : count;
        report(done);
        page = found.next;
      }
    }
    if (left.size > 0)
      throw ApiFailure.notAllowed(`cancel ${left.size} of them: jobs of other functions wait for these`);
    return done;
  };
}

/** Jobs come and go meanwhile. */
async function cancelled(asked: Promise<boolean>): Promise<boolean> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof JobNotFoundError || error instanceof NotCancellableError) return false;
    throw error;
  }
}
