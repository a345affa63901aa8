import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { ConnectionError } from '../../lib/job/server-errors.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { freePort } from '../support/free-port.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

describe('RedisConnection', () => {
  const server = useRedis();
  const opened: RedisConnection[] = [];
  afterEach(() => opened.splice(0).forEach((connection) => connection.close()));

  function open(url: string, said: string[] = []): RedisConnection {
    const connection = new RedisConnection(url, 'test', { warn: (line) => said.push(line) });
    opened.push(connection);
    return connection;
  }

  it('rejects those who wait for it when it is closed between two attempts to connect', async () => {
    const connection = open(`redis://127.0.0.1:${await freePort()}`);
    let failed: unknown;
    connection.ready().catch((error: unknown) => (failed = error));
    await until(() => connection.trouble !== undefined);
    connection.close();
    await turn();
    expect(failed).toBeInstanceOf(ConnectionError);
  });

  it('rejects at once those who do not wait for another configuration', async () => {
    const connection = open(`${new URL('/99999', server.url)}`);
    let failed: unknown;
    let isReady = false;
    connection.ready().then(
      () => (isReady = true),
      () => undefined,
    );
    connection.ready(Infinity, { patient: false }).catch((error: unknown) => (failed = error));
    await eventually(() => expect(failed).toBeInstanceOf(ConnectionError));
    // Those who know it from before need not wait for another attempt.
    await expect(connection.ready(Infinity, { patient: false })).rejects.toThrow(ConnectionError);
    expect(isReady).toBe(false);
  });

  it('never continues in database 0 if its own does not exist', async () => {
    const said: string[] = [];
    const connection = open(`${new URL('/99999', server.url)}`, said);
    const ready = jest.fn();
    connection.onReady(ready);
    // The first attempt ends with one of the two.
    await until(() => ready.mock.calls.length > 0 || said.length > 0);
    expect(ready).not.toHaveBeenCalled();
    expect(said).toEqual([expect.stringContaining('DB index is out of range')]);
  });

  it('logs no outage when it is closed', async () => {
    const said: string[] = [];
    const connection = open(server.url, said);
    const client = await connection.ready();
    const closed = once(client, 'close');
    connection.close();
    await closed;
    await turn();
    expect(said).toEqual([]);
  });

  it('says how long it has been up, and nothing of it while it is down', async () => {
    const connection = open(server.url);
    expect(connection.uptime('key')).toBe(0);
    const began = performance.now();
    const client = await connection.ready();
    await until(() => performance.now() > began + 20);
    expect(connection.uptime('key')).toBeGreaterThan(0);
    expect(connection.uptime('key')).toBeLessThanOrEqual(performance.now() - began);
    const again = once(client, 'ready');
    connection.renew();
    expect(connection.uptime('key')).toBe(0);
    const left = performance.now();
    await again;
    expect(connection.uptime('key')).toBeLessThanOrEqual(performance.now() - left);
  });
});
