import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, Logger, type LoggerService } from '@nestjs/common';
import { inspect } from 'node:util';
import {
  ConnectionError,
  EnqueueTimeoutError,
  GearMonkeyClient,
  GearMonkeyHealth,
  GearMonkeyModule,
  RefusedError,
  Worker,
  type ConnectionSpec,
} from '../../lib/index.js';
import { openConnections } from '../../lib/gearmonkey/redis-connections.js';
import { JqEngine } from '../../lib/jq/engine/engine.js';
import { QlessClient, qless } from '../../lib/qless/index.js';
import { OutageLog } from '../../lib/redis/outage-log.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { freePort } from '../support/free-port.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedisServer } from '../support/use-redis.js';
import { onThisMachine } from '../support/machine.js';

const SECRET = 's3cret-password';
const server = useRedisServer();
const apps = useApps();
beforeAll(() => server.redis.config('SET', 'requirepass', 'right'));

@Injectable()
class Handlers {
  @Worker('work')
  work() {
    return 'done';
  }
}

const everything = { depth: 12, showHidden: true } as const;

function metadata(connection: ConnectionSpec, works: boolean) {
  const enqueueTimeout = connection.toString().startsWith('rediss:') ? 2500 : 1000;
  const forRoot = GearMonkeyModule.forRoot(
    connection === 'memory:' ? { connection } : { connection, enqueueTimeout },
  );
  return { imports: [forRoot], providers: works ? [Handlers] : [] };
}

function start(connection: ConnectionSpec, { works = false } = {}) {
  return apps.start(metadata(connection, works));
}

/** What Nest's logger is told by this package. */
function listenToLog(): string[] {
  const said: string[] = [];
  const say =
    (level: string) =>
    (message: unknown, ...rest: unknown[]) => {
      if (rest.at(-1) === 'GearMonkey') said.push(`${level}: ${String(message)}`);
    };
  Logger.overrideLogger({ log: say('log'), warn: say('warn'), error: say('error') } as LoggerService);
  return said;
}
afterEach(() => Logger.overrideLogger(false));

describe('an enqueue that times out', () => {
  const reasons: [string, () => ConnectionSpec | Promise<ConnectionSpec>, RegExp][] = [
    ['a wrong password', () => server.url.replace('//', `//:${SECRET}@`), /WRONGPASS/],
    ['no password', () => server.url, /NOAUTH/],
    ['a server that is not there', async () => `redis://127.0.0.1:${await freePort()}`, /ECONNREFUSED/],
    ['a name that does not resolve', () => 'redis://unknown.invalid', /ENOTFOUND|EAI_AGAIN/],
    [
      'TLS where there is none',
      () => server.url.replace('redis:', 'rediss:'),
      /the server closed|ETIMEDOUT|ECONNRESET|SSL|wrong version/i,
    ],
    [
      'a database that is not there',
      () => `${server.url.replace('//', '//:right@')}/99`,
      /DB index is out of range/,
    ],
  ];
  it.each(reasons)('has the reason in its error: %s', async (_, connection, reason) => {
    const app = await start(await connection());
    const said = listenToLog();
    const error: unknown = await app
      .get(GearMonkeyClient)
      .run('work', 'x')
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EnqueueTimeoutError);
    expect(String(error)).toMatch(reason);
    expect(inspect(error, everything)).not.toContain(SECRET);
    expect(said).toEqual([expect.stringMatching(reason)]);
    expect(said[0]).toMatch(/^warn: Redis at [\w.]+:\d+ is not reachable/);
    expect(said[0]).not.toContain(SECRET);
  });

  it('writes nothing to database 0 if its database does not exist', async () => {
    const app = await start(`${server.url.replace('//', '//:right@')}/99`);
    await expect(app.get(GearMonkeyClient).run('elsewhere', 'x')).rejects.toThrow('DB index is out of range');
    await expect(server.redis.keys('*elsewhere*')).resolves.toEqual([]);
  });
});

describe('a worker that starts', () => {
  const hopeless: [string, () => string, RegExp][] = [
    ['a wrong password', () => server.url.replace('//', `//:${SECRET}@`), /WRONGPASS/],
    ['a database that is not there', () => `${server.url.replace('//', '//:right@')}/99`, /DB index/],
  ];
  it.each(hopeless)('fails at once for %s and names the address', async (_, url, reason) => {
    const since = performance.now();
    const failed = start(url(), { works: true });
    await expect(failed).rejects.toThrow(ConnectionError);
    await expect(failed).rejects.toThrow(reason);
    await expect(failed).rejects.toThrow(/Redis at 127.0.0.1:\d+ is not reachable/);
    expect(performance.now() - since).toBeLessThan(onThisMachine(8000));
    expect(inspect(await failed.catch((error: unknown) => error), everything)).not.toContain(SECRET);
  });

  it('logs one line with class, code and remedy before it rejects', async () => {
    const app = await apps.create(metadata(server.url.replace('//', `//:${SECRET}@`), true));
    const said = listenToLog();
    const failed = app.init();
    await expect(failed).rejects.toThrow(ConnectionError);
    const errors = said.filter((line) => line.startsWith('error'));
    expect(errors).toEqual([
      expect.stringMatching(
        /^error: The app does not start: ConnectionError \(CONNECTION\): .*password of `connection`\.$/,
      ),
    ]);
    expect(errors.join()).not.toContain(SECRET);
  });

  it('waits for a server that comes up, and logs that it is not reachable', async () => {
    const late = await RedisServer.start();
    await late.kill();
    const app = await apps.create(metadata(late.url, true));
    const said = listenToLog();
    const starting = app.init();
    await eventually(() => expect(said.length).toBeGreaterThan(0));
    expect(said).toEqual([expect.stringMatching(/^warn: Redis at .* is not reachable: .*ECONNREFUSED/)]);
    await late.restart();
    await starting;
    await eventually(() => expect(said.length).toBeGreaterThan(2));
    expect(said[1]).toMatch(/^log: Redis at .* is back after \d+\.\d s\.$/);
    expect(said[2]).toMatch(/^log: "default" at .* runs work \(1 at a time\)$/);
    await app.close();
    await late.stop();
    // On a busy machine there is time to look for classes that no module has: those of other tests.
    expect(said.filter((line) => !line.includes('are not called'))).toHaveLength(3);
  });
});

describe('GearMonkeyHealth.ping', () => {
  it('reports an app as healthy that has enqueued nothing yet', async () => {
    const app = await start(server.url.replace('//', '//:right@'));
    await expect(app.get(GearMonkeyHealth).ping('10s')).resolves.toEqual([
      { name: 'default', connected: true, server: new URL(server.url).host },
    ]);
  });

  it('reports why an app is not healthy', async () => {
    const app = await start(server.url.replace('//', `//:${SECRET}@`));
    await expect(app.get(GearMonkeyHealth).ping()).resolves.toEqual([
      {
        name: 'default',
        connected: false,
        server: new URL(server.url).host,
        problem: expect.stringContaining('WRONGPASS'),
      },
    ]);
  });

  it('reports an app on memory: as healthy', async () => {
    const app = await start('memory:');
    await expect(app.get(GearMonkeyHealth).ping()).resolves.toEqual([
      { name: 'default', connected: true, server: 'memory:' },
    ]);
  });
});

describe('objects that hold a connection', () => {
  it('show no password, before and after use', async () => {
    const url = server.url.replace('//', `//:${SECRET}@`);
    const { commands, hub, blocking, keeper } = openConnections(url);
    for (const unused of [commands, hub, blocking, keeper]) {
      expect(`${JSON.stringify(unused)} ${inspect(unused, everything)}`).not.toContain(SECRET);
    }
    await expect(commands.ready(5000, { patient: false })).rejects.toThrow(
      /WRONGPASS .* disabled\. Check the user and the password of `connection`\.$/,
    );
    expect(`${JSON.stringify(commands)} ${inspect(commands, { depth: 12 })}`).not.toContain(SECRET);
    for (const connection of [commands, hub, blocking as RedisConnection]) connection.close();
  });

  it('show no password in qless and JQ either', () => {
    const connection = server.url.replace('//', `//:${SECRET}@`);
    const client = new QlessClient({ connection });
    const source = qless({ connection, queues: ['q'] });
    const engine = new JqEngine({ connection });
    for (const holder of [client, source, engine])
      expect(`${JSON.stringify(holder)} ${inspect(holder, { depth: 12 })}`).not.toContain(SECRET);
  });

  it('throw errors whose cause and stack have no credentials of URLs', () => {
    const driver = new Error(`no answer from redis://app:${SECRET}@db:6379`);
    const errors = [driver, driver.message].map(
      (cause) => new ConnectionError('Redis did not answer', cause),
    );
    for (const error of errors) expect(inspect(error, everything)).not.toContain(SECRET);
    expect(errors[0]).toMatchObject({ cause: { stack: expect.stringContaining('trouble.spec') } });
  });

  it('throw errors whose cause has no command and no input of a job', async () => {
    await server.redis.call(
      'ACL',
      'SETUSER',
      'reader',
      'on',
      `>${SECRET}`,
      '~*',
      '&*',
      '+@all',
      '-eval',
      '-evalsha',
    );
    const app = await start(server.url.replace('//', `//reader:${SECRET}@`));
    const run = app.get(GearMonkeyClient).run('work', { card: '4111-1111' });
    const error: unknown = await run.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RefusedError);
    const { cause } = error as Error;
    expect(Object.keys(cause as object)).toEqual([]);
    expect(cause).toMatchObject({ name: 'ReplyError', message: expect.stringContaining('NOPERM') });
    expect(inspect(error, everything)).not.toMatch(/4111|s3cret/);
  });
});

describe('OutageLog', () => {
  it('logs each outage once, and at most every ten seconds', () => {
    let now = 0;
    const said: string[] = [];
    const log = new OutageLog(
      { warn: (text) => said.push(`! ${text}`), log: (text) => said.push(text) },
      () => now,
    );
    const outage = (seconds: number) => {
      log.lost('h:1', new Error('why'));
      log.lost('h:1', new Error('again'));
      now += seconds * 1000;
      log.back('h:1');
      log.back('h:1');
    };
    outage(2.5);
    outage(1);
    outage(1);
    now += 6000;
    outage(27);
    expect(said).toEqual([
      '! Redis at h:1 is not reachable: why. Reconnecting.',
      'Redis at h:1 is back after 2.5 s.',
      '! Redis at h:1 is not reachable: why. Reconnecting. The connection was lost 2 more times since the last such line.',
      'Redis at h:1 is back after 27.0 s.',
    ]);
  });
});
