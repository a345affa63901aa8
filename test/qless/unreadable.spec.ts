import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { QlessClient } from '../../lib/qless/index.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { sourceOn } from './source-rig.js';

/** Passes on what is sent, and makes every reply with a job `bad` in it no JSON. */
class Garbler {
  private readonly sockets: Socket[] = [];

  private constructor(private readonly server: Server) {}

  static async start(port: number): Promise<Garbler> {
    const garbler = new Garbler(createServer().listen(0, '127.0.0.1'));
    garbler.server.on('connection', (near) => garbler.join(near, connect(port, '127.0.0.1')));
    await once(garbler.server, 'listening');
    return garbler;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
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
      near.write(Buffer.from(bytes.toString('latin1').replaceAll('"jid":"bad"', '"jid":?bad"'), 'latin1'));
    });
    for (const socket of [near, far]) socket.on('error', () => undefined);
  }
}

describe('a reply that can not be read', () => {
  const server = useRedis();
  let client: QlessClient;
  let garbler: Garbler;
  stopWorkersAfterEach();
  beforeEach(async () => {
    client = new QlessClient({ connection: server.url });
    garbler = await Garbler.start(Number(new URL(server.url).port));
  });
  afterEach(() => {
    garbler.stop();
    client.close();
  });

  it('is reported, its job is filed as failed, and the others of the same claim run', async () => {
    const problems: string[] = [];
    const queue = client.queue('q');
    await queue.putMany(['a', 'bad', 'b', 'c'].map((jid) => ({ klass: 'K', jid })));
    const handled: string[] = [];
    const source = sourceOn({ connection: garbler.url }, { onProblem: (message) => problems.push(message) });
    await runWorker(source, 'K', (_, { id }) => void handled.push(id), { concurrency: 4 });
    await eventually(() => expect(handled).toHaveLength(3));
    await eventually(async () => expect((await client.jobs.get('bad'))?.state).toBe('failed'));
    expect(handled.toSorted()).toEqual(['a', 'b', 'c']);
    await expect(client.jobs.failures()).resolves.toEqual({ 'K:UnreadableJob': 1 });
    expect(problems).toEqual([
      expect.stringContaining('are taken one by one'),
      expect.stringContaining('Job bad is filed as failed'),
    ]);
    await expect(queue.counts()).resolves.toMatchObject({ running: 0, waiting: 0 });
  });
});
