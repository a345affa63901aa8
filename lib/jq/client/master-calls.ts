import type { Dispatcher } from 'undici';
import { ConfigurationError } from '../../job/errors.js';
import { Backoff } from '../http/backoff.js';
import { JqRefusedError, JqUnreachableError } from '../http/master-errors.js';
import { isTemporary, refused, type MasterHttp, type MasterReply } from '../http/master-http.js';

export interface Call {
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Milliseconds that the master may take before it answers. */
  readonly wait?: number;
}

/** Calls that go on through outages of the master, until a deadline. */
export class MasterCalls {
  private readonly underWay = new Set<AbortController>();
  private closed = false;

  constructor(
    private readonly http: MasterHttp,
    /** Milliseconds. */
    private readonly timeout: number,
  ) {}

  /**
   * The master's own answer.
   *
   * @throws JqUnreachableError, JqRefusedError when all it said until the deadline was "later", and the signal's reason
   */
  async ask(method: Dispatcher.HttpMethod, path: string, call: Call = {}): Promise<MasterReply> {
    const { wait = 0, signal, ...request } = call;
    if (this.closed) throw closed();
    signal?.throwIfAborted();
    const abort = new AbortController();
    const stop = () => abort.abort();
    const timer = setTimeout(stop, this.timeout + wait);
    signal?.addEventListener('abort', stop);
    this.underWay.add(abort);
    try {
      const all = { ...request, signal: abort.signal, timeout: this.timeout + wait };
      return await this.insist(() => this.http.request(method, path, all), abort.signal, `${method} ${path}`);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.closed ? closed() : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      this.underWay.delete(abort);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const abort of this.underWay) abort.abort();
    await this.http.close();
  }

  private async insist(
    request: () => Promise<MasterReply>,
    signal: AbortSignal,
    what: string,
  ): Promise<MasterReply> {
    const backoff = new Backoff();
    let last: unknown;
    for (;;) {
      let rest = 0;
      try {
        const reply = await request();
        if (!isTemporary(reply)) return reply;
        last = refused(what, reply);
        rest = reply.rest;
      } catch (error) {
        // The deadline is not the reason: that is what went before.
        if (!signal.aborted) last = error;
        else last ??= error;
      }
      await backoff.wait(signal, rest).catch(() => undefined);
      if (!signal.aborted) continue;
      throw last instanceof JqRefusedError ? last : new JqUnreachableError(this.http.url, what, last);
    }
  }
}

function closed(): ConfigurationError {
  return new ConfigurationError('The JqClient is closed. It closes with its module, or by `close()`.');
}
