/** @isolated All timers are fake. */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { SlowLine } from '../support/slow-line.js';
import { useRedis } from '../support/use-redis.js';

const HOUR_MS = 3_600_000;

/** As in a test of an app that has faked timers, whose connections are real. */
describe('Under fake timers a connection', () => {
  const server = useRedis();
  const toClose: { close(): unknown }[] = [];
  afterEach(async () => {
    jest.useRealTimers();
    for (const each of toClose.splice(0)) await each.close();
  });

  async function connect(url: string) {
    const connection = new RedisConnection(url, 'blocking');
    toClose.push(connection);
    const redis = await connection.ready();
    const lost = new Promise<string>((resolve) =>
      redis.once('close', () => resolve(String(connection.trouble))),
    );
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    return { redis, lost };
  }

  it('stays open when their clock is moved while it waits', async () => {
    const { redis, lost } = await connect(server.url);
    const waited = redis.blpop(server.fn(), 4);
    jest.advanceTimersByTime(HOUR_MS);
    await expect(Promise.race([waited, lost])).resolves.toBeNull();
  });

  it('ends when no reply comes, though their clock stands still', async () => {
    const line = await SlowLine.start(server.port);
    toClose.push({ close: () => line.stop() });
    const { redis, lost } = await connect(line.url);
    line.freezeOpenOnes();
    redis.ping().catch(() => undefined);
    await expect(lost).resolves.toMatch(/no reply for 150\d ms/);
  });
});
