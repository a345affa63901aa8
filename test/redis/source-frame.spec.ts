import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConnectionError } from '../../lib/job/server-errors.js';
import { ChannelHub } from '../../lib/redis/channel-hub.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { SourceFrame } from '../../lib/redis/source-frame.js';
import { freePort } from '../support/free-port.js';
import { gate } from '../support/gate.js';
import { useRedis } from '../support/use-redis.js';

describe('SourceFrame', () => {
  const server = useRedis();
  const connections: RedisConnection[] = [];
  let problems: string[];
  beforeEach(() => void (problems = []));
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.close();
  });

  function frameOn(url: string): SourceFrame {
    const connection = (role: string) => {
      const made = new RedisConnection(url, role);
      connections.push(made);
      return made;
    };
    const hub = new ChannelHub(connection('subscriber'));
    const all = { commands: connection('commands'), hub, blocking: connection('blocking') };
    return new SourceFrame(all, (message) => void problems.push(message));
  }

  it('starts once the server accepts commands, and has the time of its last reply', async () => {
    const frame = frameOn(server.url);
    await frame.open(async ({ subscribed }) => subscribed(Promise.resolve()));
    const { host } = new URL(server.url);
    expect(frame.health()).toEqual({ connected: true, server: host });
    frame.replied();
    expect(frame.health()).toEqual({ connected: true, server: host, lastReplyAt: expect.any(Date) });
  });

  it('fails at once if the server refuses it', async () => {
    const url = new URL('/99999', server.url);
    let started = false;
    const opening = frameOn(`${url}`).open(async () => void (started = true));
    await expect(opening).rejects.toThrow(ConnectionError);
    expect(started).toBe(false);
  });

  it('reports why a server cannot be reached', async () => {
    const server = `127.0.0.1:${await freePort()}`;
    const frame = frameOn(`redis://${server}`);
    await expect(frame.reach(200)).rejects.toThrow('ECONNREFUSED');
    const problem = expect.stringContaining('ECONNREFUSED');
    expect(frame.health()).toEqual({ connected: false, server, problem });
  });

  it('is connected while all of its connections are', async () => {
    const healthWith = async (url: string, isDown: boolean) => {
      const [commands, subscriber] = [new RedisConnection(server.url, 'a'), new RedisConnection(url, 'b')];
      connections.push(commands, subscriber);
      const hub = new ChannelHub(subscriber);
      void hub.listen('news', { message: () => undefined }).catch(() => undefined);
      await commands.ready();
      if (url === server.url) await subscriber.ready();
      return new SourceFrame({ commands, hub, blocking: { isDown } }, () => undefined).health().connected;
    };
    await expect(healthWith(server.url, false)).resolves.toBe(true);
    await expect(healthWith(server.url, true)).resolves.toBe(false);
    await expect(healthWith(`redis://127.0.0.1:${await freePort()}`, false)).resolves.toBe(false);
  });

  it('signs off once, after opening, and not at all if it was not opened', async () => {
    const frame = frameOn(server.url);
    const order: string[] = [];
    const signOff = async (opened: Promise<void>) => {
      await opened;
      order.push('signed off');
    };
    await frame.close(signOff);
    const ready = gate();
    const opening = frame.open(async () => {
      await ready.passed;
      order.push('opened');
    });
    const closing = frame.close(signOff);
    ready.open();
    await Promise.all([opening, closing, frame.close(signOff)]);
    expect(order).toEqual(['opened', 'signed off']);
  });

  it('does not sign off if it never reached its server', async () => {
    const frame = frameOn(`${new URL('/99999', server.url)}`);
    await expect(frame.open(async () => undefined)).rejects.toThrow(ConnectionError);
    let isAsked = false;
    await frame.close(async () => void (isAsked = true));
    expect(isAsked).toBe(false);
    expect(problems).toEqual([]);
  });

  it('reports a sign-off that fails or takes too long', async () => {
    const frame = frameOn(server.url);
    await frame.open(async () => undefined);
    await frame.close(() => Promise.reject(new Error('away')));
    await frame.open(async () => undefined);
    await frame.close(() => new Promise(() => undefined));
    expect(problems).toEqual([
      'The worker could not sign off: away',
      expect.stringContaining('not within 3000 ms'),
    ]);
  });
});
