import { afterEach, describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { SILENCE_MS } from '../../lib/redis/own-settings.js';
import { holdEventLoop } from '../support/hold-event-loop.js';
import { OwnTimers } from '../support/own-timers.js';
import { SlowLine } from '../support/slow-line.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

describe('a connection that waits for a reply', () => {
  const server = useRedis();
  const toClose: RedisConnection[] = [];
  let line: SlowLine | undefined;
  afterEach(async () => {
    for (const connection of toClose.splice(0)) connection.close();
    await line?.stop();
    line = undefined;
  });

  it('stays open while the server delays the reply on purpose, as for BLPOP', async () => {
    const connection = new RedisConnection(server.url, 'blocking');
    const redis = await connection.ready();
    let closed = 0;
    redis.on('close', () => (closed += 1));
    const since = performance.now();
    await expect(redis.blpop(server.fn(), (SILENCE_MS + 1000) / 1000)).resolves.toBeNull();
    expect(performance.now() - since).toBeGreaterThan(SILENCE_MS);
    expect(closed).toBe(0);
    connection.close();
  });

  it('ends when none comes in time', async () => {
    line = await SlowLine.start(server.port);
    const connection = new RedisConnection(line.url, 'commands');
    toClose.push(connection);
    const redis = await connection.ready();
    let trouble: unknown;
    redis.once('close', () => (trouble = connection.trouble));
    line.freezeOpenOnes();
    const asked = redis.ping().catch((error: unknown) => error);
    await until(() => trouble !== undefined);
    expect(String(trouble)).toContain(`no reply for ${SILENCE_MS} ms`);
    await expect(asked).resolves.toBeInstanceOf(Error);
    await expect(connection.insist((again) => again.ping())).resolves.toBe('PONG');
  });

  it('has the time that a slow line needs for all bytes of a text', async () => {
    line = await SlowLine.start(server.port);
    const connection = new RedisConnection(line.url, 'commands');
    toClose.push(connection);
    const redis = await connection.ready();
    const closed = new Promise<void>((resolve) => redis.once('close', resolve));
    line.freezeOpenOnes();
    redis.echo('語'.repeat(30_000)).catch(() => undefined);
    await closed;
    // 90,000 bytes, of 128 in a millisecond.
    expect(String(connection.trouble)).toMatch(/no reply for 220\d ms/);
  });

  it('ends when none comes to a BLPOP in time, whenever that was sent', async () => {
    line = await SlowLine.start(server.port);
    const connection = new RedisConnection(line.url, 'blocking');
    toClose.push(connection);
    const redis = await connection.ready();
    const [fn, closed] = [server.fn(), new Promise<void>((resolve) => redis.once('close', resolve))];
    await server.redis.rpush(fn, 'a');
    await redis.blpop(fn, 2);
    line.freezeOpenOnes();
    const since = performance.now();
    await expect(redis.blpop(fn, 2)).rejects.toThrow();
    await closed;
    expect(performance.now() - since).toBeGreaterThanOrEqual(3000);
    expect(String(connection.trouble)).toMatch(/no reply for 300\d ms/);
  });

  it('stays open for a BLPOP behind a pause that was longer than its wait', async () => {
    const connection = new RedisConnection(server.url, 'blocking');
    toClose.push(connection);
    const redis = await connection.ready();
    const fn = server.fn();
    let closed = 0;
    redis.on('close', () => (closed += 1));
    await server.redis.rpush(fn, 'a');
    await redis.blpop(fn, 3);
    const since = performance.now();
    await until(() => performance.now() - since > 1500);
    await expect(redis.blpop(fn, 2)).resolves.toBeNull();
    expect(closed).toBe(0);
  });

  it('is not looked at any closer once an overdue reply has come', async () => {
    const timers = new OwnTimers();
    const connection = new RedisConnection(server.url, 'blocking');
    toClose.push(connection);
    const redis = await connection.ready();
    const looks = () => timers.runs.filter((place) => place.startsWith('lib/redis/line-watch')).length;
    // In its last half second, unless no round fell into it.
    await until(async () => {
      await server.redis.client('PAUSE', 1200);
      await redis.ping();
      return looks() > 0;
    });
    const before = looks();
    await redis.blpop(server.fn(), 2);
    timers.stop();
    expect(looks() - before).toBeLessThanOrEqual(2);
  });

  it('stays open while this process is busy for longer again and again, and asks each time', async () => {
    const connection = new RedisConnection(server.url, 'commands');
    toClose.push(connection);
    const redis = await connection.ready();
    let closed = 0;
    redis.on('close', () => (closed += 1));
    for (let turn = 0; turn < 6; turn++) {
      redis.ping().catch(() => undefined);
      holdEventLoop(SILENCE_MS + 200);
      await setImmediate();
    }
    expect(closed).toBe(0);
  });

  it('stays open when this process was busy for longer, and the reply has arrived meanwhile', async () => {
    const connection = new RedisConnection(server.url, 'commands');
    const redis = await connection.ready();
    let closed = 0;
    redis.on('close', () => (closed += 1));
    for (let turn = 0; turn < 3; turn++) {
      const asked = redis.ping();
      holdEventLoop(SILENCE_MS + 200);
      await expect(asked).resolves.toBe('PONG');
    }
    expect(closed).toBe(0);
    connection.close();
  });
});
