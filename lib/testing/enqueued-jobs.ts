import type { KnownFunctions } from '../gearmonkey/core/client/known-functions.js';
import { readJobOptions } from '../gearmonkey/core/wire/job-options.js';
import { bytesOf, read } from '../job/codec.js';
import { defined } from '../job/defined.js';
import { InvalidOptionError } from '../job/errors.js';
import { NO_HEADERS } from '../job/headers.js';
import { functionName, type AnyJobDefinition, type FunctionRef } from '../job/job-definition.js';
import {
  asEnqueuedJob,
  mismatches,
  type EnqueuedJob,
  type ExpectedJob,
  delayOf,
  named,
} from './expected-job.js';
import type { JobRecord, JobRecords } from './job-records.js';
import { JobTestingError } from './testing-errors.js';
import { show } from './show-value.js';

/** A job: its id, or what has its function and id, such as a JobHandle. */
export type JobToFind = string | { readonly fn: string; readonly id: string };

/** Finds the jobs that a test asks for. */
export class EnqueuedJobs {
  /** The definitions that jobs were enqueued with. Their codecs decode the inputs, even if the test passes only a name. */
  private readonly used = new Map<string, AnyJobDefinition>();

  constructor(
    private readonly records: JobRecords,
    private readonly functions: KnownFunctions,
  ) {}

  /** Records the definition that a job is enqueued with. */
  learn(ref: FunctionRef): void {
    if (typeof ref !== 'string') this.used.set(functionName(ref), ref);
  }

  /** The jobs that the app enqueued. */
  list(ref?: FunctionRef, expected: ExpectedJob = {}): EnqueuedJob[] {
    return this.matching(ref, expected)
      .filter(({ record }) => !record.performed)
      .map(({ job }) => job);
  }

  /** The same, including jobs that the test performs. */
  recordsOf(ref: FunctionRef, expected: ExpectedJob): JobRecord[] {
    return this.matching(ref, expected).map(({ record }) => record);
  }

  /** Explains why no job matches; undefined if one does. */
  missing(ref: FunctionRef, expected: ExpectedJob): string | undefined {
    const fn = functionName(ref);
    if (this.list(ref, expected).length > 0) return undefined;
    return missingReport(fn, expected, this.list());
  }

  /** Describes the jobs that match; undefined if none does. */
  present(ref: FunctionRef, expected: ExpectedJob): string | undefined {
    const fn = functionName(ref);
    const found = this.list(ref, expected);
    return found.length === 0 ? undefined : presentReport(fn, expected, found);
  }

  /** @throws JobTestingError for a job that this test doesn't have, or that has ended · InvalidOptionError */
  find(job: JobToFind): JobRecord {
    const record = typeof job === 'string' ? this.withId(job) : this.named(job);
    const step = record.steps.at(-1);
    if (step !== 'done' && step !== 'failed') return record;
    throw new JobTestingError(
      `${record.fn} ${record.id} is ${step} and doesn't run any more. Call this before its run or during it.`,
    );
  }

  private withId(id: string): JobRecord {
    const found = this.records.withId(id);
    const [only] = found;
    if (only && found.length === 1) return only;
    const names = found.map(({ fn }) => `"${fn}"`).join(' and ');
    const why = only ? `${names} have one each, as ids are a function's own. ` : 'This test has none. ';
    throw new JobTestingError(
      `Which job is "${id}"? ${why}Pass the handle that \`run\` returned, or { fn, id }.`,
    );
  }

  private named(job: Exclude<JobToFind, string>): JobRecord {
    if (typeof job?.fn !== 'string' || typeof job.id !== 'string')
      throw new InvalidOptionError('job', job, 'the handle that `run` returned, { fn, id } or an id');
    const record = this.records.get(job.fn, job.id);
    if (record) return record;
    throw new JobTestingError(
      `This test has no job ${job.fn} ${job.id}. Of another instance, use testJobsOf(app, 'name').`,
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
    const { fn, id, payload, placement, created, due, after = [] } = record;
    const definition = typeof ref === 'string' ? (this.used.get(fn) ?? fn) : ref;
    return asEnqueuedJob(
      defined({
        fn,
        id,
        input: read(this.functions.codecOf(definition), fn, 'input', bytesOf(payload)),
        priority: placement.queue,
        headers: readJobOptions(placement.options ?? '').headers ?? NO_HEADERS,
        created: new Date(created),
        scheduled: due === undefined ? undefined : new Date(due),
        after: after.length > 0 ? after : undefined,
      }),
    );
  }
}

/** How many jobs a message names. */
const MAX_NAMED = 10;

/** Explains why no job matches: lists what was enqueued instead, and how each job differs. */
function missingReport(fn: string, expected: ExpectedJob, all: readonly EnqueuedJob[]): string {
  const head = `No job of "${fn}" was enqueued${wanted(expected)}.`;
  const same = all.filter((job) => job.fn === fn);
  if (same.length > 0) {
    const lines = listed(same, (job) => [
      line(job),
      ...mismatches(expected, job).map((why) => `      ${why}`),
    ]);
    return [head, 'These were:', ...lines].join('\n');
  }
  if (all.length === 0) return `${head} Nothing was enqueued at all.`;
  return [head, 'Jobs of other functions were:', ...listed(all, (job) => [line(job)])].join('\n');
}

/** Lists jobs that should not have been enqueued. */
function presentReport(fn: string, expected: ExpectedJob, found: readonly EnqueuedJob[]): string {
  const head = `A job of "${fn}" was enqueued${wanted(expected)}, and none was expected:`;
  return [head, ...listed(found, (job) => [line(job)])].join('\n');
}

function wanted(expected: ExpectedJob): string {
  return Object.keys(expected).length === 0 ? '' : ` with ${show(expected)}`;
}

function line(job: EnqueuedJob): string {
  const headers = Object.keys(job.headers).length > 0 ? `, headers ${show(job.headers)}` : '';
  return `  ${job.fn} ${job.id}: ${show(job.input)}, priority ${show(job.priority)}${headers}, runs ${delayOf(job)}${job.after ? ` behind ${named(job.after)}` : ''}`;
}

function listed(jobs: readonly EnqueuedJob[], linesOf: (job: EnqueuedJob) => string[]): string[] {
  const lines = jobs.slice(0, MAX_NAMED).flatMap(linesOf);
  return jobs.length > MAX_NAMED ? [...lines, `  and ${jobs.length - MAX_NAMED} more`] : lines;
}
