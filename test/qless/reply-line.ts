import { afterEach, beforeEach } from '@jest/globals';
import type { Socket } from 'node:net';
import { QlessClient } from '../../lib/qless/index.js';
import { stopWorkersAfterEach } from '../support/run-worker.js';
import { Relay } from '../support/relay.js';
import { useRedis } from '../support/use-redis.js';

/** A line to a server that forwards requests, and replies as a test says. */
export class ReplyLine {
  /** What becomes of the bytes of a reply. */
  change: (reply: Buffer) => Buffer = (reply) => reply;
  private held: (() => void)[] | undefined;

  private constructor(private readonly relay: Relay) {
    relay.join = (near, far) => this.join(near, far);
  }

  static async start(port: number): Promise<ReplyLine> {
    return new ReplyLine(await Relay.to(port));
  }

  get url(): string {
    return this.relay.url;
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
    this.relay.close();
  }

  private join(near: Socket, far: Socket): void {
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => {
      const pass = () => near.write(this.change(bytes));
      if (this.held) this.held.push(pass);
      else pass();
    });
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
