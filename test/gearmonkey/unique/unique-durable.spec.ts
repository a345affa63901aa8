import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import { RedisStore } from '../../../lib/gearmonkey/redis-store.js';
import { openConnections, type RedisConnections } from '../../../lib/gearmonkey/redis-connections.js';
import { useRedis } from '../../support/use-redis.js';

const TIMEOUT_MS = 1500;
const unique = { key: (input: unknown) => String(input) };

describe('Unique jobs that no replica confirms', () => {
  const server = useRedis();
  let connections: RedisConnections;
  let client: GearMonkeyClient;

  beforeEach(() => {
    connections = openConnections(server.url);
    const { commands, hub } = connections;
    client = new GearMonkeyClient(new RedisStore(commands, hub, { timeout: TIMEOUT_MS, replicas: 1 }));
  });
  afterEach(async () => {
    await client.close();
    connections.close();
  });

  it('reject with the ids of those that the call created, not of those that were there', async () => {
    const fn = server.fn();
    const notDurable = (ids: string[]) => ({ code: 'NOT_DURABLE', ids });
    await expect(client.run(fn, 'a', { unique })).rejects.toMatchObject(notDurable(['1']));
    await expect(client.run(fn, 'a', { unique })).rejects.toMatchObject({
      ...notDurable([]),
      message: expect.stringMatching(/^The job of ".*" with this unique key exists, but /),
    });
    await expect(client.runMany(fn, ['a', 'b', 'a', 'c', 'b'], { unique })).rejects.toMatchObject(
      notDurable(['2', '3']),
    );
    const [both, other] = await Promise.allSettled([
      client.runMany(fn, ['a', 'd'], { unique }),
      client.run(fn, 'd', { unique }),
    ]);
    expect(both).toMatchObject({ reason: notDurable(['4']) });
    expect(other).toMatchObject({ reason: notDurable([]) });
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(4);
  });

  it('are named by a bulk of which only a part was enqueued', async () => {
    const fn = server.fn();
    await server.redis.set(`job:${fn}:1001`, 'text');
    const inputs = Array.from({ length: 4000 }, (_, i) => i % 1500);
    const refused = client.runMany(fn, inputs, { unique });
    await expect(refused).rejects.toMatchObject({ code: 'PARTLY_ENQUEUED' });
    const { ids } = (await refused.catch((error: unknown) => error)) as { ids: string[] };
    expect(new Set(ids).size).toBe(ids.length);
    await expect(server.redis.llen(`queue:${fn}:normal`)).resolves.toBe(ids.length);
  });
});
