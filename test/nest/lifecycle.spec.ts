import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  OnFinish,
  Worker,
  type CommonModuleOptions,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { onThisMachine } from '../support/machine.js';

/** Opened by the test, waited for by a handler. */
class Gate {
  private let = (): void => undefined;
  readonly opened = new Promise<void>((resolve) => (this.let = resolve));
  open(): void {
    this.let();
  }
}

const used = useRedis();
const connections = [
  ['memory', (name: string) => `memory:${name}`],
  ['Redis', () => used.url],
] as const;

describe.each(connections)('an app on %s', (_, connectionOf) => {
  const apps = useApps();
  const gearmonkey = (fn: string, options: CommonModuleOptions = {}) =>
    GearMonkeyModule.forRoot({ connection: connectionOf(fn), ...options });
  const clientOn = async (fn: string) =>
    (await apps.start({ imports: [gearmonkey(fn)] })).get(GearMonkeyClient);

  it('runs no job before every module is bootstrapped', async () => {
    const fn = used.fn();
    const gate = new Gate();
    const seen: string[] = [];
    @Injectable()
    class Handlers {
      async onModuleInit() {
        seen.push('init');
      }
      async onApplicationBootstrap() {
        seen.push('bootstrap');
        await gate.opened;
        seen.push('bootstrapped');
      }
      @Worker(fn)
      run() {
        seen.push('run');
      }
    }
    @Module({ imports: [gearmonkey(fn)] })
    class Jobs {}
    const client = await clientOn(fn);
    const job = await client.run(fn, null);
    const app = await apps.create({ imports: [Jobs], providers: [Handlers] });
    const started = app.init();
    await eventually(() => expect(seen).toContain('bootstrap'));
    await expect(client.rollCall(fn)).rejects.toThrow('No worker');
    gate.open();
    await started;
    await job.result();
    expect(seen).toEqual(['init', 'bootstrap', 'bootstrapped', 'run']);
  });

  it('lets a running job finish and enqueue while it closes, and claims no more', async () => {
    const fn = used.fn();
    const next = used.fn('next');
    const gate = new Gate();
    const running = new Gate();
    const closed: string[] = [];
    @Injectable()
    class Database {
      onModuleDestroy() {
        closed.push('database');
      }
    }
    @Injectable()
    class Handlers {
      constructor(readonly jobs: GearMonkeyClient) {}
      @Worker(fn)
      async run() {
        running.open();
        await gate.opened;
        const { id } = await this.jobs.run(next, 'follow-up');
        return [id, ...closed];
      }
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Handlers, Database] });
    const client = await clientOn(fn);
    const [first, second] = await client.runMany(fn, [1, 2]);
    await running.opened;
    const closing = app.close();
    gate.open();
    await closing;
    await expect(first?.result()).resolves.toEqual(['1']);
    await expect(second?.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
    await expect(client.get(next, 1)).resolves.toMatchObject({ state: 'waiting', input: 'follow-up' });
    await expect(client.rollCall(fn)).rejects.toThrow('No worker');
    expect(closed).toEqual(['database']);
  });

  it('lets shutdown hooks still enqueue', async () => {
    const fn = used.fn();
    @Injectable()
    class Farewell implements OnApplicationShutdown {
      constructor(readonly jobs: GearMonkeyClient) {}
      async onApplicationShutdown() {
        await this.jobs.run(fn, 'bye');
      }
    }
    @Module({ providers: [Farewell] })
    class Deepest {}
    @Module({ imports: [Deepest] })
    class Deeper {}
    @Module({ imports: [Deeper], providers: [Farewell] })
    class Deep {}
    const app = await apps.start({ imports: [gearmonkey(fn), Deep], providers: [Farewell] });
    await app.close();
    await expect((await clientOn(fn)).get(fn, 3)).resolves.toMatchObject({ input: 'bye' });
  });

  it('aborts a job that still runs at the shutdownTimeout, and puts it back at the front', async () => {
    const fn = used.fn();
    const running = new Gate();
    const aborted = new Gate();
    let reason: unknown;
    @Injectable()
    class Stubborn {
      @Worker(fn)
      async run(_: unknown, job: RunningJob) {
        running.open();
        await once(job.signal, 'abort');
        reason = job.signal.reason;
        aborted.open();
        await new Promise(() => undefined);
      }
    }
    const app = await apps.start({
      imports: [gearmonkey(fn, { shutdownTimeout: '50ms' })],
      providers: [Stubborn],
    });
    const client = await clientOn(fn);
    const [first, second] = await client.runMany(fn, ['first', 'second']);
    await running.opened;
    await app.close();
    await aborted.opened;
    expect(reason).toMatchObject({ code: 'SHUTDOWN' });
    await expect(first?.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });

    const order: unknown[] = [];
    @Injectable()
    class Next {
      @Worker(fn)
      run(input: unknown) {
        order.push(input);
      }
    }
    await apps.start({ imports: [gearmonkey(fn)], providers: [Next] });
    await second?.result();
    expect(order).toEqual(['first', 'second']);
  });

  it('closes twice, and at the same time', async () => {
    const fn = used.fn();
    @Injectable()
    class Handlers {
      @Worker(fn)
      run() {}
      @OnFinish(fn)
      finished() {}
    }
    const app = await apps.start({ imports: [gearmonkey(fn)], providers: [Handlers] });
    await app.get(GearMonkeyClient).call(fn, null);
    await Promise.all([app.close(), app.close()]);
    await app.close();
    await expect(clientOn(fn).then((client) => client.rollCall(fn))).rejects.toThrow('No worker');
  });

  it('closes without having been initialised', async () => {
    const app = await apps.create({ imports: [gearmonkey(used.fn())] });
    await expect(app.close()).resolves.toBeUndefined();
  });
});

describe('an app whose Redis is down', () => {
  const apps = useApps();
  let server: RedisServer;
  afterEach(() => server.stop());

  @Injectable()
  class Handlers {
    @Worker('fn', { concurrency: 2 })
    async run(input: { hold?: boolean }, job: RunningJob) {
      if (input.hold) await once(job.signal, 'abort');
    }
    @OnFinish('fn')
    finished() {}
  }

  async function start() {
    server = await RedisServer.start();
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: server.url, shutdownTimeout: '100ms' })],
      providers: [Handlers],
    });
    await app.get(GearMonkeyClient).call('fn', {});
    return app;
  }

  it.each(['SIGKILL', 'SIGSTOP'] as const)('closes within seconds while idle, after %s', async (signal) => {
    const app = await start();
    await server.kill(signal);
    const began = performance.now();
    await app.close();
    expect(performance.now() - began).toBeLessThan(onThisMachine(8000));
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'closes within seconds while a job runs, after %s',
    async (signal) => {
      const app = await start();
      const client = app.get(GearMonkeyClient);
      const job = await client.run('fn', { hold: true });
      await eventually(async () => expect((await job.get()).state).toBe('running'));
      await server.kill(signal);
      const began = performance.now();
      await app.close();
      expect(performance.now() - began).toBeLessThan(onThisMachine(12_000));
    },
  );

  it('fails to start with an error that names the connection, and still closes', async () => {
    server = await RedisServer.start();
    await server.kill();
    const app = await apps.create({
      imports: [GearMonkeyModule.forRoot({ connection: server.url })],
      providers: [Handlers],
    });
    await expect(app.init()).rejects.toMatchObject({ code: 'CONNECTION' });
    await app.close();
  });

  it('closes a client that never connected', async () => {
    server = await RedisServer.start();
    await server.kill();
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: server.url, enqueueTimeout: 50 })],
    });
    const client = app.get(GearMonkeyClient);
    await expect(client.run('fn', null)).rejects.toMatchObject({ code: 'ENQUEUE_TIMEOUT' });
    const watching = client.events('fn').subscribe({ error: () => undefined });
    await app.close();
    watching.unsubscribe();
  });
});

describe('the connections of an instance', () => {
  const apps = useApps();
  const FUNCTIONS = 200;

  /** Names of our connections, as Redis lists them. */
  async function ours(redis: Redis): Promise<string[]> {
    const list = (await redis.client('LIST')) as string;
    return [...list.matchAll(/ name=(nestjs-gearmonkey:\S+)/g)].map(([, name]) => name as string).sort();
  }

  it('are at most four for 200 functions and 300 concurrent calls, and none after close()', async () => {
    const functions = Array.from({ length: FUNCTIONS }, () => used.fn('many'));
    @Injectable()
    class Handlers {
      run(input: number) {
        return input;
      }
    }
    const run = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run') as PropertyDescriptor;
    functions.forEach((fn, index) => {
      const name = `run${index}`;
      Object.defineProperty(Handlers.prototype, name, { ...run, value: (input: number) => input });
      const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, name);
      Worker(fn)(Handlers.prototype, name, descriptor as TypedPropertyDescriptor<() => unknown>);
    });
    await expect(ours(used.redis)).resolves.toEqual([]);
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: used.url })],
      providers: [Handlers],
    });
    const client = app.get(GearMonkeyClient);
    const calls = Array.from({ length: 300 }, (_, index) =>
      client.call(functions[index % FUNCTIONS] as string, index, { timeout: '20s' }),
    );
    await expect(Promise.all(calls)).resolves.toEqual(Array.from({ length: 300 }, (_, index) => index));
    // The keeper's thread connects by itself.
    await eventually(async () =>
      expect(await ours(used.redis)).toEqual([
        'nestjs-gearmonkey:blocking',
        'nestjs-gearmonkey:commands',
        'nestjs-gearmonkey:keeper',
        'nestjs-gearmonkey:subscriber',
      ]),
    );
    await app.close();
    await eventually(async () => expect(await ours(used.redis)).toHaveLength(0));
  });

  it('are one for an app that only enqueues, opened with its first job', async () => {
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: used.url })] });
    await expect(ours(used.redis)).resolves.toEqual([]);
    await app.get(GearMonkeyClient).run(used.fn(), null);
    await expect(ours(used.redis)).resolves.toEqual(['nestjs-gearmonkey:commands']);
  });
});
