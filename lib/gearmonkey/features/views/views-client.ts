import type { BulkRun, EndedJobs, FailureGroup } from '../../../job/failed-jobs.js';
import type { FunctionRef } from '../../../job/job-definition.js';
import type { FindOptions, FunctionOverview, JobList, ListOptions } from '../../../job/job-views.js';
import type { ClientCore } from '../../core/feature.js';
import { FailedJobs, type GroupedFailures } from './failed-jobs.js';
import type { ShownError } from './failure-groups.js';
import { JobViews } from './job-views.js';
import type { DescribedJob, PayloadField, PayloadPart, PresentWorker, ViewsStore } from './view-store.js';

/** Longer fields of a job, such as outputs of its steps, are cut where it is only described. */
const MOST_OF_FIELD = 256 * 1024;

/** The methods of a `GearMonkeyClient` that show jobs and functions, and mend failed jobs. */
export class ViewsClient {
  readonly #core: ClientCore<ViewsStore>;
  readonly #views: JobViews;
  readonly #failed: FailedJobs;

  /** @internal */
  constructor(core: ClientCore<ViewsStore>) {
    this.#core = core;
    this.#views = new JobViews(core.store.views, core.functions);
    this.#failed = new FailedJobs(core.store, core.functions);
  }

  /**
   * What there is of each function that a worker or client of this package has used in the last 30 days, at most 1,000, and
   * of those that this process defines or handles, in order of their names. Without those of other apps, whose keys the server
   * does not let this one read.
   */
  async overview(): Promise<FunctionOverview[]> {
    return this.#views.overview();
  }

  /** The names of the functions of `overview`. @internal */
  async functions(): Promise<string[]> {
    return this.#views.names();
  }

  /** The same as `overview` of these functions. @internal */
  async overviewOf(functions: readonly string[]): Promise<FunctionOverview[]> {
    return this.#views.overview(functions);
  }

  /** A job without its payloads; undefined if there is none. @internal */
  async described(ref: FunctionRef, id: string): Promise<DescribedJob | undefined> {
    const fn = this.#core.functions.nameOf(ref);
    return isId(id) ? this.#core.store.views.describe(fn, id, MOST_OF_FIELD) : undefined;
  }

  /** The beginning of an input or output; undefined if there is none. @internal */
  async payload(
    ref: FunctionRef,
    id: string,
    field: PayloadField,
    most: number,
  ): Promise<PayloadPart | undefined> {
    const fn = this.#core.functions.nameOf(ref);
    return isId(id) ? this.#core.store.views.payload(fn, id, field, most) : undefined;
  }

  /** The whole of it, by a connection of its own. @internal */
  async wholePayload(ref: FunctionRef, id: string, field: PayloadField): Promise<Buffer | undefined> {
    const fn = this.#core.functions.nameOf(ref);
    return isId(id) ? this.#core.store.views.wholePayload(fn, id, field) : undefined;
  }

  /** Workers of this package, by the time when they count as dead, in ms since 1970; at most 1,000. @internal */
  async workers(ref: FunctionRef): Promise<PresentWorker[]> {
    return this.#core.store.workers(this.#core.functions.nameOf(ref));
  }

  /**
   * A page of the function's jobs in one state. Inputs and outputs are read only with `payloads`, and are cut. Ended jobs
   * are listed as long as they are kept, except those that plain workers ran.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async list(ref: FunctionRef, options: ListOptions): Promise<JobList> {
    return this.#views.list(ref, options);
  }

  /**
   * A page of the jobs with a tag or a key, or the job with an id, in all states. Jobs are found by tags for 30 days after the
   * function's last job with tags was enqueued or was due.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  async find(ref: FunctionRef, options: FindOptions): Promise<JobList> {
    return this.#views.find(ref, options);
  }

  /** Groups the newest 1,000 failed jobs by their errors, the largest group first. */
  async failures(ref: FunctionRef): Promise<FailureGroup[]> {
    return (await this.#failed.groups(ref)).groups;
  }

  /**
   * The same as `failures`, with how many jobs were looked at.
   *
   * @param shownOf what is shown of an error
   * @internal
   */
  async groupedFailures(ref: FunctionRef, shownOf?: ShownError): Promise<GroupedFailures> {
    return this.#failed.groups(ref, shownOf);
  }

  /**
   * Puts failed or cancelled jobs back into their queues, with all their attempts: one by its id, or those of a state.
   * `done` rejects with a JobNotFoundError if there is no job with the id.
   *
   * @throws ConfigurationError, InvalidOptionError
   */
  retry(ref: FunctionRef, which: string | number | EndedJobs): BulkRun {
    return this.#failed.mend('retry', ref, which);
  }

  /** Deletes failed or cancelled jobs: the same as `retry`. @throws ConfigurationError, InvalidOptionError */
  discard(ref: FunctionRef, which: string | number | EndedJobs): BulkRun {
    return this.#failed.mend('discard', ref, which);
  }
}

/** Ids are numbers: other text could form another key. */
function isId(id: string): boolean {
  return /^\d{1,15}$/.test(id);
}
