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
import { MESSAGE_PACK } from '../master/media-type.js';
import { pack, type Packable } from '../message-pack/pack.js';
import type { Verdict } from '../wire/batch.js';
import type { OnGone } from './hand-over.js';
import { Pushes, refusalOf, type OnPush } from './pushes.js';
import type { ListenOptions, SourceSettings } from './source-options.js';

const DEFAULT_HOST = '127.0.0.1';
/** Longer than a master keeps its connections. */
const KEEP_ALIVE_MS = 65_000;
/** Below whatever base; the number tells a process's workers apart. */
const PATH = /(?:\/(\d{1,6}))?\/worker-job$/;

/** The worker's side of the contract: `POST /worker-job`. */
export class PushServer {
  private readonly server: Server;
  private readonly pushes: Pushes;

  constructor(
    private readonly options: ListenOptions,
    private readonly settings: SourceSettings,
    onPush: OnPush,
  ) {
    const answer: RequestListener = (request, response) => void this.answer(request, response);
    this.server = options.tls ? createSecureServer(options.tls, answer) : createServer(answer);
    this.server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.pushes = new Pushes(settings, onPush);
  }

  /** Where the master reaches it. @throws what listening throws */
  async listen(): Promise<string> {
    const { port, host = DEFAULT_HOST, url, tls } = this.options;
    this.server.listen(port, host);
    await once(this.server, 'listening');
    if (url !== undefined) return url.replace(/\/+$/, '');
    const { port: bound } = this.server.address() as AddressInfo;
    return `http${tls ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${bound}`;
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const match = PATH.exec((request.url ?? '').split('?', 1)[0] ?? '');
      if (request.method !== 'POST' || !match) {
        return replyOne(response, { status: 404, code: 'NO_ROUTE', message: 'POST /worker-job.' });
      }
      const body = await bodyOf(request, this.settings.maxBodyBytes);
      if (!body) {
        response.setHeader('connection', 'close');
        const message = `A body has at most ${this.settings.maxBodyBytes} bytes.`;
        return replyOne(response, { status: 400, code: 'TOO_LARGE', message });
      }
      const place = match[1] === undefined ? undefined : Number(match[1]);
      const answer = await this.pushes.answer(request, body, { place, onGone: onGoneOf(response) });
      if ('status' in answer) replyOne(response, answer);
      else reply(response, 200, answer);
    } catch (error) {
      if (!response.destroyed) replyOne(response, refusalOf(error));
    }
  }
}

/** `undefined` for one over the limit. Without the iterator of streams, which costs as much as all else of a push. */
function bodyOf(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length']) > limit) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > limit) resolve(undefined);
        else chunks.push(chunk);
      })
      .once('end', () => resolve(Buffer.concat(chunks, bytes > limit ? 0 : bytes)))
      .once('error', reject)
      .once('close', () => reject(new Error('The push was cut off.')));
  });
}

/** However many jobs of a batch wait, the connection has one listener. */
function onGoneOf(response: ServerResponse): OnGone {
  const callbacks: (() => void)[] = [];
  return (callback) => {
    if (callbacks.push(callback) > 1) return;
    response.once('close', () => {
      for (const each of callbacks) each();
    });
  };
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
