import type { AcceptedJob, Ending } from './accepted-job.js';
import type { JobsTable } from './schema.js';

/** Jobs that print nothing usually end with the same values: one statement for all of them. */
export function groupAlike(endings: readonly Ending[]): Map<Partial<JobsTable>, number[]> {
  const silent = new Map<string, Partial<JobsTable>>();
  const groups = new Map<Partial<JobsTable>, number[]>();
  for (const { id, columns } of endings) {
    const isSilent = !columns.stdout && !columns.stderr;
    const key = isSilent ? JSON.stringify(columns) : `${id}`;
    const shared = silent.get(key) ?? columns;
    silent.set(key, shared);
    groups.set(shared, [...(groups.get(shared) ?? []), id]);
  }
  return groups;
}

/** Ids by how often their jobs were begun before. */
export function groupByAttempts(jobs: readonly AcceptedJob[]): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const { id, attempts } of jobs) groups.set(attempts, [...(groups.get(attempts) ?? []), id]);
  return groups;
}
