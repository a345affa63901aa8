import type { Observable } from 'rxjs';
import type { Job, JobProgress } from '../job/job.js';
import type { FunctionRef, InputOf, OutputOf } from '../job/job-definition.js';

/** What a handle asks its client for. */
export interface JobReader {
  progress(ref: FunctionRef, id: string): Observable<JobProgress>;
  getOrThrow<F extends FunctionRef>(ref: F, id: string): Promise<Job<InputOf<F>, OutputOf<F>>>;
  cancel(ref: FunctionRef, id: string): Promise<boolean>;
  result<F extends FunctionRef>(ref: F, id: string, options: { timeout?: number }): Promise<OutputOf<F>>;
}

/** A job that was enqueued. */
export class JobHandle<F extends FunctionRef = FunctionRef> {
  constructor(
    private readonly client: JobReader,
    private readonly ref: F,
    readonly fn: string,
    readonly id: string,
  ) {}

  /** Progress from now on; completes when the job has finished. */
  get progress$(): Observable<JobProgress> {
    return this.client.progress(this.ref, this.id);
  }

  /** The job as it is now. @throws JobNotFoundError when it has expired */
  get(): Promise<Job<InputOf<F>, OutputOf<F>>> {
    return this.client.getOrThrow(this.ref, this.id);
  }

  /** As `GearMonkeyClient.cancel`. */
  cancel(): Promise<boolean> {
    return this.client.cancel(this.ref, this.id);
  }

  /**
   * The output, once the job has finished.
   *
   * @throws JobFailedError if it failed · WaitTimeoutError after `timeout` seconds
   */
  result(options: { timeout?: number } = {}): Promise<OutputOf<F>> {
    return this.client.result(this.ref, this.id, options);
  }
}
