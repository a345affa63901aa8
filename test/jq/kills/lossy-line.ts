import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decode } from '@msgpack/msgpack';
import { Random } from '../../chaos/random.mjs';
import type { Event } from './history.js';

interface Job {
  readonly id?: string;
  readonly job_id?: string;
}

/** A reply that its client never got. */
interface Loss {
  readonly route: string;
  /** Jobs that were in the request or its reply. */
  readonly jobs: readonly string[];
}

const CUT_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'content-length']);

/** Which replies are lost: the first of each route, so that each is met, then some by chance. */
export class Losses {
  readonly lost: Loss[] = [];
  private readonly random: Random;
  private readonly met = new Set<string>();

  constructor(
    seed: number,
    /** One reply of so many. */
    private readonly of: number,
  ) {
    this.random = new Random(seed);
  }

  /** Of a request that was answered. */
  isNext(route: string): boolean {
    const isFirst = !this.met.has(route);
    this.met.add(route);
    return isFirst || this.random.int(1, this.of) === 1;
  }

  /** Jobs that may run twice, since a reply that said how they ended was lost. */
  get excused(): ReadonlySet<string> {
    return new Set(this.lost.flatMap(({ jobs }) => jobs));
  }

  get routes(): readonly string[] {
    return [...new Set(this.lost.map(({ route }) => route))].sort();
  }
}

/** Passes requests on, waits until they were answered in full, and then now and then cuts instead of answering. */
export class LossyLine {
  /** Reports that were answered, as they came by. */
  readonly events: Event[] = [];

  private constructor(
    private readonly server: Server,
    private readonly to: () => string,
    private readonly losses: Losses,
  ) {
    server.on('request', (from: IncomingMessage, response: ServerResponse) => void this.pass(from, response));
  }

  static async start(to: () => string, losses: Losses): Promise<LossyLine> {
    const line = new LossyLine(createServer({ keepAliveTimeout: 65_000 }), to, losses);
    await new Promise<void>((resolve) => line.server.listen(0, '127.0.0.1', resolve));
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async pass(from: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await read(from);
      const reply = await this.ask(from, body);
      const [asked, told] = [decoded(body), decoded(reply.body)];
      const route = routeOf(from, Array.isArray(asked));
      this.note(from, asked, reply.status, told);
      if (this.losses.isNext(route)) {
        this.losses.lost.push({ route, jobs: [...jobsOf(asked), ...jobsOf(told)] });
        return void response.socket?.destroy();
      }
      const headers = Object.fromEntries(
        Object.entries(reply.headers).filter(([name]) => !CUT_HEADERS.has(name)),
      );
      response.writeHead(reply.status, {
        ...headers,
        ...(from.method === 'HEAD' ? {} : { 'content-length': reply.body.length }),
      });
      response.end(reply.body);
    } catch {
      response.socket?.destroy();
    }
  }

  private ask(
    from: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> {
    const headers = Object.fromEntries(
      Object.entries(from.headers).filter(([name]) => !CUT_HEADERS.has(name)),
    );
    return new Promise((resolve, reject) => {
      const passed = request(
        new URL(from.url ?? '', this.to()),
        { method: from.method, headers: { ...headers, 'content-length': body.length }, agent: false },
        (reply) =>
          void read(reply).then(
            (bytes) => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: bytes }),
            reject,
          ),
      );
      passed.on('error', reject);
      // A client that disconnects during a poll disconnects from the master too.
      const leave = () => passed.destroy();
      from.socket.once('close', leave);
      passed.once('close', () => from.socket.off('close', leave));
      passed.end(body);
    });
  }

  private note(
    { method, url, headers }: IncomingMessage,
    asked: unknown,
    status: number,
    told: unknown,
  ): void {
    if (method !== 'POST' || url !== '/done') return;
    const worker = String(headers['worker-id']);
    const statuses =
      Array.isArray(asked) && Array.isArray(told)
        ? (told as { status: number }[]).map((each) => each.status)
        : [status];
    [asked].flat().forEach((report, i) => {
      const {
        job_id: job = '',
        attempt = 0,
        result,
      } = report as { job_id?: string; attempt?: number; result?: unknown };
      if (typeof result !== 'string') return;
      this.events.push({
        type: 'reported',
        job,
        attempt,
        worker,
        nonce: result,
        status: statuses[i] ?? status,
      });
    });
  }
}

/** What differs from one request to the next has no name. A batch is a route of its own. */
function routeOf({ method = '', url = '' }: IncomingMessage, isBatch: boolean): string {
  const path = (url.split('?', 1)[0] ?? '')
    .replace(/^\/[0-9a-f]{24}\//, '/')
    .replace(/\/[0-9a-f]{12}(-[0-9a-f]{8})?(?=\/|$)/g, '/{id}')
    .replace(/\/[0-9a-f]{16}(?=\/|$)/g, '/{worker}');
  return `${method} ${path}${isBatch ? ' batch' : ''}`;
}

function jobsOf(message: unknown): string[] {
  return [message].flat().flatMap((each) => {
    const { id, job_id: jobId } = (typeof each === 'object' && each !== null ? each : {}) as Job;
    return [id, jobId].filter((known) => known !== undefined);
  });
}

function decoded(body: Buffer): unknown {
  try {
    return decode(body);
  } catch {
    return undefined;
  }
}

async function read(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
