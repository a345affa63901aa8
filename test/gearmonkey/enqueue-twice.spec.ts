import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { defineJob } from 'nestjs-gearmonkey';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { RedisStore } from '../../lib/gearmonkey/redis-store.js';
import { openConnections } from '../../lib/gearmonkey/redis-connections.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { LossyProxy } from '../support/lossy-proxy.js';
import { eventually, until } from '../support/until.js';
import { useRedis, useRedisServer } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

describe('An enqueue whose reply is lost', () => {
  const server = useRedis();
  let proxy: LossyProxy;
  let actors: RedisActors;

  beforeEach(async () => {
    proxy = await LossyProxy.start(server.port);
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

  it('rejects with ConnectionError when the connection is closed while the server answers nothing', async () => {
    const { commands, hub, close } = openConnections(server.url);
    const store = new RedisStore(commands, hub, { timeout: 15_000, keysOf });
    const fn = server.fn();
    await store.enqueue(fn, [Buffer.from('1')], { queue: 'normal' });
    await server.redis.client('PAUSE', 60_000, 'WRITE');
    try {
      const enqueued = store.enqueue(fn, [Buffer.from('2')], { queue: 'normal' });
      const refused = expect(enqueued).rejects.toMatchObject({ code: 'CONNECTION' });
      await until(async () => /blocked_clients:[1-9]/.test(await server.redis.info('clients')));
      hub.close();
      commands.close();
      close();
      await refused;
    } finally {
      await server.redis.client('UNPAUSE');
    }
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

describe('A call whose reply is lost before the server refuses writes', () => {
  const server = useRedisServer();
  let proxy: LossyProxy;
  let actors: RedisActors;

  /** Settings with which it does. */
  const FAULTS = {
    'as its memory is full': ['maxmemory', '1'],
    'as it can write no snapshot': ['save', '3600 1'],
  } as const;
  const limited = (fn: string) => defineJob<string, void>(fn, { limit: { concurrency: 1 } });
  /** What is enqueued behind the job 1, and the last id of it. */
  const KINDS: [
    kind: string,
    lastId: string,
    run: (client: GearMonkeyClient, fn: string) => Promise<unknown>,
  ][] = [
    ['a job', '2', (client, fn) => client.run(fn, 'x')],
    ['a delayed job', '2', (client, fn) => client.run(fn, 'x', { delay: '1h' })],
    ['several jobs', '3', (client, fn) => client.runMany(fn, ['x', 'y'])],
    ['a job with a limit', '2', (client, fn) => client.run(limited(fn), 'x')],
    ['a unique job', '2', (client, fn) => client.run(fn, 'x', { unique: { key: 'a' } })],
    ['a job that waits for another', '2', (client, fn) => client.run(fn, 'x', { after: [{ fn, id: '1' }] })],
  ];

  beforeAll(async () => {
    await rm(server.server.directory, { recursive: true });
    await server.redis.bgsave();
    await until(async () => (await server.redis.info('persistence')).includes('rdb_last_bgsave_status:err'));
    proxy = await LossyProxy.start(server.port);
    actors = new RedisActors(proxy.url);
  });
  afterAll(() => {
    actors.close();
    proxy.stop();
  });
  afterEach(() => server.redis.config('SET', 'maxmemory', '0', 'save', ''));

  describe.each(Object.entries(FAULTS))('%s', (_, [setting, refuses]) => {
    it.each(KINDS)('returns the handle of %s', async (_kind, lastId, run) => {
      const [fn, loading] = [server.fn(), server.fn()];
      const client = actors.client();
      await Promise.all([client.run(fn, 'before'), client.run(loading, 'before')]);
      await run(client, loading);
      proxy.lose = 1;
      proxy.having = lastId;
      proxy.meanwhile = () => server.redis.config('SET', setting, refuses);
      expect([await run(client, fn)].flat().at(-1)).toMatchObject({ id: lastId });
      await expect(client.run(fn, 'another')).rejects.toMatchObject({ code: 'REFUSED' });
      await expect(server.redis.get(`uid:${fn}`)).resolves.toBe(lastId);
    });

    it('returns how many jobs were put back', async () => {
      const [fn, loading] = [server.fn(), server.fn()];
      const client = actors.client();
      for (const name of [fn, loading])
        for (const job of await client.runMany(name, ['x', 'y'])) await job.cancel();
      const retry = (name: string) => client.retry(name, { state: 'cancelled' }).done;
      await expect(retry(loading)).resolves.toBe(2);
      // The jobs are read before in two calls, and their number with them.
      Object.assign(proxy, { lose: 1, pass: 2, having: ':2\r\n' });
      proxy.meanwhile = () => server.redis.config('SET', setting, refuses);
      await expect(retry(fn)).resolves.toBe(2);
      await expect(server.redis.lrange(`queue:${fn}:normal`, 0, -1)).resolves.toHaveLength(2);
    });
  });
});
