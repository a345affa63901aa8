import { defined } from '../../job/defined.js';
import type { AcceptedJob } from './accepted-job.js';
import { idOf } from './row-statements.js';
import type { JobsTable } from './schema.js';

/** A row as it was read. */
export type FoundRow = Pick<JobsTable, 'id' | 'target' | 'status'> & Partial<JobsTable>;

/** Whether a row begins at once. */
export type Begins = (job: Pick<AcceptedJob, 'id' | 'target'>) => boolean;

/** Values that make no sense, such as a negative time, are ignored. */
export function acceptedJob(
  row: FoundRow,
  origin: AcceptedJob['origin'],
  owner: string,
  begins: Begins = () => false,
): AcceptedJob {
  const job = { id: idOf(row), target: row.target };
  return defined({
    ...job,
    owner,
    origin,
    attempts: Number(row.attempts ?? 0),
    maxAttempts: Number(row.max_attempts) > 0 ? Number(row.max_attempts) : undefined,
    timeout: Number(row.timeout) > 0 ? Number(row.timeout) : undefined,
    hasBegun: begins(job),
  });
}

/** Why a row isn't run by hand. */
export function whyNot({ id, status, target }: FoundRow): string {
  return status === 'manual' ? `target '${target}' not found (job id=${id})` : `status = ${status} != manual`;
}
