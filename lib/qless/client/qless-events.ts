import { Observable } from 'rxjs';
import type { ChannelHub } from '../../redis/channel-hub.js';
import { parsed } from '../wire/replies.js';
import { showAs } from '../../job/show-as.js';

/** What the core says of jobs, as it says it: the other fields depend on the event, and times are seconds. */
export interface QlessEvent {
  /** put, completed, advanced, failed, canceled, lock_lost, config_set … */
  readonly event: string;
  readonly jid?: string;
  readonly [field: string]: unknown;
}

/** What is published about tracked jobs. */
export type TrackedEvent =
  'put' | 'popped' | 'completed' | 'failed' | 'stalled' | 'canceled' | 'track' | 'untrack';

/** The core's channels as observables: cold, and one subscription a channel. Messages of an outage are missed. */
export class QlessEvents {
  static {
    showAs(QlessEvents, ({ prefix }) => ({ prefix }));
  }

  /** @internal */
  constructor(
    private readonly hub: ChannelHub,
    private readonly prefix: string,
  ) {}

  /** Of all jobs, but not their being popped. */
  log(): Observable<QlessEvent> {
    return this.channel('log', toEvents);
  }

  /** Events for one worker: jobs it lost, or that were cancelled. */
  worker(name: string): Observable<QlessEvent> {
    return this.channel(`w:${name}`, toEvents);
  }

  /** Jids of tracked jobs that this happens to. */
  tracked(event: TrackedEvent): Observable<string> {
    return this.channel(event, (jid) => [jid]);
  }

  private channel<T>(name: string, read: (text: string) => readonly T[]): Observable<T> {
    return new Observable((subscriber) => {
      const message = (text: string) => {
        for (const event of read(text)) subscriber.next(event);
      };
      const listening = this.hub.listen(this.prefix + name, { message });
      listening.catch((error: unknown) => subscriber.error(error));
      return () =>
        void listening.then(
          (stop) => stop(),
          () => undefined,
        );
    });
  }
}

/** None if it isn't an event: anyone may publish on the channel. */
function toEvents(text: string): QlessEvent[] {
  try {
    const event = parsed<QlessEvent | null>(text);
    return typeof event?.event === 'string' ? [event] : [];
  } catch {
    return [];
  }
}
