import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { QlessClient } from '../../lib/qless/index.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { sourceOn } from './source-rig.js';

/** Forwards requests; holds replies back while asked to. */
class ReplyHolder {
  private readonly sockets: Socket[] = [];
  private held: (() => void)[] | undefined;

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    server.on('connection', (near) => this.join(near, connect(port, '127.0.0.1')));
  }

  static async start(port: number): Promise<ReplyHolder> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ReplyHolder(server, port);
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

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
      if (this.held) this.held.push(() => near.write(bytes));
      else near.write(bytes);
    });
    for (const socket of [near, far]) socket.on('error', () => undefined);
  }
}

describe('a worker with one slot', () => {
  const server = useRedis();
  let client: QlessClient;
  let holder: ReplyHolder;
  stopWorkersAfterEach();
  beforeEach(async () => {
    client = new QlessClient({ connection: server.url });
    holder = await ReplyHolder.start(Number(new URL(server.url).port));
  });
  afterEach(() => {
    holder.stop();
    client.close();
  });

  it('needs one round trip a job: the outcome and the next claim go together', async () => {
    const gates = new Map(['first', 'a', 'b', 'c'].map((jid) => [jid, gate()]));
    await client.queue('q').putMany([...gates.keys()].map((jid) => ({ klass: 'K', data: {}, jid })));
    const started: string[] = [];
    await runWorker(
      sourceOn({ connection: holder.url }),
      'K',
      async (_, { id }) => {
        started.push(id);
        await gates.get(id)?.passed;
      },
      { concurrency: 1 },
    );
    const stateOf = async (jid: string) => (await client.jobs.get(jid))?.record.state;
    // Until here the server has not seen the scripts, which costs a round trip more.
    gates.get('first')?.open();
    for (const [jid, next] of [
      ['a', 'b'],
      ['b', 'c'],
    ] as const) {
      await eventually(() => expect(started).toContain(jid));
      holder.hold();
      gates.get(jid)?.open();
      await until(async () => (await stateOf(jid)) === 'complete' && (await stateOf(next)) === 'running');
      expect(started).not.toContain(next);
      holder.release();
    }
    gates.get('c')?.open();
    await eventually(async () => expect(await stateOf('c')).toBe('complete'));
  });
});
