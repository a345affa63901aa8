import type { BulkRun, EndedJobs } from '../job/failed-jobs.js';
import { JobNotFoundError, NotCancellableError } from '../job/errors.js';
import type { JobState } from '../job/job-state.js';
import type { JobList } from '../job/job-views.js';
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
 * Cancels jobs: those that run when it begins, or those of another state that were created until then, page by page, until a whole
 * round finds none. Those that may not be cancelled are left. Then it ends with an ApiFailure. One that has begun since it was
 * listed as waiting goes on.
 */
export function cancelWork({ client, fn }: ViewedFunction, state: JobState, mayCancel: MayCancel): BulkWork {
  return async (report, isCancelled) => {
    const left = new Set<string>();
    let done = 0;
    const cancel = async (id: string) => {
      if (!(await mayCancel(id))) left.add(id);
      else if (await cancelled(client.cancelNow(fn, id, { running: state === 'running' }))) done += 1;
    };
    const cancelAll = async (ids: readonly string[]) => {
      const before = done;
      await Promise.all(ids.map(cancel));
      report(done);
      return done > before;
    };
    /** Ids of the state, a page at a time, unless it is cancelled. */
    async function* pages(): AsyncGenerator<readonly string[]> {
      for (let page: string | undefined = ''; page !== undefined && !isCancelled();) {
        const found: JobList = await client.list(fn, { state, order: 'oldest', size: STEP, page });
        yield found.jobs.map(({ id }) => id);
        page = found.next;
      }
    }
    if (state === 'running') {
      const running = new Set<string>();
      // First: each that ends moves the next page.
      for await (const ids of pages()) for (const id of ids) running.add(id);
      for (let ids = [...running]; ids.length > 0 && !isCancelled(); ids = ids.slice(STEP))
        await cancelAll(ids.slice(0, STEP));
    } else {
      const last = await client.lastId(fn);
      for (let hasMoved = true; hasMoved;) {
        hasMoved = false;
        for await (const ids of pages())
          if (await cancelAll(ids.filter((id) => Number(id) <= last))) hasMoved = true;
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
