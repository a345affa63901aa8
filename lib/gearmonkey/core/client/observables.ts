import { Observable, type Subscriber } from 'rxjs';
import type { Job, JobEvent, JobProgress } from '../../../job/job.js';
import { isFinal } from '../../../job/job-state.js';
import type { ExpiryTimer, TrackedJob } from './tracked-job.js';
import type { FeedObserver, JobFeed, JobFollower } from './job-feed.js';

/** Returns undefined once the client closes. */
type FeedOf = () => JobFeed | undefined;

/** Observes a whole function through its feed, which is released when the subscription ends. */
function fromFeed<T>(
  feedOf: FeedOf,
  observerFor: (subscriber: Subscriber<T>) => Omit<FeedObserver, 'complete'>,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const feed = feedOf();
    if (!feed) return subscriber.complete();
    const detach = feed.observe({ ...observerFor(subscriber), complete: () => subscriber.complete() });
    feed.open().catch((error: unknown) => subscriber.error(error));
    return () => {
      detach();
      feed.release();
    };
  });
}

export function observeEvents(feedOf: FeedOf): Observable<JobEvent> {
  return fromFeed(feedOf, (subscriber) => ({ event: (event) => subscriber.next(event) }));
}

/** Progress of all jobs of a function. */
export function observeAllProgress(feedOf: FeedOf): Observable<JobProgress> {
  return fromFeed(feedOf, (subscriber) => ({ progress: (progress) => subscriber.next(progress) }));
}

/** Progress of one job; completes when it has finished, even if it had before. */
export function observeProgress(feedOf: FeedOf, trackedOf: () => TrackedJob): Observable<JobProgress> {
  return follow(feedOf, (feed, subscriber) => new ProgressFollower(feed, subscriber, trackedOf()));
}

/** Emits the job now and after each change. */
export function observeJob<J extends Job>(feedOf: FeedOf, trackedOf: () => TrackedJob<J>): Observable<J> {
  return follow(feedOf, (feed, subscriber) => new SnapshotFollower(feed, subscriber, trackedOf()));
}

/** Looks again when what it follows may have changed. */
export interface Following extends JobFollower {
  /** What it follows, as feeds call it. */
  readonly id: string;
  refresh(): void;
}

/** Follows something through a function's feed, which is released when the subscription ends. */
export function follow<T>(
  feedOf: FeedOf,
  followerFor: (feed: JobFeed, subscriber: Subscriber<T>) => Following,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const feed = feedOf();
    if (!feed) return subscriber.complete();
    const follower = followerFor(feed, subscriber);
    const unfollow = feed.follow(follower.id, follower);
    feed.open().then(
      () => follower.refresh(),
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      unfollow();
      feed.release();
    };
  });
}

/**
 * Reads a job when it may have changed, one read at a time and once more if a message came during the read. Completes
 * when the job has finished. A class instead of closures, which keeps 100,000 observers small.
 */
export abstract class ObservedJob<T, J extends Job> implements Following {
  private reading = false;
  private again = false;
  /** Only for a job that expires. */
  private expiry?: ExpiryTimer;
  /** Whether it waits for others: when it expires becomes known when these have ended, and it is an event then. */
  private isLater = false;
  /** Whether that event came during a read, which may not show it. */
  private hasStarted = false;

  constructor(
    private readonly feed: JobFeed,
    protected readonly subscriber: Subscriber<T>,
    readonly tracked: TrackedJob<J>,
  ) {}

  get id(): string {
    return this.tracked.id;
  }

  protected abstract show(job: J): void | Promise<void>;

  started(): void {
    this.hasStarted = true;
    if (this.isLater) this.refresh();
  }

  finished(): void {
    this.refresh();
  }

  resync(): void {
    this.refresh();
  }

  complete(): void {
    this.subscriber.complete();
  }

  refresh(): void {
    this.again = this.reading;
    if (this.reading) return;
    this.reading = true;
    void this.feed.reads.run(() => this.look());
  }

  /** Ends with the subscription, also by an unsubscribe. */
  private endWhenExpired(job: J): void {
    if (job.times.expires === undefined || job.state === 'running' || this.expiry) return;
    const expiry = (this.expiry = this.tracked.expiryTimer());
    this.subscriber.add(() => expiry.stop());
    expiry.start();
  }

  private async look(): Promise<void> {
    const { subscriber } = this;
    if (subscriber.closed) return;
    try {
      this.hasStarted = false;
      const job = await this.tracked.read(() => !subscriber.closed);
      this.isLater = job.waitsForJobs !== undefined;
      this.again ||= this.isLater && this.hasStarted;
      const shown = this.show(job);
      if (shown) await shown;
      this.reading = false;
      if (isFinal(job.state)) subscriber.complete();
      else this.endWhenExpired(job);
      if (this.again && !subscriber.closed) this.refresh();
    } catch (error) {
      subscriber.error(error);
    }
  }
}

class SnapshotFollower<J extends Job> extends ObservedJob<J, J> {
  override started(): void {
    this.refresh();
  }

  progress(): void {
    this.refresh();
  }

  protected show(job: J): void {
    this.subscriber.next(job);
  }
}

class ProgressFollower extends ObservedJob<JobProgress, Job> {
  progress(progress: JobProgress, mark: number | undefined): void {
    if (this.tracked.isOf(mark)) this.subscriber.next(progress);
  }

  protected show(): void {
    // Only the final state matters.
  }
}
