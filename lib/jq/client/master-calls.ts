import type { Dispatcher } from 'undici';
import { MAX_TIMER_MS, type Duration } from '../../job/duration.js';
import { ConfigurationError } from '../../job/errors.js';
import { ping, type Health } from '../../job/health.js';
import type { Backoff } from '../http/backoff.js';
import { askMaster } from '../http/retry-until-answered.js';
import type { MasterHttp, MasterReply } from '../http/master-http.js';

export interface Call {
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Milliseconds that the master may take before it answers. */
  readonly wait?: number;
  /** A further status that is an answer without a body. */
  readonly answer?: number;
}

/** Calls that are retried during outages of the master, until a deadline. */
export class MasterCalls {
  private readonly underWay = new Set<AbortController>();
  private closed = false;

  constructor(
    private readonly http: MasterHttp,
    /** Milliseconds. */
    private readonly timeout: number,
  ) {}

  get url(): string {
    return this.http.url;
  }

  /** Never rejects. */
  ping(timeout: Duration): Promise<Health> {
    return ping(this.http, timeout);
  }

  /**
   * The master's own answer, and whether it was asked before without one: then it may have done it already.
   *
   * @throws JqUnreachableError, JqRefusedError when all it said until the deadline was "later", and the signal's reason
   */
  async ask(
    method: Dispatcher.HttpMethod,
    path: string,
    call: Call = {},
  ): Promise<MasterReply & { readonly isRepeated: boolean }> {
    const { wait = 0, signal, ...parts } = call;
    const timeout = Math.min(this.timeout + wait, MAX_TIMER_MS);
    return this.within(timeout, signal, async (ending) => {
      const all = { ...parts, signal: ending, timeout, waits: wait > 0 };
      const called = { url: this.http.url, what: `${method} ${path}` };
      let requests = 0;
      const request = () => {
        requests += 1;
        return this.http.request(method, path, all);
      };
      const reply = await askMaster(request, ending, called);
      return { ...reply, isRepeated: requests > 1 };
    });
  }

  /** Waits before the next poll if the last one ended at once. @throws the signal's reason */
  afterPoll(backoff: Backoff, begun: number, signal: AbortSignal | undefined): Promise<void> {
    return this.within(MAX_TIMER_MS, signal, (ending) => backoff.afterPoll(begun, ending));
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const abort of this.underWay) abort.abort();
    await this.http.close();
  }

  /** Does something that ends with the time, the caller's signal, or this. */
  private async within<T>(
    timeout: number,
    signal: AbortSignal | undefined,
    act: (ending: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (this.closed) throw closed();
    signal?.throwIfAborted();
    const abort = new AbortController();
    const stop = () => abort.abort();
    const timer = setTimeout(stop, timeout);
    signal?.addEventListener('abort', stop);
    this.underWay.add(abort);
    try {
      return await act(abort.signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw this.closed ? closed() : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
      this.underWay.delete(abort);
    }
  }
}

function closed(): ConfigurationError {
  return new ConfigurationError('The JqClient is closed. It closes with its module, or by `close()`.');
}
