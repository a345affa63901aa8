import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { ChannelHub } from '../../lib/redis/channel-hub.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { eventually, until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';

/** A script of another program that keeps the server busy until it is killed. */
const BUSY_LOOP = 'while true do end';

describe('ChannelHub', () => {
  const server = useRedisServer();
  let hub: ChannelHub;
  let warnings: string[];
  let heard: string[];

  beforeEach(async () => {
    [warnings, heard] = [[], []];
    await server.redis.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>s3cret', '+@all', '&good*', '&late*');
    const { port } = server;
    const connection = { host: '127.0.0.1', port, username: 'app', password: 's3cret' };
    hub = new ChannelHub(new RedisConnection(connection, 'subscriber'), {
      warn: (text) => warnings.push(text),
    });
  });
  afterEach(() => hub.close());

  const listen = (name: string) => hub.listen(name, { message: (text) => heard.push(text) });
  const hears = async (name: string) => {
    const text = `${name}: ${heard.length}`;
    await until(async () => {
      await server.redis.publish(name, text);
      return heard.includes(text);
    });
  };
  const cut = () => server.redis.client('KILL', 'TYPE', 'PUBSUB');
  const allow = (...channels: string[]) =>
    server.redis.call('ACL', 'SETUSER', 'app', 'resetchannels', ...channels);
  const refusedAgain = async () => {
    await server.redis.config('RESETSTAT');
    await eventually(async () =>
      expect(await server.redis.info('errorstats')).toContain('errorstat_NOPERM:'),
    );
  };

  it('receives allowed channels after a reconnect even if the ACL denies others', async () => {
    await listen('good');
    await expect(listen('bad')).rejects.toThrow('NOPERM');
    await listen('good2');
    await cut();
    await hears('good');
    await hears('good2');
  });

  it('keeps listeners of channels that are denied and were allowed before, and has them look again once these are allowed', async () => {
    let missed = 0;
    const resync = () => (missed += 1);
    await listen('late');
    await listen('later');
    await hub.listen('good', { message: (text) => heard.push(text), resync });
    await allow('&good*');
    await hears('good');
    await eventually(() => expect(warnings.length).toBeGreaterThan(0));
    expect(warnings).toEqual([expect.stringMatching(/^Redis denies the channels "late", "later", .*NOPERM/)]);
    await eventually(() => expect(missed).toBe(1));
    await refusedAgain();
    expect(missed).toBe(1);
    await allow('&good*', '&late');
    await hears('late');
    await eventually(() => expect(missed).toBe(2));
    await allow('&good*', '&late*');
    await hears('later');
    await eventually(() => expect(missed).toBe(3));
    expect(warnings).toHaveLength(1);
  });

  it('does not ask again for a denied channel without listeners', async () => {
    const stop = await listen('late');
    await listen('good');
    await allow('&good*');
    await eventually(() => expect(warnings).toHaveLength(1));
    stop();
    await expect(listen('late')).rejects.toThrow('NOPERM');
    await allow('&good*', '&late');
    await listen('late');
    await hears('late');
  });

  it('subscribes again to a channel that was denied', async () => {
    await expect(listen('bad')).rejects.toThrow('NOPERM');
    await server.redis.call('ACL', 'SETUSER', 'app', '&bad');
    await cut();
    await listen('bad');
    await hears('bad');
  });

  it('subscribes after a server was busy', async () => {
    await listen('good');
    await server.redis.config('SET', 'busy-reply-threshold', '1');
    const script = server.redis.duplicate();
    const looping = script.eval(BUSY_LOOP, 0).catch(() => undefined);
    await until(isBusy);
    const listening = listen('good3');
    await until(isBusy);
    await server.redis.script('KILL');
    await looping;
    script.disconnect();
    await listening;
    await hears('good3');
  });

  async function isBusy(): Promise<boolean> {
    return server.redis.get('x').then(
      () => false,
      (error: Error) => error.message.startsWith('BUSY'),
    );
  }

  it('shares a subscription, which ends with its last listener', async () => {
    const subscribers = async () => (await server.redis.pubsub('NUMSUB', 'good'))[1];
    const [one, other] = [await listen('good'), await listen('good')];
    await expect(subscribers()).resolves.toBe(1);
    one();
    one();
    await hears('good');
    await expect(subscribers()).resolves.toBe(1);
    other();
    await eventually(async () => expect(await subscribers()).toBe(0));
  });

  it('has its listeners look again after a reconnect', async () => {
    let missed = 0;
    await hub.listen('good', { message: () => undefined, resync: () => (missed += 1) });
    expect(missed).toBe(0);
    await cut();
    await eventually(() => expect(missed).toBe(1));
  });

  it('rejects those who wait for a subscription when it is closed', async () => {
    await server.redis.config('SET', 'maxclients', '1');
    try {
      let failed: unknown;
      listen('good').catch((error: unknown) => (failed = error));
      await until(() => hub.trouble !== undefined);
      hub.close();
      await turn();
      expect(failed).toMatchObject({ code: 'CONNECTION' });
      await expect(listen('good')).rejects.toMatchObject({ code: 'CONNECTION' });
    } finally {
      await server.redis.config('SET', 'maxclients', '10000');
    }
  });

  it('does not show its connection', async () => {
    await listen('good');
    expect(JSON.stringify(hub)).not.toContain('s3cret');
  });
});
