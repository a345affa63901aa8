import type { JobEvent, JobProgress } from '../job/job.js';
import type { JobListener, JobStore } from './job-store.js';
import { ProgressPoller } from './progress-poller.js';
import { Turnstile } from './turnstile.js';

/** Who follows one job. */
export interface JobFollower {
  started?(): void;
  finished(): void;
  /** It has finished, with this output as it is stored. */
  replied?(output: string): void;
  progress?(progress: JobProgress): void;
  /** Messages may have been missed. */
  resync(): void;
}

/** Jobs that have finished meanwhile, by their ids, and the outputs that were replied. */
export interface Expectation {
  readonly finished: ReadonlyMap<string, string | undefined>;
  dispose(): void;
}

/** Who follows a whole function. */
export type FeedObserver = Partial<Pick<JobListener, 'event' | 'progress'>>;

/** How long a feed that nobody uses stays open. */
const LINGER_MS = 500;
/** Jobs of observers that are read at a time: of 100,000 the last would not be read within its time. */
const MAX_READS = 1000;

/**
 * One function's channels, listened to while anybody is interested. Messages reach the followers of
 * their job by its id, so that 100,000 followers cost no more a message than one.
 */
export class JobFeed {
  private readonly observers = new Set<FeedObserver>();
  private readonly followers = new Map<string, Set<JobFollower>>();
  private readonly expectations = new Set<Map<string, string | undefined>>();
  /** Where observers that read their job queue up. */
  readonly reads = new Turnstile(MAX_READS);
  private readonly poller: ProgressPoller;
  private subscription: Promise<() => void> | undefined;
  private users = 0;
  private listening = false;
  private linger?: NodeJS.Timeout;

  constructor(
    private readonly store: JobStore,
    private readonly fn: string,
    private readonly onUnused: () => void,
  ) {
    this.poller = new ProgressPoller(store, fn, (progress) => this.deliverProgress(progress));
  }

  /** Resolves once messages arrive. Every `open` wants one `release`. */
  async open(): Promise<void> {
    this.users += 1;
    clearTimeout(this.linger);
    this.subscription ??= this.store.listen(this.fn, this.listener);
    await this.subscription;
    this.listening = true;
  }

  /** Whether messages arrive already. */
  get isListening(): boolean {
    return this.listening;
  }

  /** The feed lingers, so that calls one after another share a subscription. */
  release(): void {
    this.users -= 1;
    if (this.users === 0) this.linger = setTimeout(() => this.end(), LINGER_MS).unref();
  }

  private end(): void {
    this.poller.stop();
    this.onUnused();
    this.subscription?.then(
      (unlisten) => unlisten(),
      () => undefined,
    );
  }

  /** Every event or progress update of the function, from `open` on. */
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
    return () => {
      followers.delete(follower);
      if (followers.size > 0) return;
      this.followers.delete(id);
      this.poller.unwatch(id);
    };
  }

  /** Remembers which jobs finish, and replies, until it is disposed of: for a job whose id isn't known yet. */
  expect(): Expectation {
    const finished = new Map<string, string | undefined>();
    this.expectations.add(finished);
    return { finished, dispose: () => this.expectations.delete(finished) };
  }

  private readonly listener: JobListener = {
    event: (event) => this.deliverEvent(event),
    progress: (progress) => {
      this.poller.published(progress.id);
      this.deliverProgress(progress);
    },
    replied: (id, output) => {
      for (const finished of this.expectations) finished.set(id, output);
      for (const follower of [...(this.followers.get(id) ?? [])]) follower.replied?.(output);
    },
    resync: () => {
      for (const followers of this.followers.values())
        for (const follower of [...followers]) follower.resync();
    },
  };

  private deliverEvent(event: JobEvent): void {
    if (event.type === 'start') this.poller.started(event.id);
    if (event.type === 'finish') {
      this.poller.finished(event.id);
      for (const finished of this.expectations) finished.set(event.id, finished.get(event.id));
    }
    for (const observer of [...this.observers]) observer.event?.(event);
    for (const follower of [...(this.followers.get(event.id) ?? [])]) {
      if (event.type === 'finish') follower.finished();
      else follower.started?.();
    }
  }

  private deliverProgress(progress: JobProgress): void {
    for (const observer of [...this.observers]) observer.progress?.(progress);
    for (const follower of [...(this.followers.get(progress.id) ?? [])]) follower.progress?.(progress);
  }
}
