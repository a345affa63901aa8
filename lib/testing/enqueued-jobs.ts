import type { KnownFunctions } from '../gearmonkey/client/known-functions.js';
import { bytesOf, read } from '../job/codec.js';
import { defined } from '../job/defined.js';
import { functionName, type FunctionRef } from '../job/job-definition.js';
import { missingReport, presentReport } from './enqueued-report.js';
import { asEnqueuedJob, mismatches, type EnqueuedJob, type ExpectedJob } from './expected-job.js';
import type { JobName } from './held-jobs.js';
import type { JobRecord, JobRecords } from './job-records.js';
import { JobTestingError } from './testing-errors.js';

/** A job: its id, or what has its function and id, such as a JobHandle. */
export type JobToFind = string | { readonly fn: string; readonly id: string };

/** The jobs of a test as it asks for them. */
export class EnqueuedJobs {
  constructor(
    private readonly records: JobRecords,
    private readonly functions: KnownFunctions,
  ) {}

  /** Those that the app enqueued. */
  list(ref?: FunctionRef, expected: ExpectedJob = {}): EnqueuedJob[] {
    return this.matching(ref, expected)
      .filter(({ record }) => !record.performed)
      .map(({ job }) => job);
  }

  /** Those that a test performs are among them. */
  recordsOf(ref: FunctionRef, expected: ExpectedJob): JobRecord[] {
    return this.matching(ref, expected).map(({ record }) => record);
  }

  /** Why there is no such job, if there is none. */
  missing(ref: FunctionRef, expected: ExpectedJob): string | undefined {
    if (this.list(ref, expected).length > 0) return undefined;
    return missingReport(functionName(ref), expected, this.list());
  }

  /** Which there are, if any. */
  present(ref: FunctionRef, expected: ExpectedJob): string | undefined {
    const found = this.list(ref, expected);
    return found.length === 0 ? undefined : presentReport(functionName(ref), expected, found);
  }

  /** @throws JobTestingError for an id that no job has, or several */
  find(job: JobToFind): JobName {
    if (typeof job !== 'string') return job;
    const found = this.records.withId(job);
    const [only] = found;
    if (only && found.length === 1) return only;
    const names = found.map(({ fn }) => `"${fn}"`).join(' and ');
    const why = only ? `${names} have one each, as ids are a function's own. ` : 'This test has none. ';
    throw new JobTestingError(
      `Which job is "${job}"? ${why}Pass the handle that \`run\` returned, or { fn, id }.`,
    );
  }

  private matching(ref: FunctionRef | undefined, expected: ExpectedJob) {
    const fn = ref === undefined ? undefined : functionName(ref);
    return this.records
      .all()
      .filter((record) => fn === undefined || record.fn === fn)
      .map((record) => ({ record, job: this.toEnqueued(record, ref) }))
      .filter(({ job }) => mismatches(expected, job).length === 0);
  }

  private toEnqueued(record: JobRecord, ref: FunctionRef = record.fn): EnqueuedJob {
    const { fn, id, payload, placement, created, due } = record;
    return asEnqueuedJob(
      defined({
        fn,
        id,
        input: read(this.functions.codecOf(ref), fn, 'input', bytesOf(payload)),
        priority: placement.queue,
        created: new Date(created),
        scheduled: due === undefined ? undefined : new Date(due),
      }),
    );
  }
}
