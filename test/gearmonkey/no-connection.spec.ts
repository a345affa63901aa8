import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { ConfigurationError } from '../../lib/job/errors.js';
import { ConnectionError, EnqueueTimeoutError } from '../../lib/job/server-errors.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';
import { RedisActors } from './redis-rig.js';

const DEADLINE_MS = 250;

describe('GearMonkeyClient without a server', () => {
  let actors: RedisActors;
  let client: GearMonkeyClient;

  beforeEach(async () => {
    actors = new RedisActors(`redis://:secret@127.0.0.1:${await freePort()}`);
    client = actors.client({}, DEADLINE_MS);
  });
  afterEach(() => actors.close());

  const methods: [string, () => Promise<unknown>][] = [
    ['run', () => client.run('fn', 'x')],
    ['runMany', () => client.runMany('fn', ['x'])],
    ['call', () => client.call('fn', 'x')],
    ['run, blocking', () => client.run('fn', 'x', { blocking: true })],
  ];
  it.each(methods)('rejects %s with EnqueueTimeoutError at its deadline', async (_, method) => {
    const start = performance.now();
    const running = method();
    await expect(running).rejects.toThrow(EnqueueTimeoutError);
    expect(performance.now() - start).toBeGreaterThan(DEADLINE_MS - 20);
    await expect(running).rejects.toThrow(`within ${DEADLINE_MS} ms`);
    await expect(running).rejects.toThrow('Check that it is up and reachable');
    await expect(running).rejects.not.toThrow('secret');
  });

  it('rejects get and rollCall with a ConnectionError that has the system error', async () => {
    await expect(client.get('fn', 1)).rejects.toThrow(ConnectionError);
    await expect(client.get('fn', 1)).rejects.toThrow('ECONNREFUSED');
    await expect(client.rollCall('fn')).rejects.toThrow(ConnectionError);
  });

  it('rejects result at its timeout', async () => {
    await expect(client.result('fn', 1, { timeout: 200 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' });
  });

  it('rejects at once after close', async () => {
    const used = client.run('fn', 'x').catch(() => undefined);
    const watched = lastValueFrom(client.watch('fn', 1).pipe(toArray()));
    await client.close();
    await used;
    await expect(client.run('fn', 'x')).rejects.toThrow('The connection is closed');
    await expect(client.call('fn', 'x')).rejects.toThrow('The connection is closed');
    await expect(client.get('fn', 1)).rejects.toThrow(ConnectionError);
    await expect(client.result('fn', 1)).rejects.toThrow(ConnectionError);
    await expect(lastValueFrom(client.events('fn').pipe(toArray()))).resolves.toEqual([]);
    await expect(watched).resolves.toEqual([]);
  });
});

describe('RedisConnection', () => {
  it.each([
    'secret',
    'redis:secret',
    'redis//:secret@127.0.0.1',
    'redis://:secret@127.0.0.1:port',
    'redis://:secret@127.0.0.1:99999',
    'http://:secret@127.0.0.1',
    '',
  ])('refuses the URL %p without repeating it', (url) => {
    const making = () => new RedisConnection(url, 'commands');
    expect(making).toThrow(ConfigurationError);
    expect(making).toThrow("`connection` is not a URL like 'redis://127.0.0.1:6379'");
    expect(making).not.toThrow('secret');
  });

  it('opens nothing before it is used', () => {
    const connection = new RedisConnection('redis://127.0.0.1:1', 'commands');
    expect(connection.isReady).toBe(false);
    connection.close();
  });

  it('rejects waiting callers when it is closed', async () => {
    const connection = new RedisConnection(`redis://127.0.0.1:${await freePort()}`, 'commands');
    const waiting = connection.ready().catch((error: unknown) => error);
    connection.close();
    await expect(waiting).resolves.toBeInstanceOf(ConnectionError);
    await expect(connection.ready()).rejects.toThrow('The connection is closed');
  });

  it('rejects at its deadline', async () => {
    const connection = new RedisConnection(`redis://127.0.0.1:${await freePort()}`, 'commands');
    await expect(connection.ready(100)).rejects.toThrow(/Redis at 127.0.0.1:\d+ is not reachable/);
    await until(() => !connection.isReady);
    connection.close();
  });
});
