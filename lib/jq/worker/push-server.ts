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
import { GearMonkeyError } from '../../job/errors.js';
import { formatOfBody, MESSAGE_PACK, UnsupportedMediaTypeError } from '../master/media-type.js';
import { pack } from '../message-pack/pack.js';
import { toRaw } from '../message-pack/unpack.js';
import { Fields } from '../wire/fields.js';
import { SIGNATURE_HEADER, verify } from '../wire/signature.js';
import { readWorkerJob, type WorkerJob } from '../wire/worker-job.js';
import type { OnGone } from './hand-over.js';
import { Recent } from './recent.js';
import type { ListenOptions, SourceSettings } from './source-options.js';

/** What a push is answered with. */
export type PushStatus = 202 | 404 | 429 | 503;

/** Takes a job, or not; `place` is the number in the path, if there is one. */
export type OnPush = (job: WorkerJob, place: number | undefined, onGone: OnGone) => Promise<PushStatus>;

const DEFAULT_HOST = '127.0.0.1';
/** Longer than a master keeps its connections. */
const KEEP_ALIVE_MS = 65_000;
/** Deeper than a master takes by default. */
const MAX_DEPTH = 1000;
const RETRY_AFTER_SECONDS = '1';
/** Below whatever base; the number tells a process's workers apart. */
const PATH = /(?:\/(\d{1,6}))?\/worker-job$/;

const WORDS: Readonly<Record<Exclude<PushStatus, 202>, readonly [code: string, message: string]>> = {
  404: ['UNKNOWN_NAME', 'No handler here is for jobs of this name.'],
  429: ['FULL', 'As many jobs run here as may.'],
  503: ['NOT_NOW', 'Nobody takes jobs here now.'],
};

/** The worker's side of the contract: `POST /worker-job`. */
export class PushServer {
  private readonly server: Server;
  private readonly taken: Recent;

  constructor(
    private readonly options: ListenOptions,
    private readonly settings: SourceSettings,
    private readonly onPush: OnPush,
  ) {
    const answer: RequestListener = (request, response) => void this.answer(request, response);
    this.server = options.tls ? createSecureServer(options.tls, answer) : createServer(answer);
    this.server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.taken = new Recent(2 * settings.signatureWindow);
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
      if (request.method !== 'POST' || !match) return reply(response, 404, 'NO_ROUTE', 'POST /worker-job.');
      const body = await bodyOf(request, this.settings.maxBodyBytes);
      if (!body) {
        response.setHeader('connection', 'close');
        return reply(response, 400, 'TOO_LARGE', `A body has at most ${this.settings.maxBodyBytes} bytes.`);
      }
      await this.answerBody(request, response, body, match[1]);
    } catch (error) {
      if (response.destroyed) return;
      if (error instanceof UnsupportedMediaTypeError) return reply(response, 415, error.code, error.message);
      if (error instanceof GearMonkeyError) return reply(response, 400, error.code, error.message);
      reply(response, 500, 'INTERNAL', 'The worker failed.');
    }
  }

  private async answerBody(
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
    place: string | undefined,
  ): Promise<void> {
    const { secrets, signatureWindow: window } = this.settings;
    const now = Date.now();
    if (secrets.length > 0 && !verify(body, request.headers, { secrets, window, now })) {
      return reply(response, 401, 'BAD_SIGNATURE', 'The push is not signed with our secret, or too old.');
    }
    if (formatOfBody(request) !== 'msgpack') throw new UnsupportedMediaTypeError();
    const signature = secrets.length > 0 ? String(request.headers[SIGNATURE_HEADER]) : undefined;
    const again = signature !== undefined && this.taken.has(signature, now);
    const status = again
      ? 202
      : await this.push(readWorkerJob(Fields.of(toRaw(body, MAX_DEPTH))), place, response);
    if (status !== 202) return reply(response, status, ...WORDS[status]);
    if (signature !== undefined) this.taken.add(signature, now);
    response.writeHead(202).end();
  }

  private push(job: WorkerJob, place: string | undefined, response: ServerResponse): Promise<PushStatus> {
    const onGone: OnGone = (callback) => void response.once('close', callback);
    return this.onPush(job, place === undefined ? undefined : Number(place), onGone);
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

function reply(response: ServerResponse, status: number, code: string, message: string): void {
  const body = pack({ code, message });
  const later = status === 429 || status === 503 ? { 'retry-after': RETRY_AFTER_SECONDS } : {};
  response
    .writeHead(status, { 'content-type': MESSAGE_PACK, 'content-length': body.length, ...later })
    .end(body);
}
