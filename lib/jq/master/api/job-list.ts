import type { Administration, Place } from '../../engine/administration.js';
import type { JobSummary } from '../../engine/job-details.js';
import type { Packable } from '../../message-pack/pack.js';
import { summaryBody } from './bodies.js';
import { STATUSES, writeCursor, type JobsQuery } from './query.js';

/** Jobs of one status, or of all, status by status; each newest first. */
export async function listJobs(
  administration: Administration,
  { status, name, limit, cursor }: JobsQuery,
): Promise<Packable> {
  const statuses = status ? [status] : STATUSES.slice(STATUSES.indexOf(cursor?.status ?? 'running'));
  const jobs: JobSummary[] = [];
  let after: Place | undefined = cursor?.after;
  for (const each of statuses) {
    if (jobs.length === limit) return pageBody(jobs, writeCursor({ status: each }));
    const request = { limit: limit - jobs.length, after };
    const { rows, next } = await administration.jobs(each, name, request);
    jobs.push(...rows);
    if (next) return pageBody(jobs, writeCursor({ status: each, after: next }));
    after = undefined;
  }
  return pageBody(jobs);
}

function pageBody(jobs: readonly JobSummary[], cursor?: string): Packable {
  return { jobs: jobs.map(summaryBody), cursor };
}
