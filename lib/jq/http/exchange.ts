import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { realNow } from '../../job/real-time.js';

/** How much of a reply comes within each `bodyTimeout`, at least. */
const LEAST_BYTES = 64 * 1024;

/** A request whose body and reply are bytes. */
export type ExchangeOptions = Pick<
  Dispatcher.DispatchOptions,
  'origin' | 'path' | 'method' | 'headers' | 'body' | 'headersTimeout'
> & {
  /** Milliseconds between two parts of a reply's body, and for each 64 KiB of it: one that drips would never end. */
  readonly bodyTimeout?: number;
  /** A longer reply breaks its connection. */
  readonly maxReplyBytes?: number;
  /** Whether only the head matters: the body is read and dropped. */
  readonly headOnly?: boolean;
  /** Milliseconds from connecting to the end of the reply, also with `headOnly`. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
};

/** The exchange took too long. */
export class ExchangeTimeoutError extends Error {
  readonly code = 'EXCHANGE_TIMEOUT';

  constructor(
    /** Whether it had a connection: the request may have been read then. */
    readonly wasSent: boolean,
  ) {
    super('There was no answer in time.');
  }
}

export interface Exchanged {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const NOTHING = Buffer.alloc(0);

/**
 * One request and its whole reply, without the streams that undici's own `request` creates.
 *
 * @throws ExchangeTimeoutError, what connections throw, and the signal's reason
 */
export function exchange(dispatcher: Dispatcher, options: ExchangeOptions): Promise<Exchanged> {
  const { signal, timeout, maxReplyBytes = Infinity, headOnly = false, ...request } = options;
  const { bodyTimeout = Infinity } = request;
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(resolve, reject, { maxReplyBytes, headOnly, bodyTimeout });
    if (signal) handler.abortWith(signal);
    if (timeout !== undefined) handler.endAfter(timeout);
    dispatcher.dispatch({ ...request, origin: request.origin ?? '' }, handler);
  });
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private controller?: Dispatcher.DispatchController;
  private signal?: AbortSignal;
  private timer?: NodeJS.Timeout;
  /** When its head came, by `realNow`. */
  private headAt = 0;
  /** When its time is over, by `realNow`. */
  private until = Infinity;
  /** Why it was aborted, perhaps before it had a connection. */
  private reason?: Error;
  private readonly abort = (): void => this.giveUp(this.signal?.reason as Error);

  constructor(
    private readonly resolve: (exchanged: Exchanged) => void,
    private readonly reject: (error: unknown) => void,
    private readonly limits: Required<Pick<ExchangeOptions, 'maxReplyBytes' | 'headOnly' | 'bodyTimeout'>>,
  ) {}

  abortWith(signal: AbortSignal): void {
    this.signal = signal;
    signal.addEventListener('abort', this.abort, { once: true });
  }

  endAfter(timeout: number): void {
    this.until = realNow() + timeout;
    this.timer = setTimeout(
      () => this.giveUp(new ExchangeTimeoutError(this.controller !== undefined)),
      timeout,
    );
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.signal?.aborted) this.abort();
    else if (this.reason) controller.abort(this.reason);
    // The process was stopped or busy, so that its timer is late, too.
    else if (realNow() >= this.until) this.giveUp(new ExchangeTimeoutError(false));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.headers = headers;
    this.headAt = realNow();
    // Informational heads come before the final one.
    if (this.limits.headOnly && status >= 200) this.resolve({ status, headers, body: NOTHING });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxReplyBytes, headOnly, bodyTimeout } = this.limits;
    this.bytes += chunk.length;
    if (this.bytes > maxReplyBytes) {
      controller.abort(new Error(`The reply has more than ${maxReplyBytes} bytes.`));
    } else if (realNow() - this.headAt > bodyTimeout * (1 + Math.floor(this.bytes / LEAST_BYTES))) {
      controller.abort(new ExchangeTimeoutError(true));
    } else if (!headOnly) {
      this.chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    this.end();
    const body = this.chunks.length > 1 ? Buffer.concat(this.chunks) : (this.chunks[0] ?? NOTHING);
    this.resolve({ status: this.status, headers: this.headers, body });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.end();
    this.reject(error);
  }

  private giveUp(reason: Error): void {
    this.reason = reason;
    this.controller?.abort(reason);
    this.end();
    this.reject(reason);
  }

  private end(): void {
    clearTimeout(this.timer);
    this.signal?.removeEventListener('abort', this.abort);
  }
}
