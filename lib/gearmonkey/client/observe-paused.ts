import { distinctUntilChanged, Observable, switchMap } from 'rxjs';
import type { JobFeeds } from './job-feeds.js';
import type { JobStore } from './job-store.js';

/** Emits whether a function is paused: now, and after each change. Completes when observers are ended. */
export function observePaused(store: JobStore, feeds: JobFeeds, fn: string): Observable<boolean> {
  const read = () =>
    new Observable<boolean>((subscriber) => {
      store
        .isPaused(fn, () => !subscriber.closed)
        .then(
          (paused) => {
            subscriber.next(paused);
            subscriber.complete();
          },
          (error: unknown) => subscriber.error(error),
        );
    });
  // A message may be another database's, so the state is read again.
  return new Observable<boolean>((subscriber) => {
    subscriber.add(feeds.onEnd(() => subscriber.complete()));
    if (subscriber.closed) return;
    subscriber.add(changesOf(store, fn).pipe(switchMap(read), distinctUntilChanged()).subscribe(subscriber));
  });
}

/** Emits once it listens, and when the function may have been paused or resumed. */
function changesOf(store: JobStore, fn: string): Observable<void> {
  return new Observable<void>((subscriber) => {
    const listening = store.listenToControl(fn, () => subscriber.next());
    listening.then(
      () => subscriber.next(),
      (error: unknown) => subscriber.error(error),
    );
    return () => void listening.then((unlisten) => unlisten()).catch(() => undefined);
  });
}
