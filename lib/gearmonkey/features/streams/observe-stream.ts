import type { Observable, Subscriber } from 'rxjs';
import type { Job } from '../../../job/job.js';
import type { StreamKind, StreamPage } from '../../../job/streams.js';
import type { JobFeed } from '../../core/client/job-feed.js';
import type { TrackedJob } from '../../core/client/tracked-job.js';
import { follow, ObservedJob } from '../../core/client/observables.js';

/** How a stream of one job is read. */
export interface StreamReading<T> {
  readonly kind: StreamKind;
  /** How many entries are passed over. */
  readonly after: number;
  /** Reads a page from an entry on. */
  read(from: number, wanted: () => boolean): Promise<StreamPage>;
  /** Undefined for an entry that is none of ours. */
  decode(entry: Uint8Array, number: number): T | undefined;
}

/** Emits what a job has streamed behind a position, and goes on live; completes when the job has finished. */
export function observeStream<T>(
  feedOf: () => JobFeed | undefined,
  trackedOf: () => TrackedJob,
  reading: StreamReading<T>,
): Observable<T> {
  return follow(feedOf, (feed, subscriber) => new StreamFollower(feed, subscriber, trackedOf(), reading));
}

/** Holds one page at a time, however slow its subscriber is. */
class StreamFollower<T> extends ObservedJob<T, Job> {
  private from: number;
  private hasMore = false;
  private paging: Promise<void> | undefined;

  constructor(
    feed: JobFeed,
    subscriber: Subscriber<T>,
    tracked: TrackedJob,
    private readonly stream: StreamReading<T>,
  ) {
    super(feed, subscriber, tracked);
    this.from = stream.after;
  }

  streamed(kind: StreamKind, mark: number | undefined): void {
    if (kind !== this.stream.kind || !this.tracked.isOf(mark)) return;
    this.readOn().catch((error: unknown) => this.subscriber.error(error));
  }

  protected show(): Promise<void> {
    return this.readOn();
  }

  private readOn(): Promise<void> {
    this.hasMore = true;
    return (this.paging ??= this.readPages());
  }

  /** Has ended in the step that finds no more: a message behind it begins the next. */
  private async readPages(): Promise<void> {
    try {
      while (this.hasMore && !this.subscriber.closed) await this.readPage();
    } finally {
      this.paging = undefined;
    }
  }

  private async readPage(): Promise<void> {
    const { subscriber, stream } = this;
    const isWanted = () => !subscriber.closed;
    this.hasMore = false;
    const { entries, next, total } = await stream.read(this.from, isWanted);
    this.from = next;
    this.hasMore ||= next < total && entries.length > 0;
    const passed = next - entries.length;
    for (const [n, entry] of entries.entries()) {
      if (!isWanted()) return;
      const decoded = stream.decode(entry, passed + n + 1);
      if (decoded) subscriber.next(decoded);
    }
  }
}
