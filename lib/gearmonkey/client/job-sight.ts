import type { Job } from '../../job/job.js';
import type { JobKey } from '../wire/protocol.js';

/** Reads a job with its mark. Where it says whether it is `wanted`, it asks for as long as it is, through outages too. @throws JobNotFoundError, JobLostError */
export type ReadJob<J extends Job> = (
  key: JobKey,
  wanted?: () => boolean,
) => Promise<{ readonly job: J; readonly mark: number }>;

/** Reads one job repeatedly, and never mistakes another with its id for it. */
export class JobSight<J extends Job = Job> implements JobKey {
  constructor(
    private readonly readJob: ReadJob<J>,
    readonly id: string,
    /** Where it is not known, that of the job which is seen first. */
    public mark: number | undefined,
  ) {}

  /** @throws JobNotFoundError, JobLostError */
  async read(wanted: () => boolean): Promise<J> {
    const { job, mark } = await this.readJob(this, wanted);
    this.mark ??= mark;
    return job;
  }

  /** Whether a message with this mark may be about this job. */
  isOf(mark: number | undefined): boolean {
    return mark === undefined || this.mark === undefined || mark === this.mark;
  }
}
