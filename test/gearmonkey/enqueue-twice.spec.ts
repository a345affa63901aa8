import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

/** Passes everything on, but cuts the connections in place of replies to a chosen number of enqueue calls. */
class LossyProxy {
  lose = 0;
  lost = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    server.on('connection', (near) => this.join(near, connect(port, '127.0.0.1')));
  }

  static async start(port: number): Promise<LossyProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LossyProxy(server, port);
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private join(near: Socket, far: Socket): void {
    let enqueues = false;
    near.on('data', (bytes) => {
      enqueues ||= bytes.includes('EVAL');
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      // A script that is not known yet did nothing.
      if (!enqueues || this.lose === 0 || bytes.includes('NOSCRIPT')) return near.write(bytes);
      this.lose -= 1;
      this.lost += 1;
      return near.destroy();
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
  }
}

describe('An enqueue whose reply is lost', () => {
  const server = useRedis();
  let proxy: LossyProxy;
  let actors: RedisActors;

  beforeEach(async () => {
    proxy = await LossyProxy.start(server.server.port);
    actors = new RedisActors(proxy.url);
  });
  afterEach(() => {
    actors.close();
    proxy.stop();
  });

  it.each([1, 3])('%i times is sent again, and creates its job once', async (times) => {
    const fn = server.fn();
    const client = actors.client();
    await expect(client.run(fn, 'before')).resolves.toMatchObject({ id: '1' });
    proxy.lose = times;
    await expect(client.run(fn, 'x')).resolves.toMatchObject({ id: '2' });
    expect(proxy.lost).toBe(times);
    await expect(client.run(fn, 'after')).resolves.toMatchObject({ id: '3' });
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['3', '2', '1']);
  });

  it('creates each of many jobs once', async () => {
    const fn = server.fn();
    const client = actors.client();
    await client.run(fn, 0);
    proxy.lose = 2;
    const inputs = Array.from({ length: 2500 }, (_, index) => index);
    const jobs = await client.runMany(fn, inputs);
    expect(proxy.lost).toBe(2);
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(2500);
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(2501);
    const stored = await Promise.all([jobs[0], jobs[1234], jobs[2499]].map((job) => job?.get()));
    expect(stored.map((job) => job?.input)).toEqual([0, 1234, 2499]);
  });

  it.each([1, 3])('%i times says of each unique job what the first reply said', async (times) => {
    const fn = server.fn();
    const client = actors.client();
    await client.run(fn, 'there', { unique: { key: 'a' } });
    proxy.lose = times;
    const inputs = ['a', 'b', 'c', 'b'];
    const jobs = await client.runMany(fn, inputs, { unique: { key: (input) => String(input) } });
    expect(proxy.lost).toBe(times);
    expect(jobs.map(({ id, created }) => [id, created])).toEqual([
      ['1', false],
      ['2', true],
      ['3', true],
      ['2', false],
    ]);
    await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toEqual(['3', '2', '1']);
  });

  it('rejects with ConnectionError when its client is closed meanwhile', async () => {
    const fn = server.fn();
    const client = actors.client();
    await client.run(fn, 'before');
    proxy.lose = Infinity;
    const inputs = Array<string>(2500).fill('x');
    const running = [client.run(fn, 'x'), client.call(fn, 'x'), client.runMany(fn, inputs)];
    await eventually(() => expect(proxy.lost).toBeGreaterThan(0));
    await client.close();
    const outcomes = await Promise.allSettled(running);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: { code: 'CONNECTION' } });
  });

  it('creates nothing if it arrives late, after its deadline and a later call', async () => {
    const fn = server.fn();
    const client = actors.client({}, 3000);
    await client.run(fn, 'before');
    proxy.lose = Infinity;
    await expect(client.run(fn, 'given up')).rejects.toMatchObject({ code: 'ENQUEUE_TIMEOUT' });
    proxy.lose = 0;
    const count = await server.redis.llen(`queue:${fn}:normal`);
    expect(count).toBeLessThanOrEqual(2);
    await expect(client.run(fn, 'after')).resolves.toMatchObject({ id: String(count + 1) });
  });
});
