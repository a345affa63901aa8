import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse, Http2Session } from 'node:http2';
import { ApiFailure } from './dashboard-errors.js';

/**
 * Lets the app end while pages are open: a server that closes waits for connections that are in use, and a page that
 * asks every few seconds would keep its own in use.
 */
@Injectable()
export class Closing implements OnModuleDestroy {
  private hasBegun = false;
  /** A server waits for those of HTTP/2 also while nothing is asked. */
  private readonly sessions = new Set<Http2Session>();

  onModuleDestroy(): void {
    this.hasBegun = true;
    // What has been asked is still answered.
    for (const session of this.sessions) session.close();
  }

  /** Refuses a request of an app that closes, and ends its connection. @throws ApiFailure 503 */
  check(response: ServerResponse | Http2ServerResponse): void {
    const session = 'stream' in response ? response.stream.session : undefined;
    if (session && !this.sessions.has(session)) {
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session));
    }
    if (!this.hasBegun) return;
    if (session) session.close();
    else response.setHeader('connection', 'close');
    throw new ApiFailure(503, 'CLOSING', 'The app is closing.');
  }
}
