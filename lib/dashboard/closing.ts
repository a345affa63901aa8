import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { repeat } from '../redis/rounds.js';
import { ApiFailure } from './dashboard-errors.js';
import { LAST_MS } from './live-stream.js';

/**
 * Lets the app end while pages are open: a server that closes waits for connections that are in use, and a page that
 * asks every few seconds would keep its own in use.
 */
@Injectable()
export class Closing implements OnModuleDestroy {
  private hasBegun = false;
  /** A server waits for those of HTTP/2 also while nothing is asked. */
  private readonly sessions = new Map<ServerHttp2Session, Socket>();
  /** What the dashboard answers by them. */
  private readonly streams = new Set<ServerHttp2Stream>();

  onModuleDestroy(): void {
    this.hasBegun = true;
    for (const stream of this.streams) endUnread(stream);
    // What has been asked is still answered.
    for (const [session, socket] of this.sessions) end(session, socket);
  }

  /** Refuses a request of an app that closes, and ends its connection. @throws ApiFailure 503 */
  check(response: ServerResponse | Http2ServerResponse): void {
    if ('stream' in response) this.note(response.stream);
    else if (this.hasBegun) response.setHeader('connection', 'close');
    if (this.hasBegun) throw new ApiFailure(503, 'CLOSING', 'The app is closing.');
  }

  private note(stream: ServerHttp2Stream): void {
    const { session } = stream as { session?: ServerHttp2Session };
    // Its client may have left meanwhile.
    if (!session || session.destroyed) return;
    this.streams.add(stream);
    stream.once('close', () => this.streams.delete(stream));
    if (this.hasBegun) endUnread(stream);
    if (this.sessions.has(session)) return;
    // `once` returns the socket itself: `session.socket` is gone before the client has closed it.
    const socket: Socket = session.socket.once('close', () => this.sessions.delete(session));
    this.sessions.set(session, socket);
    if (this.hasBegun) end(session, socket);
  }
}

/** Ends it once nothing of its answer has been read for a moment: its client may be asleep. */
function endUnread(stream: ServerHttp2Stream): void {
  stream.setTimeout(LAST_MS);
  // Again and again: the answer may come late.
  stream.on('timeout', () => {
    if (stream.headersSent) stream.destroy();
  });
}

/** Once its streams have ended, its client has a moment to close the connection. */
function end(session: ServerHttp2Session, socket: Socket): void {
  session.close();
  let wereEnded = false;
  const stop = repeat(LAST_MS, () => {
    if (wereEnded) socket.destroy();
    wereEnded = session.destroyed;
  });
  socket.once('close', stop);
}
