import { Observable, type Subscriber } from 'rxjs';
import { isFinal, type Job, type JobEvent, type JobProgress } from '../job/job.js';
import type { JobFeed, JobFollower } from './job-feed.js';

/** Observes a whole function through its feed, and gives that back with the subscription. */
function fromFeed<T>(
  feedOf: () => JobFeed,
  attach: (feed: JobFeed, subscriber: Subscriber<T>) => () => void,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const feed = feedOf();
    const detach = attach(feed, subscriber);
    feed.open().catch((error: unknown) => subscriber.error(error));
    return () => {
      detach();
      feed.release();
    };
  });
}

export function observeEvents(feedOf: () => JobFeed): Observable<JobEvent> {
  return fromFeed(feedOf, (feed, subscriber) => feed.observe({ event: (event) => subscriber.next(event) }));
}

/** With an id it completes when that job has finished, also when it had before. */
export function observeProgress(
  feedOf: () => JobFeed,
  id: string | undefined,
  read: () => Promise<Job>,
): Observable<JobProgress> {
  if (id === undefined) {
    return fromFeed(feedOf, (feed, subscriber) =>
      feed.observe({ progress: (progress) => subscriber.next(progress) }),
    );
  }
  return followJob(feedOf, id, (feed, subscriber) => new ProgressFollower(feed, subscriber, read));
}

/** The job now and after each change. */
export function observeJob<I, O>(
  feedOf: () => JobFeed,
  id: string,
  read: () => Promise<Job<I, O>>,
): Observable<Job<I, O>> {
  return followJob(feedOf, id, (feed, subscriber) => new SnapshotFollower(feed, subscriber, read));
}

function followJob<T, J extends Job>(
  feedOf: () => JobFeed,
  id: string,
  followerFor: (feed: JobFeed, subscriber: Subscriber<T>) => ObservedJob<T, J>,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const feed = feedOf();
    const follower = followerFor(feed, subscriber);
    const unfollow = feed.follow(id, follower);
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
 * Reads a job when it may have changed, one read at a time and one more if something came meanwhile, and
 * completes when it has finished. A class, since there may be 100,000: what they share costs nothing each.
 */
abstract class ObservedJob<T, J extends Job> implements JobFollower {
  private reading = false;
  private again = false;

  constructor(
    private readonly feed: JobFeed,
    protected readonly subscriber: Subscriber<T>,
    private readonly read: () => Promise<J>,
  ) {}

  protected abstract show(job: J): void;

  finished(): void {
    this.refresh();
  }

  resync(): void {
    this.refresh();
  }

  refresh(): void {
    this.again = this.reading;
    if (this.reading) return;
    this.reading = true;
    void this.feed.reads.pass(() => this.look());
  }

  private async look(): Promise<void> {
    const { subscriber } = this;
    if (subscriber.closed) return;
    try {
      const job = await this.read();
      this.reading = false;
      this.show(job);
      if (isFinal(job.status)) subscriber.complete();
      else if (this.again && !subscriber.closed) this.refresh();
    } catch (error) {
      subscriber.error(error);
    }
  }
}

class SnapshotFollower<J extends Job> extends ObservedJob<J, J> {
  started(): void {
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
  progress(progress: JobProgress): void {
    this.subscriber.next(progress);
  }

  protected show(): void {
    // Only whether it has finished matters.
  }
}
