import { afterEach, describe, expect, it } from '@jest/globals';
import { openConnections, type RedisConnections } from '../../lib/gearmonkey/redis-connections.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { eventually } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';

const NOTHING_THERE = 'redis://127.0.0.1:1';

describe('The connections of an instance', () => {
  const server = useRedisServer();
  const opened: RedisConnections[] = [];
  afterEach(() => {
    for (const { commands, hub, close } of opened.splice(0)) {
      hub.close();
      commands.close();
      close();
    }
  });

  function open(...args: Parameters<typeof openConnections>): RedisConnections {
    const connections = openConnections(...args);
    opened.push(connections);
    return connections;
  }

  it.each([
    ['one server', NOTHING_THERE, false, 'job:fn:'],
    ['one server with `hashTag`', NOTHING_THERE, true, 'job:{fn}:'],
    ['a cluster with `hashTag`', { nodes: [NOTHING_THERE] }, true, 'job:{fn}:'],
  ])('make the keys of functions on %s', (_, spec, hashTag, jobs) => {
    expect(open(spec, hashTag).keysOf('fn').jobs).toBe(jobs);
  });

  it('have one for a thread that keeps leases', () => {
    expect(open(NOTHING_THERE).keeper?.reveal()).toMatchObject({ options: { host: '127.0.0.1', port: 1 } });
  });

  it('close the one that waits for work', async () => {
    const { blocking, close } = open(NOTHING_THERE);
    close();
    await expect((blocking as RedisConnection).ready()).rejects.toMatchObject({ code: 'CONNECTION' });
  });

  it('renew that of subscriptions when the server is no longer the master', async () => {
    const { commands, hub } = open(server.url);
    const heard: string[] = [];
    let missed = 0;
    await hub.listen('news', { message: (text) => heard.push(text), resync: () => (missed += 1) });
    await server.redis.replicaof('127.0.0.1', 1);
    await (await commands.ready()).set('key', 'value').catch(() => undefined);
    await server.redis.replicaof('NO', 'ONE');
    await eventually(() => expect(missed).toBe(1));
    await server.redis.publish('news', 'again');
    await eventually(() => expect(heard).toEqual(['again']));
  });
});
