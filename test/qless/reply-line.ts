import { afterEach, beforeEach } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { QlessClient } from '../../lib/qless/index.js';
import { stopWorkersAfterEach } from '../support/run-worker.js';
import { useRedis } from '../support/use-redis.js';

/** A line to a server that forwards requests, and replies as a test says. */
export class ReplyLine {
  /** What becomes of the bytes of a reply. */
  change: (reply: Buffer) => Buffer = (reply) => reply;
  private readonly sockets: Socket[] = [];
  private held: (() => void)[] | undefined;

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    server.on('connection', (near) => this.join(near, connect(port, '127.0.0.1')));
  }

  static async start(port: number): Promise<ReplyLine> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ReplyLine(server, port);
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Keeps replies back until `release`. */
  hold(): void {
    this.held = [];
  }

  release(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const pass of held) pass();
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private join(near: Socket, far: Socket): void {
    this.sockets.push(near, far);
    near.on('data', (bytes) => far.write(bytes)).on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    far.on('data', (bytes) => {
      const pass = () => near.write(this.change(bytes));
      if (this.held) this.held.push(pass);
      else pass();
    });
    for (const socket of [near, far]) socket.on('error', () => undefined);
  }
}

export interface UsedReplyLine {
  /** Straight to the server. */
  readonly client: QlessClient;
  readonly line: ReplyLine;
}

/** For a `describe`: a server, a client of it, and for each test a line to it, for workers. */
export function useReplyLine(): UsedReplyLine {
  const server = useRedis();
  let used: UsedReplyLine | undefined;
  stopWorkersAfterEach();
  beforeEach(async () => {
    const line = await ReplyLine.start(Number(new URL(server.url).port));
    used = { line, client: new QlessClient({ connection: server.url }) };
  });
  afterEach(() => {
    used?.line.stop();
    used?.client.close();
  });

  function current(): UsedReplyLine {
    if (!used) throw new Error('What useReplyLine() gives is there within tests.');
    return used;
  }

  return {
    get client() {
      return current().client;
    },
    get line() {
      return current().line;
    },
  };
}
