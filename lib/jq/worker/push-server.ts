import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { serverTlsOptions } from '../../net/tls.js';
import { urlHost } from '../../net/url-host.js';
import { PageGuard } from '../http/page-guard.js';
import { BodyTooLargeError, readBody } from '../http/read-body.js';
import { MESSAGE_PACK } from '../wire/media-type.js';
import { pack, type Packable } from '../message-pack/pack.js';
import type { Verdict } from '../wire/batch.js';
import type { PushRequest } from './inbox.js';
import { Pushes, refusalOf, type OnPush } from './pushes.js';
import type { ListenOptions, SourceSettings } from './source-options.js';

const DEFAULT_HOST = '127.0.0.1';
/** Longer than a master keeps its connections. */
const KEEP_ALIVE_MS = 65_000;
/** A master has `maxPushes` connections at most, and there are few masters. */
const MAX_CONNECTIONS = 4096;
/** For a push to arrive: no master waits longer. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Under any base path. The key tells registrations apart, also those of earlier processes. */
const PATH = /(?:\/([0-9a-f]{24}))?\/worker-job$/;

/** The worker's side of the contract: `POST /worker-job`. */
export class PushServer {
  private readonly server: Server;
  private readonly pushes: Pushes;
  /** Where the master reaches it. */
  private url = '';

  constructor(
    private readonly options: ListenOptions,
    private readonly settings: SourceSettings,
    onPush: OnPush,
    /** Whether a registration of this process has the key. */
    private readonly knows: (key: string) => boolean,
  ) {
    const answer: RequestListener = (request, response) => void this.answer(request, response);
    const limits = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_TIMEOUT_MS };
    this.server = options.tls
      ? createSecureServer({ ...serverTlsOptions(options.tls), ...limits }, answer)
      : createServer(limits, answer);
    this.server.maxConnections = MAX_CONNECTIONS;
    const names = options.url === undefined ? [] : [new URL(options.url).hostname];
    this.pushes = new Pushes(settings, new PageGuard(names, 'Give master and worker a `secret`.'), onPush);
  }

  /** Where the master reaches it. @throws what listening throws */
  async listen(): Promise<string> {
    const { port, host = DEFAULT_HOST, url, tls } = this.options;
    this.server.listen(port, host);
    await once(this.server, 'listening');
    const { port: bound } = this.server.address() as AddressInfo;
    const own = `http${tls ? 's' : ''}://${urlHost(host)}:${bound}`;
    // In the form that the master uses, since it is part of the signature.
    const { origin, pathname } = new URL(url ?? own);
    return (this.url = origin + pathname.replace(/\/+$/, ''));
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const push = new AnsweredPush(response);
    try {
      const match = PATH.exec((request.url ?? '').split('?', 1)[0] ?? '');
      const isProbe = request.method === 'HEAD' && match?.[1] !== undefined;
      if (isProbe) return void response.writeHead(this.knows(match[1] ?? '') ? 204 : 410).end();
      if (request.method !== 'POST' || !match) {
        return replyOne(response, { status: 404, code: 'NO_ROUTE', message: 'POST /worker-job.' });
      }
      this.pushes.checkHead(request.headers);
      const body = await readBody(request, this.settings.maxBodyBytes);
      const [, key] = match;
      const url = key === undefined ? this.url : `${this.url}/${key}`;
      const answer = await this.pushes.answer(request, body, {
        ...{ key, url },
        onGone: (callback) => push.onGone(callback),
        onAnswered: (callback) => push.onAnswered(callback),
      });
      if ('status' in answer) replyOne(response, answer);
      else reply(response, 200, answer);
    } catch (error) {
      if (error instanceof BodyTooLargeError) response.setHeader('connection', 'close');
      if (!response.destroyed) replyOne(response, refusalOf(error));
    } finally {
      push.end();
    }
  }
}

/** A request whose jobs want to know when it is answered. One listener per connection, however many jobs of a batch wait. */
class AnsweredPush implements PushRequest {
  private readonly gone: (() => void)[] = [];
  private readonly answered: ((isThere: boolean) => void)[] = [];

  constructor(private readonly response: ServerResponse) {}

  onGone(callback: () => void): void {
    if (this.gone.push(callback) > 1) return;
    this.response.once('close', () => {
      for (const each of this.gone) each();
    });
  }

  onAnswered(callback: (isThere: boolean) => void): void {
    this.answered.push(callback);
  }

  /** The answer is with the socket, if that is there: once it is sent, handlers may keep this thread. */
  end(): void {
    if (this.answered.length === 0) return;
    const isThere = !this.response.destroyed;
    setImmediate(() => {
      for (const each of this.answered) each(isThere);
    });
  }
}

function replyOne(response: ServerResponse, { status, retry_after: later, ...error }: Verdict): void {
  if (later !== undefined) response.setHeader('retry-after', later);
  if (error.code === undefined) response.writeHead(status).end();
  else reply(response, status, error);
}

function reply(response: ServerResponse, status: number, value: Packable): void {
  const body = pack(value);
  response.writeHead(status, { 'content-type': MESSAGE_PACK, 'content-length': body.length }).end(body);
}
