import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import type { RedisOptions } from 'ioredis';
import { RedisServer } from '../support/redis-server.js';
import { useTls } from '../support/tls.js';
import { until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedisServer } from '../support/use-redis.js';

class Echo {
  @Worker('echo')
  echo(input: string): string {
    return input;
  }
}

describe('a Redis that asks clients for certificates', () => {
  const tls = useTls();
  const used = useRedisServer([], () => ({
    tls: { authority: tls.authority, files: tls.files, clients: true },
  }));
  const apps = useApps();
  const start = (options: RedisOptions['tls'] & object) =>
    apps.start({
      imports: [
        GearMonkeyModule.forRoot({
          connection: { host: '127.0.0.1', port: used.server.tlsPort, tls: options },
        }),
      ],
      providers: [Echo],
    });

  it('gets them from all connections of an app, including that of the lease keeper', async () => {
    const { cert, key } = await tls.authority.issue('DNS:some-app');
    const app = await start({ ca: tls.ca, cert, key });
    await expect(app.get(GearMonkeyClient).call('echo', 'hello')).resolves.toBe('hello');
    const roles = ['commands', 'subscriber', 'blocking', 'keeper'];
    await until(async () => {
      const list = String(await used.redis.client('LIST'));
      return roles.every((role) => list.includes(`name=nestjs-gearmonkey:${role} `));
    });
  });

  it('refuses clients without a certificate at once', async () => {
    await expect(start({ ca: tls.ca })).rejects.toThrow(/is not reachable: .*certificate required/);
  });
});

describe('a Redis whose certificate is for another name', () => {
  const tls = useTls();
  const apps = useApps();
  let server: RedisServer;
  beforeAll(async () => {
    const identity = await tls.authority.issue('DNS:redis.other.example');
    server = await RedisServer.start([], { tls: { ...identity, authority: tls.authority } });
  });
  afterAll(() => server.stop());

  const start = (options: RedisOptions['tls'] & object) =>
    apps.start({
      imports: [
        GearMonkeyModule.forRoot({
          connection: { host: '127.0.0.1', port: server.tlsPort, tls: { ca: tls.ca, ...options } },
        }),
      ],
      providers: [Echo],
    });

  it('is refused at once', async () => {
    await expect(start({})).rejects.toThrow(/does not match certificate's altnames/);
  });

  it('is accepted if that name is expected', async () => {
    const app = await start({ servername: 'redis.other.example' });
    await expect(app.get(GearMonkeyClient).call('echo', 'hello')).resolves.toBe('hello');
  });
});
