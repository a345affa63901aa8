import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';

export interface PushedJob {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly argument: { readonly n: number };
}

export interface Received {
  /** As it came: one job, or an array. */
  readonly body: PushedJob | PushedJob[];
  readonly jobs: readonly PushedJob[];
  readonly bytes: Buffer;
  readonly headers: IncomingMessage['headers'];
}

type Answer = (received: Received, response: ServerResponse) => void;

export interface BatchWorker {
  readonly url: string;
  readonly received: Received[];
  /** How many jobs there were in each request, 0 for one job that was no array. */
  readonly sizes: number[];
  /** What it does with pushes from now on. @default every job is taken */
  answer: Answer;
}

const servers = new Set<ReturnType<typeof createServer>>();

/** A worker that was written from the section on batches alone, with nothing but Node and a codec. */
export async function batchWorker(answer: Answer = acceptAll): Promise<BatchWorker> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const bytes = await buffer(request);
    const body = decode(bytes) as Received['body'];
    const push = { body, jobs: [body].flat(), bytes, headers: request.headers };
    received.push(push);
    worker.answer(push, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.add(server);
  const worker: BatchWorker = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    get sizes() {
      return received.map(({ body }) => (Array.isArray(body) ? body.length : 0));
    },
    answer,
  };
  return worker;
}

export function acceptAll(received: Received, response: ServerResponse): void {
  verdicts(() => ({ status: 202 }))(received, response);
}

/** Answers each job with what `judge` says of it. */
export function verdicts(judge: (job: PushedJob) => { status: number; retry_after?: number }): Answer {
  return ({ body }, response) => {
    if (Array.isArray(body)) {
      response.writeHead(200, { 'content-type': 'application/msgpack' }).end(encode(body.map(judge)));
    } else {
      const { status, retry_after: later } = judge(body);
      response.writeHead(status, later === undefined ? {} : { 'retry-after': String(later) }).end();
    }
  };
}

/** For a `describe`: ends its workers after each test. */
export function stopBatchWorkersAfterEach(): void {
  afterEach(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    servers.clear();
  });
}
