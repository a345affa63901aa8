import { type Clock, withDeadline } from '../../../job/clock.js';
import { WaitTimeoutError } from '../../../job/errors.js';
import type { Job } from '../../../job/job.js';
import { isFinal } from '../../../job/job-state.js';
import type { ExpiryTimer, TrackedJob } from './tracked-job.js';
import type { JobFeed, JobFollower } from './job-feed.js';
import type { EnqueuedKey } from './job-store.js';
import type { JobKey } from '../wire/protocol.js';
import type { UnservedFunctions } from './unserved.js';

/** What is needed to wait for a job of a function. */
export interface Wait {
  readonly fn: string;
  readonly feed: JobFeed;
  /** Milliseconds. */
  readonly timeout: number;
  readonly unserved: UnservedFunctions;
  /** @default the system's */
  readonly clock?: Clock | undefined;
  readonly trackedOf: (job: JobKey) => TrackedJob;
  /** Makes a job of which only the output is known. @throws UnreadablePayloadError */
  readonly replied: (id: string, output: string) => Job;
}

/** The key of a job that was enqueued to be waited for. */
export interface AwaitedKey extends EnqueuedKey {
  /** Milliseconds after which it may expire, 0 if only the server knows; undefined if it doesn't, or waits for others. */
  readonly expiresIn?: number | undefined;
  /** It waits for others: when it expires becomes known once these have ended. */
  readonly isLater?: boolean;
}

interface Awaited {
  readonly job: JobKey & Pick<AwaitedKey, 'expiresIn' | 'isLater'>;
  readonly mayBeFinal: boolean;
  readonly output?: string | undefined;
}

/**
 * Enqueues a job and waits until it has finished. If it finishes before its id is known, the expectation has it, or it
 * is read once the feed is open.
 *
 * @throws WaitTimeoutError, JobLostError
 */
export function runUntilFinal(enqueue: () => Promise<AwaitedKey>, wait: Wait): Promise<Job> {
  return follow(wait, async () => {
    const { isListening } = wait.feed;
    const expected = wait.feed.expect();
    try {
      const job = await enqueue();
      const finished = expected.of(job.id);
      const reply = finished?.reply?.job.mark === job.mark ? finished?.reply : undefined;
      // A job that was there before may have finished before this call.
      const mayBeFinal =
        !job.created || job.isLater || !isListening || expected.hasGaps || finished !== undefined;
      return { job, mayBeFinal, output: reply?.output };
    } finally {
      expected.dispose();
    }
  });
}

/** Waits until a job has finished; it may have finished before. @throws WaitTimeoutError, JobLostError */
export function untilFinal(job: JobKey, wait: Wait): Promise<Job> {
  return follow(wait, async () => ({ job, mayBeFinal: true }));
}

/**
 * Waits for the job that `start` returns. The feed opens at the same time: if `start` waited for it, an outage would
 * last longer than the deadlines. The feed is released in any case.
 */
async function follow(wait: Wait, start: () => Promise<Awaited>): Promise<Job> {
  const { fn, feed, timeout, unserved, clock, replied } = wait;
  let follower: FinalFollower | undefined;
  let answered = (): void => undefined;
  const opened = feed.open();
  opened.catch(() => undefined);
  try {
    const awaited = await start();
    const { job, output } = awaited;
    if (output !== undefined) return replied(job.id, output);
    answered = unserved.waits(fn, job);
    follower = new FinalFollower(wait, awaited, opened);
    return await withDeadline(
      follower.final,
      timeout,
      () => new WaitTimeoutError(fn, job.id, timeout),
      clock,
    );
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error;
    throw new WaitTimeoutError(fn, error.id, timeout, await unserved.reason(fn, error));
  } finally {
    answered();
    follower?.stop();
    feed.release();
  }
}

/** Follows one job until it has finished. */
class FinalFollower implements JobFollower {
  /** The job, once it has finished. */
  readonly final: Promise<Job>;
  /** Absent for a job that was created just now, without others to wait for: it needs no more than to finish. */
  readonly started?: () => void;
  fail: (error: unknown) => void = () => undefined;
  private resolve: (job: Job) => void = () => undefined;
  private readonly tracked: TrackedJob;
  private readonly toJob: Wait['replied'];
  private readonly unfollow: () => void;
  private isStopped = false;
  /** Most jobs don't expire, and need none. */
  private expiry?: ExpiryTimer;
  private isLater: boolean;
  /** A job that a read shows as waiting may have been told on since. */
  private starts = 0;

  constructor({ feed, trackedOf, replied }: Wait, { job, mayBeFinal }: Awaited, opened: Promise<void>) {
    this.tracked = trackedOf(job);
    this.toJob = replied;
    this.isLater = job.isLater ?? false;
    this.final = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.fail = reject;
    });
    if (job.expiresIn !== undefined) this.endWhenExpired(job.expiresIn);
    if (mayBeFinal) this.started = () => this.onStart();
    this.unfollow = feed.follow(job.id, this);
    if (mayBeFinal) opened.then(() => this.finished(), this.fail);
  }

  finished(): void {
    this.look().catch(this.fail);
  }

  resync(): void {
    this.finished();
  }

  /** The plain message that it has finished follows, and has no further information. */
  replied(output: string, mark: number | undefined): void {
    if (!this.tracked.isOf(mark)) return;
    this.unfollow();
    try {
      this.resolve(this.toJob(this.tracked.id, output));
    } catch (error) {
      this.fail(error);
    }
  }

  stop(): void {
    this.isStopped = true;
    this.expiry?.stop();
    this.unfollow();
  }

  private onStart(): void {
    this.starts += 1;
    if (this.isLater) this.finished();
  }

  private async look(): Promise<void> {
    const known = this.starts;
    const found = await this.tracked.read(() => !this.isStopped);
    this.isLater = found.waitsForJobs !== undefined;
    if (isFinal(found.state)) this.resolve(found);
    else if (found.times.expires && found.state !== 'running') this.endWhenExpired();
    else if (this.isLater && this.starts !== known) await this.look();
  }

  private endWhenExpired(ms?: number): void {
    if (!this.isStopped) (this.expiry ??= this.tracked.expiryTimer()).start(ms);
  }
}
