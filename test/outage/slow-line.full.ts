import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { SlowLine } from '../support/slow-line.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { figure } from './outage-rig.js';
import { onThisMachine } from '../support/machine.js';

const MEGABYTE = 1024 * 1024;

describe('a line of 10 Mbit/s and 30 ms', () => {
  const server = useRedis();
  let line: SlowLine;
  let connection: RedisConnection;
  beforeEach(async () => {
    line = await SlowLine.start(server.port, { bandwidth: 10, latency: 30 });
    connection = new RedisConnection(line.url, 'commands');
  });
  afterEach(async () => {
    connection.close();
    await line.stop();
  });

  const connections = async () =>
    Number(/total_connections_received:(\d+)/.exec(await server.redis.info('stats'))?.[1]);

  it('transfers a command that takes longer than the timeout of a socket, on one connection', async () => {
    const redis = await connection.ready();
    const before = await connections();
    const since = performance.now();
    await redis.set('large', Buffer.alloc(4 * MEGABYTE));
    figure('10 Mbit/s: 4 MiB in one command', performance.now() - since);
    expect(performance.now() - since).toBeGreaterThan(3000);
    await expect(redis.getBuffer('large')).resolves.toHaveLength(4 * MEGABYTE);
    await expect(connections()).resolves.toBe(before);
  });

  it('transfers small commands behind a large one', async () => {
    const redis = await connection.ready();
    const before = await connections();
    const small = redis.ping();
    const large = redis.set('large', Buffer.alloc(3 * MEGABYTE));
    await expect(Promise.all([small, large, redis.ping()])).resolves.toEqual(['PONG', 'OK', 'PONG']);
    await expect(connections()).resolves.toBe(before);
  });

  it('is still detected as dead within seconds', async () => {
    const redis = await connection.ready();
    await redis.ping();
    line.freezeOpenOnes();
    const since = performance.now();
    await expect(redis.ping()).rejects.toThrow();
    figure('10 Mbit/s: a dead line is found', performance.now() - since);
    expect(performance.now() - since).toBeLessThan(onThisMachine(4000));
    await until(() => connection.isReady);
  });
});
