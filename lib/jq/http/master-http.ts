import { Pool, type Dispatcher } from 'undici';
import { clientTlsOptions, type ClientTls } from '../../net/tls.js';
import { defined } from '../../job/defined.js';
import { ConfigurationError, messageOf } from '../../job/errors.js';
import type { Health } from '../../job/health.js';
import { ConnectionError } from '../../job/server-errors.js';
import { MESSAGE_PACK } from '../wire/media-type.js';
import { Raw } from '../message-pack/raw.js';
import { textOf, toRaw } from '../message-pack/unpack.js';
import { Fields, type FieldName } from '../wire/fields.js';
import { restOf } from '../wire/retry-after.js';
import { exchange } from './exchange.js';
import { JqRefusedError } from './master-errors.js';

/** How to reach a master. */
export interface MasterAddress {
  /** `http://HOST:PORT`, with a proxy's path if there is one. */
  master: string;
  /** The token of pushers or workers, if the master needs one. */
  token?: string;
  /** PEM certificates of authorities, for an `https:` master without a public certificate. */
  ca?: ClientTls['ca'];
}

export interface MasterRequest {
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Milliseconds until an answer must have begun. @default 10 s */
  readonly timeout?: number;
  /** Whether it is a long poll: these have separate connections. */
  readonly waits?: boolean;
  /** A further status that is an answer without a body. */
  readonly answer?: number;
}

export interface MasterReply {
  readonly status: number;
  readonly body: Buffer;
  /** Milliseconds from the master's own `Retry-After`; 0 without it. */
  readonly rest: number;
}

/** The most connections to a master, without those of long polls. */
const CONNECTIONS = 128;
/** How long an answer may take, or each part of its body. */
export const ANSWER_TIMEOUT_MS = 10_000;
const MAX_REPLY_BYTES = 256 * 1024 * 1024;
const MAX_ERROR_DEPTH = 8;
/** The refusals that masters of other implementations may give without a body. */
const REFUSALS = new Set([400, 401, 403, 404, 409, 410, 413, 415, 422]);

/** Something between here and the master has answered, such as a proxy with a page. The master may have read the request. */
class ForeignReplyError extends Error {
  constructor(readonly status: number) {
    super(`a proxy or another server has answered, with ${status}: that is no answer of a master`);
  }
}

/** Sends requests to a master over connections that stay open. */
export class MasterHttp {
  readonly url: string;
  /** When it last answered. */
  private lastReply?: Date;
  /** Why it did not answer the last request. */
  private problem?: string;
  private readonly path: string;
  private readonly pool: Pool;
  /** One connection for each long poll. */
  private readonly waiting: Pool;
  readonly #common: Readonly<Record<string, string>>;
  readonly #withBody: Readonly<Record<string, string>>;

  /** @throws ConfigurationError */
  constructor({ master, token, ca }: MasterAddress) {
    const url = urlOf(master);
    this.url = url.origin + url.pathname.replace(/\/+$/, '');
    this.path = url.pathname.replace(/\/+$/, '');
    const tls = ca === undefined ? {} : { connect: clientTlsOptions({ ca }) };
    this.pool = new Pool(url.origin, { connections: CONNECTIONS, ...tls });
    this.waiting = new Pool(url.origin, tls);
    const accept = { accept: MESSAGE_PACK };
    this.#common = token === undefined ? accept : { ...accept, authorization: `Bearer ${token}` };
    this.#withBody = { ...this.#common, 'content-type': MESSAGE_PACK };
  }

  health(): Health {
    const { lastReply, problem, url } = this;
    const connected = lastReply !== undefined && problem === undefined;
    return defined({ connected, server: url, lastReplyAt: lastReply, problem });
  }

  /** Asks whether it is ready. A master of another implementation has no such path: it is if it answers about a job. @throws ConnectionError */
  async reach(timeout: number): Promise<void> {
    try {
      const signal = AbortSignal.timeout(timeout);
      const ask = (path: string) => this.request('GET', path, { signal, timeout });
      const reply = await ask('/health/ready').catch((error: unknown) => {
        if (isMissing(error)) return ask('/job/0');
        throw error;
      });
      if (isTemporary(reply)) throw new Error(reasonOf(reply).message ?? `it answers ${reply.status}`);
    } catch (error) {
      throw new ConnectionError(`The master at ${this.url} can't be used`, error);
    }
  }

  /**
   * Returns a reply of the master, or one that means "later" from anyone.
   *
   * @throws errors of the connection, ForeignReplyError, and the signal's reason
   */
  async request(method: Dispatcher.HttpMethod, path: string, request: MasterRequest): Promise<MasterReply> {
    const reply = await this.exchange(method, path, request);
    if (isOwn(reply, request.answer)) {
      this.lastReply = new Date();
      delete this.problem;
      return reply;
    }
    const error = new ForeignReplyError(reply.status);
    // A master of another implementation does not have all paths.
    if (!isMissing(error)) this.problem = error.message;
    if (isTemporary(reply)) return reply;
    throw error;
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.destroy(), this.waiting.destroy()]);
  }

  private async exchange(
    method: Dispatcher.HttpMethod,
    path: string,
    { body, headers, signal, timeout = ANSWER_TIMEOUT_MS, waits = false }: MasterRequest,
  ): Promise<MasterReply> {
    try {
      const {
        status,
        headers: replied,
        body: bytes,
      } = await exchange(waits ? this.waiting : this.pool, {
        method,
        path: this.path + path,
        headers: { ...(body ? this.#withBody : this.#common), ...headers },
        body: body ?? null,
        headersTimeout: timeout,
        bodyTimeout: Math.min(timeout, ANSWER_TIMEOUT_MS),
        maxReplyBytes: MAX_REPLY_BYTES,
        signal,
      });
      const after = new Raw(bytes).isMap ? replied['retry-after'] : undefined;
      return { status, body: bytes, rest: after === undefined ? 0 : restOf(after, Date.now()) };
    } catch (error) {
      if (!signal?.aborted) this.problem = messageOf(error);
      throw error;
    }
  }
}

/** Whether what has answered does not have the path. */
function isMissing(error: unknown): boolean {
  return error instanceof ForeignReplyError && error.status === 404;
}

/** Whether a reply can be a master's: its body is MessagePack, or there is none where the contract allows that. */
function isOwn({ status, body }: MasterReply, answer?: number): boolean {
  const raw = new Raw(body);
  if (body.length > 0) return raw.isMap || raw.isArray;
  return status === 204 || REFUSALS.has(status) || status === answer;
}

/** Whether the same request may succeed soon. */
export function isTemporary({ status }: Pick<MasterReply, 'status'>): boolean {
  return status === 429 || status >= 500;
}

/** The master's code and message of an error. */
export function reasonOf({ body }: MasterReply): { code?: string; message?: string } {
  try {
    const fields = Fields.of(toRaw(body, MAX_ERROR_DEPTH));
    const word = (key: FieldName) => {
      const raw = fields.raw(key);
      return raw && textOf(raw);
    };
    const [code, message] = [word('code'), word('message')];
    return defined({ code, message });
  } catch {
    return {};
  }
}

export function refused(what: string, reply: MasterReply): JqRefusedError {
  const { code, message } = reasonOf(reply);
  return new JqRefusedError(what, reply.status, code, message);
}

function urlOf(master: string): URL {
  const url = URL.canParse(master) ? new URL(master) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username) return url;
  throw new ConfigurationError(
    'Expected `master` to be a URL like http://host:8080, without query, fragment or credentials.',
  );
}
