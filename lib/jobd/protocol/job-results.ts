import { defined } from '../../job/defined.js';
import type { JobResult } from '../vocabulary/job-result.js';

/** The reply to `run-manual`. A field that would be empty is left out. */
export interface ManualReply {
  readonly jobs?: Readonly<Record<string, JobResult>>;
  readonly errors?: Readonly<Record<string, string>>;
}

export function toManualReply(
  jobs: ReadonlyMap<number, JobResult>,
  errors: ReadonlyMap<number, string>,
): ManualReply {
  return defined({
    jobs: jobs.size > 0 ? Object.fromEntries([...jobs].map(([id, job]) => [id, inOrder(job)])) : undefined,
    errors: errors.size > 0 ? Object.fromEntries(errors) : undefined,
  });
}

/** In the protocol's order, and without other fields of the object. */
function inOrder({ result, code, signal, stdout, stderr }: JobResult): JobResult {
  return { result, code, signal, stdout, stderr };
}
