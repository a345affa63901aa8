import type { Clock } from '../../../job/clock.js';
import type { Job } from '../../../job/job.js';
import { ExpiryTimer } from './expiry-timer.js';
import type { JobKey } from '../wire/protocol.js';

/** Reads a job with its mark. With `wanted` it repeats the read, also during an outage, while that returns true. @throws JobNotFoundError, JobLostError */
export type ReadJob<J extends Job> = (
  key: JobKey,
  wanted?: () => boolean,
) => Promise<{ readonly job: J; readonly mark: number }>;

/** What ends jobs that expire. */
export interface Expiring {
  readonly clock: Clock;
  /** As JobStore.expire, for one function. */
  expire(key: JobKey): Promise<number>;
}

/** Reads one job repeatedly, and never returns another job with the same id. */
export class TrackedJob<J extends Job = Job> implements JobKey {
  constructor(
    private readonly readJob: ReadJob<J>,
    private readonly expiring: Expiring,
    readonly id: string,
    /** If unknown, the mark of the first job that is read. */
    public mark: number | undefined,
  ) {}

  /** @throws JobNotFoundError, JobLostError */
  async read(wanted: () => boolean): Promise<J> {
    const { job, mark } = await this.readJob(this, wanted);
    this.mark ??= mark;
    return job;
  }

  /** Ends the job when it expires. */
  expiryTimer(): ExpiryTimer {
    return new ExpiryTimer(() => this.expiring.expire(this), this.expiring.clock);
  }

  /** Whether a message with this mark may be about this job. */
  isOf(mark: number | undefined): boolean {
    return mark === undefined || this.mark === undefined || mark === this.mark;
  }
}
