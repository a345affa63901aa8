import type { Observable, Subscriber } from 'rxjs';
import { JobNotFoundError } from '../../../job/errors.js';
import type { FlowProgress } from '../../../job/flows.js';
import { followedFlow, type JobFeed } from '../../core/client/job-feed.js';
import { follow, type Following } from '../../core/client/observables.js';

/** A flow, and how it is read. */
export interface FlowReading {
  readonly fn: string;
  readonly name: string;
  /** The id of its root, for an error. */
  readonly root: string;
  read(wanted: () => boolean): Promise<FlowProgress | undefined>;
}

/** Emits how far a flow is, now and after each change; completes when it is over. */
export function observeFlow(
  feedOf: () => JobFeed | undefined,
  reading: FlowReading,
): Observable<FlowProgress> {
  return follow(feedOf, (feed, subscriber) => new FlowFollower(feed, subscriber, reading));
}

/** One read at a time, and once more if a message came during it: a large flow has many. */
class FlowFollower implements Following {
  private reading = false;
  private again = false;
  private last = '';

  constructor(
    private readonly feed: JobFeed,
    private readonly subscriber: Subscriber<FlowProgress>,
    private readonly flow: FlowReading,
  ) {}

  get id(): string {
    return followedFlow(this.flow.name);
  }

  /** The flow has changed. */
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
    if (this.reading || this.subscriber.closed) return;
    this.reading = true;
    void this.feed.reads.run(() => this.look());
  }

  private async look(): Promise<void> {
    const { subscriber, flow } = this;
    try {
      const progress = await flow.read(() => !subscriber.closed);
      this.reading = false;
      if (!progress) return subscriber.error(new JobNotFoundError(flow.fn, flow.root));
      this.show(progress);
      if (this.again) this.refresh();
    } catch (error) {
      subscriber.error(error);
    }
  }

  private show(progress: FlowProgress): void {
    const text = JSON.stringify(progress);
    if (text !== this.last) this.subscriber.next(progress);
    this.last = text;
    if (progress.done + progress.failed >= progress.total) this.subscriber.complete();
  }
}
