import { ConnectionError } from '../../../job/server-errors.js';
import type { JobEvent, JobProgress } from '../../../job/job.js';
import type { StreamKind } from '../../../job/streams.js';
import { FinishedJobs, type Expectation } from './finished-jobs.js';
import type { JobListener, JobStore } from './job-store.js';
import { ProgressPoller } from './progress-poller.js';
import { Semaphore } from './semaphore.js';

/** A subscriber to one job. When the client closes, an observer completes and a waiting call fails. */
export interface JobFollower {
  started?(): void;
  finished(): void;
  /** Called when the job with this mark has finished, with its stored output. */
  replied?(output: string, mark: number | undefined): void;
  progress?(progress: JobProgress, mark: number | undefined): void;
  streamed?(kind: StreamKind, mark: number | undefined): void;
  /** Messages may have been lost. */
  resync(): void;
  complete?(): void;
  fail?(error: Error): void;
}

/** A subscriber to a whole function. */
export interface FeedObserver extends Partial<Pick<JobListener, 'event' | 'progress'>> {
  complete(): void;
}

/** How long an unused feed stays open. */
const LINGER_MS = 500;
/** How many observed jobs are read at a time: with 100,000 reads at once the last ones would time out. */
const MAX_READS = 1000;

/**
 * The channels of one function, subscribed to while they are used. Messages are dispatched by the job's id, so a message
 * costs the same with one subscriber as with 100,000.
 */
export class JobFeed {
  private readonly observers = new Set<FeedObserver>();
  private readonly followers = new Map<string, Set<JobFollower>>();
  private readonly finished = new FinishedJobs();
  /** Limits how many observers read their jobs at a time. */
  readonly reads = new Semaphore(MAX_READS);
  private readonly poller: ProgressPoller;
  private subscription: Promise<() => void> | undefined;
  private users = 0;
  private listening = false;
  private closed = false;
  private linger?: NodeJS.Timeout;

  constructor(
    private readonly store: JobStore,
    private readonly fn: string,
    private readonly onUnused: () => void,
  ) {
    this.poller = new ProgressPoller(store, fn, (progress, mark) => this.deliverProgress(progress, mark));
  }

  /** Resolves once messages arrive. Each `open` needs one `release`. */
  async open(): Promise<void> {
    this.users += 1;
    clearTimeout(this.linger);
    this.subscription ??= this.listen();
    await this.subscription;
    this.listening = true;
  }

  /** After a failure, the next `open` subscribes again. */
  private async listen(): Promise<() => void> {
    try {
      return await this.store.listen(this.fn, this.listener);
    } catch (error) {
      this.subscription = undefined;
      throw error;
    }
  }

  /** Whether messages arrive already. */
  get isListening(): boolean {
    return this.listening;
  }

  /** Closes the feed after a while, so that successive calls share a subscription. */
  release(): void {
    this.users -= 1;
    if (this.users === 0) this.linger = setTimeout(() => this.end(), LINGER_MS).unref();
  }

  /** Completes all observables; calls that wait for a job continue. */
  endObservers(): void {
    for (const observer of [...this.observers]) observer.complete();
    for (const follower of this.allFollowers()) follower.complete?.();
  }

  /** Ends the feed and all its subscribers. */
  close(): void {
    this.closed = true;
    this.endObservers();
    for (const follower of this.allFollowers()) follower.fail?.(ConnectionError.closed());
    clearTimeout(this.linger);
    this.end();
  }

  private end(): void {
    this.poller.stop();
    this.onUnused();
    this.subscription?.then(
      (unlisten) => unlisten(),
      () => undefined,
    );
  }

  /** Subscribes to all events or progress updates of the function. Returns a function that unsubscribes. */
  observe(observer: FeedObserver): () => void {
    this.observers.add(observer);
    if (observer.progress) this.poller.watchAll(observer);
    return () => {
      this.observers.delete(observer);
      this.poller.unwatchAll(observer);
    };
  }

  follow(id: string, follower: JobFollower): () => void {
    const followers = this.followers.get(id) ?? new Set();
    this.followers.set(id, followers.add(follower));
    if (follower.progress) this.poller.watch(id);
    if (this.closed) follower.fail?.(ConnectionError.closed());
    return () => {
      if (!followers.delete(follower) || followers.size > 0) return;
      this.followers.delete(id);
      this.poller.unwatch(id);
    };
  }

  /** Remembers finished jobs and their outputs until it is disposed of, for a job whose id isn't known yet. */
  expect(): Expectation {
    return this.finished.expect();
  }

  private readonly listener: JobListener = {
    event: (event) => this.deliverEvent(event),
    progress: (progress, mark) => {
      this.poller.published(progress.id);
      this.deliverProgress(progress, mark);
    },
    flowed: (name) => {
      for (const follower of this.followersOf(followedFlow(name))) follower.finished();
    },
    streamed: ({ id, mark }, kind) => {
      for (const follower of this.followersOf(id)) follower.streamed?.(kind, mark);
    },
    replied: (job, output) => {
      this.finished.add(job.id, { job, output });
      for (const follower of this.followersOf(job.id)) follower.replied?.(output, job.mark);
    },
    resync: () => {
      this.finished.addGap();
      this.poller.resync();
      for (const follower of this.allFollowers()) follower.resync();
    },
  };

  private deliverEvent(event: JobEvent): void {
    if (event.type === 'start') this.poller.started(event.id);
    if (event.type === 'finish') {
      this.poller.finished(event.id);
      this.finished.add(event.id);
    }
    for (const observer of [...this.observers]) observer.event?.(event);
    for (const follower of this.followersOf(event.id)) {
      if (event.type === 'finish') follower.finished();
      else follower.started?.();
    }
  }

  private deliverProgress(progress: JobProgress, mark: number | undefined): void {
    for (const observer of [...this.observers]) observer.progress?.(progress);
    for (const follower of this.followersOf(progress.id)) follower.progress?.(progress, mark);
  }

  /** A copy, since listeners may unsubscribe while they are called. */
  private followersOf(id: string): JobFollower[] {
    return [...(this.followers.get(id) ?? [])];
  }

  private allFollowers(): JobFollower[] {
    return [...this.followers.values()].flatMap((followers) => [...followers]);
  }
}

/** What a flow is called among the followed jobs of a feed, whose ids are numbers. */
export function followedFlow(name: string): string {
  return `flow:${name}`;
}
