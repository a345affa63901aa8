import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { SlowLine } from '../support/slow-line.js';

describe('A connection whose socket the server has ended', () => {
  const used = useRedis();
  const toClose: { close(): void }[] = [];
  afterEach(() => toClose.splice(0).forEach((connection) => connection.close()));

  it('is not ready before ioredis notices, so that retries let the event loop run', async () => {
    const proxy = await SlowLine.start(used.port);
    const connection = new RedisConnection(proxy.url, 'test');
    toClose.push(connection);
    const client = (await connection.ready()) as Redis;
    const ended = once(client.stream, 'end').then(() => [client.status, connection.isReady]);
    proxy.endAll();
    expect(await ended).toEqual(['ready', false]);
    await expect(connection.insist((redis) => redis.ping())).resolves.toBe('PONG');
    connection.close();
    await proxy.stop();
  });

  it('does not end the process with a second error, which ioredis does not handle', async () => {
    const connection = new RedisConnection(used.url, 'test');
    toClose.push(connection);
    const client = (await connection.ready()) as Redis;
    const { stream } = client;
    stream.emit('error', new Error('the first'));
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.destroy(new Error('the second'));
    await closed;
    await until(() => connection.isReady && client.stream !== stream);
    await expect(client.ping()).resolves.toBe('PONG');
  });
});
