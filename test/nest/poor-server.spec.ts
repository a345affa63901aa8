import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { ConfigurationError, GearMonkeyModule, Worker } from '../../lib/index.js';
import { RedisServer } from '../support/redis-server.js';
import { useApps } from '../support/use-apps.js';

@Injectable()
class Handlers {
  @Worker('work')
  work() {
    return 'done';
  }
}

describe.each(['TIME', 'MULTI', 'EVALSHA', 'BLPOP'])('a worker on a server without %s', (name) => {
  const apps = useApps();
  let server: RedisServer;
  beforeAll(async () => void (server = await RedisServer.start(['--rename-command', name, ''])));
  afterAll(() => server.stop());

  it('does not start, says why, and writes nothing', async () => {
    const forRoot = GearMonkeyModule.forRoot({ connection: server.url });
    const started = apps.start({ imports: [forRoot], providers: [Handlers] });
    await expect(started).rejects.toThrow(ConfigurationError);
    await expect(started).rejects.toMatchObject({ code: 'CONFIGURATION' });
    await expect(started).rejects.toThrow(`The server has no command ${name}, which is needed.`);
    const redis = new Redis(server.url);
    expect(await redis.dbsize()).toBe(0);
    redis.disconnect();
  });
});
