import type { ServerResponse } from 'node:http';
import { realNow } from '../job/real-time.js';
import type { LiveEvents } from './api.js';
import type { DashboardUser } from './dashboard.options.js';
import type { Watched } from './live-topics.js';

/** A reader that is so far behind is not reading. */
const MOST_BEHIND = 4 * 1024 * 1024;

/** For what was sent last. */
export const LAST_MS = 1000;

/** What is sent: times are dates, which JSON makes text of. */
type Sent<Name extends keyof LiveEvents> = { readonly [Field in keyof LiveEvents[Name]]: unknown };

/** A page that listens, by Server-Sent Events. */
export class LiveStream {
  /** What was sent last of each thing, so that only changes are sent. */
  readonly #sent = new Map<string, string>();
  readonly openedAt = realNow();

  constructor(
    readonly user: DashboardUser,
    readonly watched: Watched,
    private readonly response: ServerResponse,
    /** Whose streams it counts among. */
    readonly owner = '',
  ) {}

  /** Sends an event. */
  send<Name extends keyof LiveEvents>(name: Name, data: Sent<Name>): void {
    // A JSON text has no line breaks, so it is one line of data.
    this.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** Whether a thing differs from what was sent of it last; then it counts as sent. */
  isNew(thing: string, text: string): boolean {
    if (this.#sent.get(thing) === text) return false;
    this.#sent.set(thing, text);
    return true;
  }

  /** The things with this prefix that were sent. */
  sentOf(prefix: string): string[] {
    return [...this.#sent.keys()].flatMap((key) =>
      key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
    );
  }

  forget(thing: string): void {
    this.#sent.delete(thing);
  }

  heartbeat(): void {
    this.write(': \n\n');
  }

  /** Ends it, also if its page does not read the rest: an open connection would keep a server from closing. */
  end(why: string): void {
    this.send('bye', { why });
    this.response.end();
    setTimeout(() => this.response.destroy(), LAST_MS).unref();
  }

  private write(text: string): void {
    if (this.response.writableEnded || this.response.destroyed) return;
    if (this.response.writableLength > MOST_BEHIND) this.response.destroy();
    else this.response.write(text);
  }
}
