import { afterAll, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastValueFrom, toArray } from 'rxjs';
import {
  GearMonkeyClient,
  GearMonkeyHealth,
  GearMonkeyModule,
  Worker,
  type ConnectionSpec,
  type RedisModuleOptions,
  type RunningJob,
} from '../../lib/index.js';
import { holdEventLoop } from '../support/hold-event-loop.js';
import { eventually, until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedisServer } from '../support/use-redis.js';
import { useTls } from '../support/tls.js';

const LEASE_MS = 2000;

const socketPath = join(tmpdir(), `gearmonkey-${randomUUID()}.sock`);
const tls = useTls();
const apps = useApps();
const used = useRedisServer(['--unixsocket', socketPath], () => ({
  tls: { ...tls, authority: tls.authority },
}));
afterAll(() => rmSync(socketPath, { force: true }));

/** An app on this connection, whose one function does what its input says. */
async function appOf(connection: ConnectionSpec, options: Partial<RedisModuleOptions> = {}) {
  const fn = used.fn();
  const begun: string[] = [];
  @Injectable()
  class Handlers {
    @Worker(fn, { concurrency: 3, retry: { attempts: 2, delay: 1 } })
    async work(input: string, job: RunningJob) {
      begun.push(job.id);
      if (input === 'fail once' && job.attempts === 1) throw new Error('failed once');
      if (input === 'progress') await job.update(1, 2);
      if (input === 'until aborted')
        await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
      if (input === 'block') holdEventLoop(LEASE_MS * 1.25);
      if (input === 'several leases') await leases(job);
      return `${input}, done`;
    }
  }
  const app = await apps.start({
    imports: [GearMonkeyModule.forRoot({ connection, lease: LEASE_MS, shutdownTimeout: '1s', ...options })],
    providers: [Handlers],
  });
  return { app, client: app.get(GearMonkeyClient), health: app.get(GearMonkeyHealth), fn, begun };
}

/** For longer than this job's lease, which is renewed meanwhile. */
async function leases(job: RunningJob): Promise<void> {
  const end = Date.now() + 1.25 * LEASE_MS;
  await until(() => job.signal.aborted || Date.now() > end, { interval: 50 });
}

/** Enqueue, call, progress, retry, cancel and lease renewal; a job that is begun twice has lost its lease. */
async function exercise(connection: ConnectionSpec): Promise<void> {
  const { client, fn, begun, health } = await appOf(connection);
  await expect(client.call(fn, 'call')).resolves.toBe('call, done');
  const jobs = await client.runMany(fn, ['a', 'b', 'c']);
  await expect(Promise.all(jobs.map((job) => job.result()))).resolves.toEqual([
    'a, done',
    'b, done',
    'c, done',
  ]);
  const watched = await client.run(fn, 'progress');
  const seen = lastValueFrom(client.watch(fn, watched.id).pipe(toArray()));
  await expect(client.call(fn, 'fail once')).resolves.toBe('fail once, done');
  await expect(seen.then((all) => all.at(-1)?.progress)).resolves.toEqual({ dividend: 1, divisor: 2 });
  const cancelled = await client.run(fn, 'until aborted');
  await eventually(() => expect(begun).toContain(cancelled.id));
  await expect(cancelled.cancel()).resolves.toBe(true);
  const long = await client.run(fn, 'several leases');
  await expect(long.result()).resolves.toBe('several leases, done');
  expect(begun.filter((id) => id === long.id)).toHaveLength(1);
  expect(health.check()[0]).toMatchObject({ connected: true });
}

/** Connects as ioredis would, through a class of the app's. */
class OwnConnector extends AbstractConnector {
  constructor(private readonly options: { port: number; disconnectTimeout: number }) {
    super(options.disconnectTimeout);
  }

  override connect() {
    this.connecting = true;
    this.stream = createConnection({ host: '127.0.0.1', port: this.options.port });
    return Promise.resolve(this.stream);
  }
}

describe('an app whose connection has the option', () => {
  const host = '127.0.0.1';
  const passing: [string, RedisOptions][] = [
    ['db and protocol', { db: 3, protocol: 2 }],
    [
      'enableReadyCheck, keepAlive, noDelay, family and showFriendlyErrorStack',
      { enableReadyCheck: false, keepAlive: 1000, noDelay: false, family: 4, showFriendlyErrorStack: true },
    ],
    ['Connector', { Connector: OwnConnector as unknown as NonNullable<RedisOptions['Connector']> }],
  ];
  it.each(passing)('%s works', async (_, options) => {
    await exercise({ host, port: used.port, ...options });
  });

  it('path works', async () => {
    await exercise({ path: socketPath });
  });

  it('username and password works', async () => {
    await used.redis.call('ACL', 'SETUSER', 'app', 'on', '>s3cret', '~*', '&*', '+@all');
    await exercise({ host, port: used.port, username: 'app', password: 's3cret' });
  });

  it('commandTimeout, stringNumbers, enableAutoPipelining … works, since this package overrides it', async () => {
    const { port } = used.server;
    await exercise({
      host,
      port,
      commandTimeout: 300,
      stringNumbers: true,
      enableAutoPipelining: true,
      replyMapping: 'resp3',
      autoResubscribe: true,
      autoResendUnfulfilledCommands: true,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      blockingTimeout: 100,
      monitor: true,
      lazyConnect: false,
    });
  });

  it('works in a client of another copy of ioredis', async () => {
    const client = new Redis({ host, port: used.port, db: 2, lazyConnect: true });
    await exercise({ options: client.options, duplicate: () => undefined });
    await expect(used.redis.exists('uid:fn-1')).resolves.toBe(0);
  });
});

describe('TLS', () => {
  const secure = (): RedisOptions => ({ host: '127.0.0.1', port: used.server.tlsPort, tls: { ca: tls.ca } });

  /** The roles of our connections, with those that came in by the other port. */
  async function roles(): Promise<{ secure: string[]; plain: string[] }> {
    const lines = ((await used.redis.client('LIST')) as string).split('\n');
    const found = lines.map((line) => / laddr=\S+:(\d+) .*name=nestjs-gearmonkey:(\w+)/.exec(line));
    const on = (port: number) =>
      found.flatMap((match) => (match && Number(match[1]) === port ? [match[2] ?? ''] : [])).toSorted();
    return { secure: on(used.server.tlsPort), plain: on(used.port) };
  }

  it('works for client, worker, subscriber and keeper, also while a handler blocks', async () => {
    await exercise(secure());
    await eventually(async () =>
      expect(await roles()).toEqual({
        secure: ['blocking', 'commands', 'keeper', 'subscriber'],
        plain: [],
      }),
    );
    const { client, fn, begun } = await appOf(secure());
    await expect(client.call(fn, 'block')).resolves.toBe('block, done');
    expect(begun).toHaveLength(1);
  });

  it('works with a function in its options: the main thread renews leases and logs it', async () => {
    const checked: string[] = [];
    const options = secure();
    options.tls = {
      ...options.tls,
      checkServerIdentity: (name) => {
        checked.push(name);
        return undefined;
      },
    };
    await exercise(options);
    expect(checked.length).toBeGreaterThanOrEqual(3);
    await expect(roles()).resolves.toEqual({ secure: ['blocking', 'commands', 'subscriber'], plain: [] });
    const { health } = await appOf(options);
    expect(health.check()[0]).toMatchObject({ leasesKeptBy: 'main thread' });
  });

  it('is checked by all connections: an unknown CA fails the start at once with that reason', async () => {
    const start = appOf({ ...secure(), tls: {} });
    await expect(start).rejects.toThrow(/Redis at 127.0.0.1:\d+ is not reachable: (self|unable)/);
  });

  it('is enabled by a rediss URL', async () => {
    const insecure = new URL(used.server.tlsUrl);
    await expect(appOf(insecure.href)).rejects.toThrow(/is not reachable: (self|unable)/);
  });
});
