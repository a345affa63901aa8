import { Observable } from 'rxjs';
import type { ChannelHub } from '../../redis/channel-hub.js';
import { parsed } from '../wire/replies.js';
import { toQlessError } from './errors.js';
import { showAs } from '../../job/show-as.js';

/** An event of a job, as the core publishes it. Other fields depend on the event; times are seconds since 1970. */
export interface QlessEvent {
  /** put, completed, advanced, failed, canceled, lock_lost, config_set … */
  readonly event: string;
  readonly jid?: string;
  readonly [field: string]: unknown;
}

/** The events of tracked jobs. */
export type TrackedEvent =
  'put' | 'popped' | 'completed' | 'failed' | 'stalled' | 'canceled' | 'track' | 'untrack';

/** The core's channels as cold observables with one subscription per channel. Messages during an outage are missed. */
export class QlessEvents {
  static {
    showAs(QlessEvents, ({ prefix }) => ({ prefix }));
  }

  /** @internal */
  constructor(
    private readonly hub: ChannelHub,
    private readonly prefix: string,
  ) {}

  /** Emits the events of all jobs except pops. */
  log(): Observable<QlessEvent> {
    return this.channel('log', toEvents);
  }

  /** Emits the events for one worker: jobs that it lost or that were cancelled. */
  worker(name: string): Observable<QlessEvent> {
    return this.channel(`w:${name}`, toEvents);
  }

  /** Emits the jids of tracked jobs at each of these events. */
  tracked(event: TrackedEvent): Observable<string> {
    return this.channel(event, (jid) => [jid]);
  }

  private channel<T>(name: string, read: (text: string) => readonly T[]): Observable<T> {
    return new Observable((subscriber) => {
      const message = (text: string) => {
        for (const event of read(text)) subscriber.next(event);
      };
      const listening = this.hub.listen(this.prefix + name, { message });
      listening.catch((error: unknown) => subscriber.error(toQlessError('Listening to events', error)));
      return () =>
        void listening.then(
          (stop) => stop(),
          () => undefined,
        );
    });
  }
}

/** Ignores text that is not an event: any client may publish on the channel. */
function toEvents(text: string): QlessEvent[] {
  try {
    const event = parsed<QlessEvent | null>(text);
    return typeof event?.event === 'string' ? [event] : [];
  } catch {
    return [];
  }
}
