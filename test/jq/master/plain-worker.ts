import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from '@jest/globals';
import { decode } from '@msgpack/msgpack';

export interface Push {
  readonly id: string;
  readonly job_id: string;
  readonly name: string;
  readonly argument: unknown;
  readonly timeout: number;
  readonly attempt: number;
  readonly bytes: Buffer;
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
}

type Answer = (push: Push, response: ServerResponse) => void;

export interface PlainWorker {
  readonly url: string;
  readonly pushes: Push[];
  /** What it does with pushes from now on. @default 202 */
  answer: Answer;
  /** What it does with a master that asks whether it is there. @default 405 */
  probed: (response: ServerResponse) => void;
  close(): Promise<void>;
}

const living = new Set<PlainWorker>();

/** A worker's side of the contract with nothing but Node. */
export async function plainWorker(answer: Answer = accept): Promise<PlainWorker> {
  const pushes: Push[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'HEAD') return worker.probed(response);
      const bytes = Buffer.concat(chunks);
      const body = decode(bytes) as Omit<Push, 'bytes' | 'headers' | 'path'>;
      const push = { ...body, bytes, headers: request.headers, path: request.url ?? '' };
      pushes.push(push);
      worker.answer(push, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const worker: PlainWorker = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pushes,
    answer,
    probed: (response) => void response.writeHead(405).end(),
    close: async () => {
      living.delete(worker);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  living.add(worker);
  return worker;
}

export function accept(_: Push, response: ServerResponse): void {
  response.writeHead(202).end();
}

export function status(code: number, headers: Record<string, string> = {}): Answer {
  return (_, response) => void response.writeHead(code, headers).end();
}

/** For a `describe`: ends its workers after each test. */
export function stopPlainWorkersAfterEach(): void {
  afterEach(async () => {
    await Promise.all([...living].map((worker) => worker.close()));
  });
}
