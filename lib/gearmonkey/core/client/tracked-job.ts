import type { Clock } from '../../../job/clock.js';
import type { Job } from '../../../job/job.js';
import type { JobKey } from '../wire/protocol.js';
import { MAX_TIMER_MS } from '../../../job/duration.js';

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

/** The pause after a failed call. */
const AGAIN_MS = 1000;

/** Ends a job when it expires, for a client that waits for it: workers only notice when its turn comes. */
export class ExpiryTimer {
  private cancel: (() => void) | undefined;
  private stopped = false;

  /** @param expire asks the server, whose clock decides: it ends the job if it has expired; returns the milliseconds until then, or 0 or less if there is nothing to do */
  constructor(
    private readonly expire: () => Promise<number>,
    private readonly clock: Clock,
  ) {}

  /** Starts, unless it runs already. @param ms when it asks first, at once by default */
  start(ms = 0): void {
    if (!this.cancel) this.wait(ms);
  }

  stop(): void {
    this.stopped = true;
    this.cancel?.();
  }

  private wait(ms: number): void {
    if (this.stopped) return;
    this.cancel = this.clock.after(Math.min(Math.max(ms, 0), MAX_TIMER_MS), () => void this.end(), true);
  }

  private async end(): Promise<void> {
    const left = await this.expire().catch(() => AGAIN_MS);
    if (left > 0) this.wait(left);
  }
}
