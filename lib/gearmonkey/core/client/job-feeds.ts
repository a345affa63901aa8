import { ConnectionError } from '../../../job/server-errors.js';
import { JobFeed } from './job-feed.js';
import type { JobStore } from './job-store.js';
import { UnservedFunctions } from './unserved.js';

/** The feeds of all functions with subscribers, shared by a client and the clients made from it. */
export class JobFeeds {
  private readonly feeds = new Map<string, JobFeed>();
  /** Called when observers are ended. */
  private readonly endings = new Set<() => void>();
  private observed = true;
  private closed = false;

  /** Notices calls for functions without a worker. */
  readonly unserved: UnservedFunctions;

  constructor(private readonly store: JobStore) {
    this.unserved = new UnservedFunctions(store);
  }

  /** The feed for a call that waits for a job. @throws ConnectionError after `close` */
  of(fn: string): JobFeed {
    if (this.closed) throw ConnectionError.closed();
    let feed = this.feeds.get(fn);
    if (!feed) {
      feed = new JobFeed(this.store, fn, () => this.feeds.delete(fn));
      this.feeds.set(fn, feed);
    }
    return feed;
  }

  /** The feed for an observer; undefined after observers have been ended. */
  forObserver(fn: string): JobFeed | undefined {
    return this.observed ? this.of(fn) : undefined;
  }

  /** Calls `end` when observers are ended, at once if they have been. Returns a function that undoes this. */
  onEnd(end: () => void): () => void {
    if (this.observed) this.endings.add(end);
    else end();
    return () => this.endings.delete(end);
  }

  endObservers(): void {
    this.observed = false;
    for (const end of [...this.endings]) end();
    for (const feed of [...this.feeds.values()]) feed.endObservers();
  }

  close(): void {
    this.closed = true;
    this.unserved.close();
    this.observed = false;
    for (const end of [...this.endings]) end();
    for (const feed of [...this.feeds.values()]) feed.close();
  }
}
