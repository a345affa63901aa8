import type { NameCounts } from '../../engine/administration.js';
import type { Attempt, JobDetails, JobSummary } from '../../engine/job-details.js';
import type { WorkerDetails } from '../../engine/worker-details.js';
import type { Packable } from '../../message-pack/pack.js';

type Fields = { readonly [key: string]: Packable | undefined };

/** Times are text here, to be readable. */
function time(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

export function summaryBody(job: JobSummary): Fields {
  const { id, name, status, priority, message } = job;
  return {
    id,
    name,
    status,
    since: time(job.since),
    priority,
    enqueued_at: time(job.enqueued),
    retry_count: job.retryCount,
    worker_id: job.worker,
    message,
  };
}

export function detailsBody(job: JobDetails): Fields {
  const { timeout, attempt, failures, losses, argument, error, result, constraints } = job;
  return {
    ...summaryBody(job),
    max_retry: job.maxRetry,
    keep_result: job.keepResult,
    timeout,
    attempt,
    failures,
    losses,
    handed_at: time(job.handed),
    ended_at: time(job.ended),
    finished_at: job.finishedAt,
    next_attempt_at: time(job.nextAttempt),
    waits_for: job.waitsFor,
    constraints,
    argument,
    error,
    result,
    attempts: job.attempts.map(attemptBody),
  };
}

function attemptBody({ attempt, worker, handed, ended, outcome, message }: Attempt): Fields {
  return { attempt, worker_id: worker, handed_at: time(handed), ended_at: time(ended), outcome, message };
}

export function workerBody(worker: WorkerDetails): Fields {
  const { id, name, maxJobs, url, state, running, failures, names, jobs } = worker;
  return {
    id,
    name,
    max_jobs: maxJobs,
    url,
    state,
    running,
    failures,
    registered_at: time(worker.registered),
    seen_at: time(worker.seen),
    rests_until: time(worker.rests),
    names,
    jobs,
  };
}

export function nameBody({ name, queued, retrying, error, done }: NameCounts): Fields {
  return { name, queued, retrying, error, done };
}
