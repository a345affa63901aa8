import { ConnectionError } from '../../../job/server-errors.js';
import type { JobEvent, JobProgress } from '../../../job/job.js';
import type { StreamKind } from '../../../job/streams.js';
import type { JobListener, JobStore } from './job-store.js';
import { ProgressPoller } from './progress-poller.js';
import type { JobKey } from '../wire/protocol.js';

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
/** How often jobs are read again that have been followed for so long: a server may not have sent a message, as without the right to. */
const LOOK_MS = 60_000;
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
  private looks?: NodeJS.Timeout;
  /** Those that were there when it looked last. */
  private seen: ReadonlySet<JobFollower> = new Set();

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
    clearInterval(this.looks);
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
    this.looks ??= setInterval(() => this.look(), LOOK_MS).unref();
    if (this.closed) follower.fail?.(ConnectionError.closed());
    return () => {
      if (!followers.delete(follower) || followers.size > 0) return;
      this.followers.delete(id);
      this.poller.unwatch(id);
    };
  }

  private look(): void {
    const now = new Set(this.allFollowers());
    for (const follower of now) if (this.seen.has(follower)) follower.resync();
    this.seen = now;
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

/** Runs at most `max` tasks at a time; the others wait in order. */
export class Semaphore {
  private waiting: (() => void)[] = [];
  private next = 0;
  private running = 0;

  constructor(private readonly max: number) {}

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.running === this.max) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      return await task();
    } finally {
      this.leave();
    }
  }

  /** Lets the next waiting task run. */
  private leave(): void {
    const start = this.waiting[this.next];
    if (start) {
      this.next += 1;
      start();
    } else {
      this.running -= 1;
      this.waiting = [];
      this.next = 0;
    }
  }
}

/** An output that was sent, and the mark of its job. */
export interface Reply {
  readonly job: JobKey;
  readonly output: string;
}

/** What an enqueue can ask once its job's id is known. */
export interface Expectation {
  /** Defined if a job with this id has finished meanwhile, with its output if that was sent. */
  of(id: string): { readonly reply?: Reply | undefined } | undefined;
  /** Whether messages may have been missed meanwhile. */
  readonly hasGaps: boolean;
  dispose(): void;
}

/** Jobs that finished one after the other, and how many enqueues began meanwhile. */
interface Stretch {
  readonly finished: Map<string, Reply | undefined>;
  enqueues: number;
}

/** How many finished jobs make a stretch. */
const STRETCH = 1000;

/**
 * Remembers which jobs finished while enqueues are under way, because a job may finish before its enqueue knows its id.
 * All enqueues share this memory. Jobs that finished before the oldest of them began are forgotten, a stretch at a time.
 */
export class FinishedJobs {
  private readonly stretches: Stretch[] = [];
  private gaps = 0;

  /** Begins to remember, until the expectation is disposed of. */
  expect(): Expectation {
    const { gaps } = this;
    const from = this.stretches.at(-1) ?? this.begin();
    from.enqueues += 1;
    const hasGaps = () => this.gaps !== gaps;
    return {
      of: (id) => this.since(from, id),
      get hasGaps() {
        return hasGaps();
      },
      dispose: () => {
        from.enqueues -= 1;
        while (this.stretches[0]?.enqueues === 0) this.stretches.shift();
      },
    };
  }

  /** Records a finished job; a reply comes before the plain message. */
  add(id: string, reply?: Reply): void {
    const last = this.stretches.at(-1);
    if (!last) return;
    const { finished } = last.finished.size < STRETCH ? last : this.begin();
    if (reply || !finished.has(id)) finished.set(id, reply);
  }

  /** Records that messages may have been lost. */
  addGap(): void {
    this.gaps += 1;
  }

  /** How many finished jobs are remembered. */
  get size(): number {
    return this.stretches.reduce((sum, { finished }) => sum + finished.size, 0);
  }

  private begin(): Stretch {
    const stretch: Stretch = { finished: new Map(), enqueues: 0 };
    this.stretches.push(stretch);
    return stretch;
  }

  private since(from: Stretch, id: string): { reply?: Reply | undefined } | undefined {
    const held = this.stretches
      .slice(this.stretches.indexOf(from))
      .filter(({ finished }) => finished.has(id));
    if (held.length === 0) return undefined;
    return { reply: held.map(({ finished }) => finished.get(id)).find((reply) => reply !== undefined) };
  }
}
