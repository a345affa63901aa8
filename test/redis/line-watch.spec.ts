import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createServer, type Server, type Socket } from 'node:net';
import { ConfigurationError, ConnectionError } from '../../lib/index.js';
import { OutageLog } from '../../lib/redis/outage-log.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { requireRights } from '../../lib/redis/rights.js';
import { freePort } from '../support/free-port.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/until.js';

describe('a line', () => {
  let server: RedisServer;
  let connection: RedisConnection;
  let said: string[];
  let admin: Redis;
  const say = (level: string) => (message: string) => void said.push(`${level}: ${message}`);

  const open = (url = server.url) =>
    new RedisConnection(url, 'test', { warn: say('warn'), log: say('log'), debug: say('debug') });

  beforeEach(async () => {
    said = [];
    server = await RedisServer.start();
    admin = new Redis(server.url);
    admin.on('error', () => undefined);
    connection = open();
  });
  afterEach(async () => {
    connection.close();
    admin.disconnect();
    await server.stop();
  });

  it('that a server closes because it is idle is no outage, as often as that happens', async () => {
    await admin.config('SET', 'timeout', '1');
    await connection.reach(5000);
    await eventually(() => expect(said).toHaveLength(2));
    expect(said).toEqual(
      Array(2).fill(expect.stringMatching(/^debug: An idle connection to Redis at .* was/)),
    );
    await connection.reach(5000);
  });

  it('that is idle when the server ends is an outage, with the time at which it was lost', async () => {
    await admin.config('SET', 'timeout', '1');
    await connection.reach(5000);
    await eventually(() => expect(said).toHaveLength(1));
    await admin.config('SET', 'timeout', '0');
    await connection.reach(5000);
    const idle = connection.uptime('');
    await eventually(() => expect(connection.uptime('')).toBeGreaterThan(idle + 1000));
    await server.kill();
    await eventually(() => expect(said).toHaveLength(2));
    expect(said[1]).toMatch(/^warn: Redis at .* is not reachable: .*ECONNREFUSED/);
    await server.restart();
    await eventually(() => expect(said.at(-1)).toMatch(/^log: Redis at .* is back after/));
  });

  it('that is in use when it breaks is an outage', async () => {
    await connection.reach(5000);
    const redis = await connection.ready();
    const waiting = redis.blpop('none', 10).catch((error: unknown) => error);
    const killed = () => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    // For longer than after which a line without such a command is idle.
    await eventually(async () => expect(await admin.client('LIST')).toMatch(/idle=[2-9].*cmd=blpop/));
    await killed();
    await waiting;
    await eventually(() => expect(said[0]).toMatch(/^warn: .* is not reachable/));
  });

  it('for which the server has no room says so, with the remedy', async () => {
    await admin.config('SET', 'maxclients', '1');
    const refused = connection.reach(1500);
    await expect(refused).rejects.toThrow(ConnectionError);
    await expect(refused).rejects.toThrow(/maxclients/);
    await expect(refused).rejects.toThrow(/Raise its `maxclients`/);
    await eventually(() => expect(said[0]).toMatch(/^warn: .*maxclients/));
  });

  describe('of which the first words', () => {
    let other: Server;
    const listen = async (greet: (socket: Socket) => void) => {
      const port = await freePort();
      other = createServer((socket) => {
        socket.on('error', () => undefined);
        greet(socket);
        socket.destroySoon();
      });
      await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
      return open(`redis://127.0.0.1:${port}`);
    };
    afterEach(() => {
      connection.close();
      other.close();
    });

    it.each([
      ['say that there is no room', '-ERR max number of clients reached\r\n'],
      [
        'say that there is none, on a cluster',
        '-ERR max number of clients + cluster connections reached\r\n',
      ],
      ['do not come', ''],
    ])('%s, names maxclients', async (_, words) => {
      connection.close();
      connection = await listen((socket) => void socket.write(words));
      await expect(connection.reach(800)).rejects.toThrow(/maxclients.*Raise its `maxclients`/);
    });
  });

  it.each(['TIME', 'MULTI', 'EVALSHA', 'EVAL'])(
    'to a server without %s is refused, with the remedy',
    async (name) => {
      const poor = await RedisServer.start(['--rename-command', name, '']);
      const asked = open(poor.url);
      try {
        const check = asked.insist((redis) => requireRights(redis, [[name], ['PING']], 'a worker'), 5000);
        await expect(check).rejects.toThrow(ConfigurationError);
        await expect(check).rejects.toThrow(`The server has no command ${name}, which is needed.`);
      } finally {
        asked.close();
        await poor.stop();
      }
    },
  );
});

describe('OutageLog', () => {
  it('tells of an idle line only where it listens to debug', () => {
    const said: string[] = [];
    const log = new OutageLog({ warn: (text) => said.push(text) }, () => 0);
    log.idle();
    log.back('h:1');
    expect(said).toEqual([]);
  });

  it('counts an outage from when the idle line was lost', () => {
    let now = 0;
    const said: string[] = [];
    const log = new OutageLog({ warn: (text) => said.push(text) }, () => now);
    log.idle();
    now = 1500;
    log.lost('h:1', new Error('why'));
    now = 2500;
    log.back('h:1');
    expect(said[1]).toBe('Redis at h:1 is back after 2.5 s.');
  });
});
