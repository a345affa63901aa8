import { isNativeError } from 'node:util/types';
import { Agent, buildConnector } from 'undici';
import { exchange, ExchangeTimeoutError, type Exchanged } from '../http/exchange.js';
import { signed } from '../wire/signature.js';
import { callbackConnector, CallbackRefusedError } from './callbacks/callback-connector.js';
import type { MasterSettings } from './master-options.js';
import { MESSAGE_PACK } from '../wire/media-type.js';

/** The longest reply of a worker that is read. */
const MAX_REPLY_BYTES = 64 * 1024;

/** The request never reached the worker. */
const NOT_SENT = new Set([
  'CALLBACK_NOT_ALLOWED',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** The connection ended. */
const ENDED = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** A request to a worker. */
export interface PushRequest {
  readonly url: string;
  readonly body: Buffer;
  /** Milliseconds for connecting, a second try and the reply together: a push must not outlast its lease. */
  readonly timeout: number;
  /** Whether only the status matters. */
  readonly headOnly: boolean;
}

/** No reply: 'refused' if the worker can't have received the push, 'silent' if it may have. */
export interface Unanswered {
  readonly status: 'refused' | 'silent';
  readonly error: unknown;
}

/**
 * The connections to workers. Each worker's requests have their own, so a slow one does not delay others;
 * redirects are not followed.
 */
export class PushSender {
  private readonly agent: Agent;
  /** Errors of connections that had been used before. */
  private readonly reused = new WeakSet<Error>();

  constructor(private readonly settings: MasterSettings) {
    const { pushTimeout: timeout, callbacks } = settings;
    this.agent = new Agent({
      connect: this.watched(callbackConnector({ timeout, ...callbacks.tls, rule: callbacks.rule })),
      // The exchange has its own timeout, which includes connecting.
      headersTimeout: 0,
      bodyTimeout: timeout,
    });
  }

  /** Tries twice if the first connection may have been stale. */
  async send(request: PushRequest): Promise<Exchanged | Unanswered> {
    const begun = performance.now();
    try {
      return await this.post(request).catch((error: unknown) => {
        const left = request.timeout - (performance.now() - begun);
        if (left < request.timeout / 2 || !this.isStale(error)) throw error;
        return this.sendAgain({ ...request, timeout: left });
      });
    } catch (error) {
      return { status: wasNotSent(error) ? 'refused' : 'silent', error };
    }
  }

  /** The answer of the worker at this URL to a HEAD, if there is one. */
  probe(url: string, timeout: number): Promise<Exchanged | undefined> {
    const { origin, pathname } = new URL(url);
    const path = `${pathname === '/' ? '' : pathname}/worker-job`;
    const asked = exchange(this.agent, { origin, path, method: 'HEAD', headOnly: true, timeout });
    return asked.catch(() => undefined);
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private post({ url, body, timeout, headOnly }: PushRequest): Promise<Exchanged> {
    const { secret } = this.settings.callbacks;
    const { origin, pathname } = new URL(url);
    return exchange(this.agent, {
      origin,
      path: `${pathname === '/' ? '' : pathname}/worker-job`,
      method: 'POST',
      headers: { 'content-type': MESSAGE_PACK, ...(secret === undefined ? {} : signed(body, url, secret)) },
      body,
      headOnly,
      timeout,
      maxReplyBytes: MAX_REPLY_BYTES,
    });
  }

  /** The first try may have been read: that the second can't be sent doesn't prove otherwise. */
  private sendAgain(request: PushRequest): Promise<Exchanged | Unanswered> {
    return this.post(request).catch((error: unknown) => ({ status: 'silent', error }));
  }

  /** Whether the worker may have closed an idle connection without having seen the push. */
  private isStale(error: unknown): boolean {
    if (!isNativeError(error) || !ENDED.has(codeOf(error))) return false;
    return this.reused.has(error) || bytesReadOf(error) > 0;
  }

  /** A socket's errors don't say whether it had received anything before. */
  private watched(connect: buildConnector.connector): buildConnector.connector {
    return (target, callback) =>
      connect(target, (...[error, socket]: Parameters<buildConnector.Callback>) => {
        socket?.prependListener('error', (reset) => {
          if (socket.bytesRead > 0) this.reused.add(reset);
        });
        if (error) callback(error, null);
        else if (socket) callback(null, socket);
      });
  }
}

/** Whether its address is not admitted. */
export function isForbidden(error: unknown): error is CallbackRefusedError {
  return error instanceof CallbackRefusedError;
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}

function wasNotSent(error: unknown): boolean {
  if (error instanceof ExchangeTimeoutError) return !error.wasSent;
  if (error instanceof AggregateError) return error.errors.every(wasNotSent);
  return isNativeError(error) && NOT_SENT.has(codeOf(error));
}

/** How many bytes the connection of an error had read in all. */
function bytesReadOf(error: Error): number {
  if (!('socket' in error) || typeof error.socket !== 'object' || !error.socket) return 0;
  return 'bytesRead' in error.socket ? Number(error.socket.bytesRead) : 0;
}
