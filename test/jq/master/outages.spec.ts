import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { listenMaster, type JqMaster } from '../../../lib/jq/master/listen-master.js';
import { RedisServer } from '../../support/redis-server.js';
import { eventually, until } from '../../support/until.js';
import { useRedisServer } from '../../support/use-redis.js';
import { Http } from './http.js';
import { plainWorker, stopPlainWorkersAfterEach } from './plain-worker.js';

const LONG_MS = 60_000;

describe('a master of JQ', () => {
  const used = useRedisServer();
  const closing: (() => unknown)[] = [];
  stopPlainWorkersAfterEach();
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  const start = async (connection: string): Promise<Http & { master: JqMaster }> => {
    const master = await listenMaster({ connection, port: 0 });
    closing.push(() => master.close());
    return Object.assign(new Http(master.url), { master });
  };
  const ready = async (http: Http) => (await http.call('GET', '/health/ready')).status;

  /** Leads where it is told to; what is connected stays so. */
  const line = async (to: () => number): Promise<Server> => {
    const server = createServer((near) => {
      const far = connect(to(), '127.0.0.1');
      near.on('error', () => far.destroy()).on('close', () => far.destroy());
      far.on('error', () => near.destroy()).on('close', () => near.destroy());
      near.pipe(far).pipe(near);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    return server;
  };

  it('follows a failover that leaves its connections open', async () => {
    const next = await RedisServer.start();
    closing.push(() => next.stop());
    let port = used.port;
    const proxy = await line(() => port);
    const http = await start(`redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    await eventually(async () => expect(await ready(http)).toBe(200));
    port = next.port;
    await used.redis.replicaof('127.0.0.1', next.port);
    closing.push(() => used.redis.replicaof('NO', 'ONE'));
    const worker = await plainWorker();
    await eventually(
      async () =>
        expect((await http.post('/worker', { name: 'w', max_jobs: 9, url: worker.url })).status).toBe(201),
      {
        timeout: LONG_MS,
      },
    );
    await eventually(async () =>
      expect((await http.post('/job', { name: 'mail', argument: {} })).status).toBe(201),
    );
    await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0));
    await eventually(async () => expect(await ready(http)).toBe(200));
  });

  it('lets a poll wait on when its connections to Redis break', async () => {
    const http = await start(used.url);
    await eventually(async () => expect(await ready(http)).toBe(200));
    const worker = await http.register();
    const id = await http.enqueue();
    const isAwaited = async () => (await used.redis.hexists(`{jq}:job:${id}`, 'awaited')) === 1;
    const poll = http.call('GET', `/job/${id}/polling?timeout=60`);
    await until(isAwaited);
    await used.redis.hdel(`{jq}:job:${id}`, 'awaited');
    await used.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // It was woken, and has asked again.
    await until(isAwaited);
    await expect(http.pull(worker, 60)).resolves.toMatchObject({ status: 200 });
    const report = { job_id: id, type: 'success', result: null };
    await expect(http.post('/done', report, { worker })).resolves.toMatchObject({ status: 204 });
    await expect(poll).resolves.toMatchObject({ status: 200, body: { status: 'done' } });
  });

  it('is not ready while what it writes to is a replica', async () => {
    const next = await RedisServer.start();
    closing.push(() => next.stop());
    const http = await start(used.url);
    await eventually(async () => expect(await ready(http)).toBe(200));
    await used.redis.replicaof('127.0.0.1', next.port);
    await eventually(async () => expect(await ready(http)).toBe(503));
    await used.redis.replicaof('NO', 'ONE');
    await eventually(async () => expect(await ready(http)).toBe(200), { timeout: LONG_MS });
  });

  it('that Redis denies a channel is not ready, and hands out jobs once it is allowed', async () => {
    await used.redis.acl(
      'SETUSER',
      'jq',
      'on',
      '>secret-of-jq',
      '~*',
      '+@all',
      'resetchannels',
      '&{jq}:ended',
    );
    const http = await start(`redis://jq:secret-of-jq@127.0.0.1:${used.port}`);
    const worker = await plainWorker();
    await eventually(async () =>
      expect((await http.post('/worker', { name: 'w', max_jobs: 9, url: worker.url })).status).toBe(201),
    );
    await http.enqueue();
    expect(await ready(http)).toBe(503);
    expect(worker.pushes).toEqual([]);
    await used.redis.acl('SETUSER', 'jq', 'allchannels');
    await eventually(() => expect(worker.pushes.length).toBeGreaterThan(0), { timeout: LONG_MS });
    expect(await ready(http)).toBe(200);
  });
});
