import { Observable, type Subscriber } from 'rxjs';
import { isFinal, type Job, type JobEvent, type JobProgress } from '../job/job.js';
import type { JobFeed } from './job-feed.js';

/** Subscribes through the function's feed, and gives it back with the subscription. */
function fromFeed<T>(
  feedOf: () => JobFeed,
  attach: (feed: JobFeed, subscriber: Subscriber<T>) => () => void,
  onOpen: (subscriber: Subscriber<T>) => void = () => undefined,
): Observable<T> {
  return new Observable<T>((subscriber) => {
    const feed = feedOf();
    const detach = attach(feed, subscriber);
    feed.open().then(
      () => onOpen(subscriber),
      (error: unknown) => subscriber.error(error),
    );
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
  const completeIfFinal = (subscriber: Subscriber<JobProgress>) =>
    void read().then(
      (job) => isFinal(job.status) && subscriber.complete(),
      (error: unknown) => subscriber.error(error),
    );
  return fromFeed(
    feedOf,
    (feed, subscriber) =>
      feed.follow(id, {
        finished: () => completeIfFinal(subscriber),
        progress: (progress) => subscriber.next(progress),
        resync: () => completeIfFinal(subscriber),
      }),
    completeIfFinal,
  );
}

/** Reads the job again after each change: one read at a time, and one more if something came meanwhile. */
export function observeJob<I, O>(
  feedOf: () => JobFeed,
  id: string,
  read: () => Promise<Job<I, O>>,
): Observable<Job<I, O>> {
  return new Observable((subscriber) => {
    let reading = false;
    let again = false;
    const refresh = () => {
      again = reading;
      if (reading) return;
      reading = true;
      read().then(
        (job) => {
          reading = false;
          subscriber.next(job);
          if (isFinal(job.status)) subscriber.complete();
          else if (again && !subscriber.closed) refresh();
        },
        (error: unknown) => subscriber.error(error),
      );
    };
    const follower = { started: refresh, finished: refresh, progress: refresh, resync: refresh };
    return fromFeed(feedOf, (feed) => feed.follow(id, follower), refresh).subscribe({
      error: (error: unknown) => subscriber.error(error),
    });
  });
}
