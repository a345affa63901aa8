import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Injectable, Module, Param, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  GearMonkeyClient,
  GearMonkeyHealth,
  GearMonkeyModule,
  InjectGearMonkey,
  OnFinish,
  Worker,
  defineJob,
  type JobEvent,
} from 'nestjs-gearmonkey';
import { qless } from 'nestjs-gearmonkey/qless';
import {
  GearMonkeyTestClient,
  GearMonkeyTestingModule,
  JobTestingError,
  testJobsOf,
  type TestingOptions,
} from 'nestjs-gearmonkey/testing';
import { onThisMachine } from '../support/machine.js';
import { useRedis } from '../support/use-redis.js';
import { SERVERS, useTesting } from './use-testing.js';

/** Nothing listens there. */
const NOWHERE = 'redis://user:secret@127.0.0.1:1';

const bill = defineJob<{ order: string }, string>('bill', { codec: 'msgpack' });
const archive = defineJob<string, string>('archive');

@Injectable()
class Billing {
  readonly finished: JobEvent[] = [];

  constructor(@InjectGearMonkey('archive') private readonly archives: GearMonkeyClient) {}

  @Worker(bill, { concurrency: 2, retry: { attempts: 2, delay: '1h', jitter: 0 } })
  async bill({ order }: { order: string }) {
    await this.archives.run(archive, order, { delay: '1 day' });
    return `billed ${order}`;
  }

  @OnFinish(bill)
  onFinish(event: JobEvent) {
    this.finished.push(event);
  }
}

@Injectable()
class Archive {
  @Worker(archive, { instance: 'archive' })
  archive(order: string) {
    return `archived ${order}`;
  }

  @Worker('legacy', { instance: 'legacy' })
  legacy(input: unknown) {
    return input;
  }
}

@Controller('orders')
class Orders {
  constructor(private readonly jobs: GearMonkeyClient) {}

  @Get(':id')
  async order(@Param('id') order: string) {
    return { job: (await this.jobs.run(bill, { order })).id };
  }

  @Get(':id/bill')
  billed(@Param('id') order: string) {
    return this.jobs.call(bill, { order });
  }
}

@Module({ imports: [GearMonkeyModule.forFeature([bill])], providers: [Billing], controllers: [Orders] })
class BillingModule {}

@Module({ providers: [{ provide: 'URL', useValue: NOWHERE }], exports: ['URL'] })
class ConfigModule {}

@Module({
  imports: [
    GearMonkeyModule.forRoot({ connection: NOWHERE, maxStalls: 0, lease: '1m', shutdownTimeout: '1h' }),
    GearMonkeyModule.forRootAsync({
      name: 'archive',
      imports: [ConfigModule],
      inject: ['URL'],
      useFactory: (connection: string) => ({ connection }),
    }),
    GearMonkeyModule.forRoot({ name: 'legacy', source: qless({ connection: NOWHERE, queues: ['q'] }) }),
    BillingModule,
  ],
  providers: [Archive],
})
class AppModule {}

describe.each(SERVERS)('An app of several instances, with its own wiring, in %s', (server) => {
  const testing = useTesting(server);
  let app: INestApplication | undefined;
  afterEach(() => (app = undefined));

  async function start(options?: TestingOptions): Promise<GearMonkeyTestClient> {
    const imports = [GearMonkeyTestingModule.override(AppModule, options)];
    const module = await Test.createTestingModule({ imports }).compile();
    app = testing.closing(module.createNestApplication({ logger: false }));
    await app.init();
    return app.get(GearMonkeyTestClient);
  }

  it('runs its jobs without its servers, with the app not changed', async () => {
    const jobs = await start();
    await app?.get(Orders).order('7');
    expect(jobs.test.enqueued(bill)).toMatchObject([{ input: { order: '7' } }]);
    await expect(jobs.test.drain()).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
    const archives = testJobsOf(app as INestApplication, 'archive');
    archives.assert(archive, { input: '7', in: '1 day' });
    await expect(jobs.test.advance('1 day')).resolves.toMatchObject({ done: 1 });
    await expect(archives.until(archive, {}, 'done')).resolves.toMatchObject({ output: 'archived 7' });
    expect(app?.get(Billing).finished).toMatchObject([{ type: 'finish', fn: 'bill', id: '1' }]);
    expect(app?.get(GearMonkeyHealth).check()).toMatchObject(Array(3).fill({ connected: true }));
  });

  it('keeps the options for jobs', async () => {
    const jobs = await start();
    const job = await jobs.run(bill, { order: '1' });
    await jobs.test.loseLease(job);
    await expect(jobs.test.drain()).resolves.toMatchObject({ failed: 1 });
    await expect(job.get()).resolves.toMatchObject({ error: { code: 'JOB_STALLED' } });
  });

  it('performs jobs of another system, of which it has no client', async () => {
    await start();
    const legacy = testJobsOf(app as INestApplication, 'legacy');
    await expect(legacy.perform('legacy', { a: 1 })).resolves.toMatchObject({ output: { a: 1 } });
    expect(() => testJobsOf(app as INestApplication, 'none')).toThrow(JobTestingError);
    expect(() => testJobsOf(app as INestApplication, 'none')).toThrow(
      '(known: "default", "legacy", "archive")',
    );
  });

  it('answers requests that wait for an output in auto mode', async () => {
    await start({ mode: 'auto' });
    await app?.listen(0, '127.0.0.1');
    const response = await fetch(`${await app?.getUrl()}/orders/7/bill`);
    await expect(response.text()).resolves.toBe('billed 7');
  });

  it('closes twice, with jobs that wait and one that hangs, and leaves nothing open', async () => {
    const jobs = await start({ mode: 'auto' });
    await jobs.run('nobody', 1);
    await jobs.run(bill, { order: '1' }, { delay: '1h' });
    await app?.close();
    await app?.close();
    await expect(jobs.run(bill, { order: '1' })).rejects.toMatchObject({ code: 'CONNECTION' });
  });

  it('ends calls that wait when it closes', async () => {
    const jobs = await start();
    await jobs.run(bill, { order: '1' });
    const late = jobs.test.advance('1 year');
    const drained = jobs.test.drain();
    const calls = Promise.all(
      [late, drained].map((call) => expect(call).rejects.toThrow('The app was closed while')),
    );
    await app?.close();
    await calls;
  });

  it('is separate: two apps at a time share no jobs', async () => {
    const first = await start();
    const second = await start();
    await first.run(bill, { order: '1' });
    expect([first.test.enqueued(bill).length, second.test.enqueued(bill).length]).toEqual([1, 0]);
    await expect(second.test.drain()).resolves.toMatchObject({ done: 0 });
  });

  it('refuses the same options as the app itself', async () => {
    @Module({ imports: [GearMonkeyModule.forRoot({ connection: NOWHERE, maxStals: 1 } as never)] })
    class Wrong {}
    const compiled = Test.createTestingModule({
      imports: [GearMonkeyTestingModule.override(Wrong)],
    }).compile();
    await expect(compiled).rejects.toThrow('Did you mean `maxStalls`?');
  });
});

describe('An app under test whose Redis refuses its password', () => {
  const server = useRedis();

  it('says so at once', async () => {
    const redis = server.url.replace('//', '//nobody:wrong@');
    const began = performance.now();
    const imports = [GearMonkeyTestingModule.forRoot({ redis })];
    const module = await Test.createTestingModule({ imports }).compile();
    await expect(module.init()).rejects.toThrow('WRONGPASS');
    expect(performance.now() - began).toBeLessThan(onThisMachine(2500));
    await module.close();
  });
});

describe('An app under test whose Redis is not there', () => {
  it('does not start, says so, and closes', async () => {
    const imports = [GearMonkeyTestingModule.override(AppModule, { redis: NOWHERE })];
    const module = await Test.createTestingModule({ imports }).compile();
    module.useLogger(false);
    const starting = module.init();
    await expect(starting).rejects.toMatchObject({ code: 'JOB_TESTING' });
    await expect(starting).rejects.toThrow('from the option `redis` or GEARMONKEY_TEST_REDIS');
    await expect(starting).rejects.not.toThrow('secret');
    await module.close();
  });

  it('does not start without handlers either', async () => {
    const imports = [GearMonkeyTestingModule.forRoot({ redis: NOWHERE })];
    const module = await Test.createTestingModule({ imports }).compile();
    await expect(module.init()).rejects.toThrow('Redis at 127.0.0.1:1 is not reachable');
    await module.close();
  });
});

describe('An app whose instances all have names', () => {
  const testing = useTesting();

  it('has no client without one', async () => {
    @Injectable()
    class Uses {
      constructor(@Inject('GearMonkeyClient:a') readonly client: GearMonkeyClient) {}
    }
    const module = await testing.start({ providers: [Uses] }, { instances: ['a'] });
    expect(() => module.get(GearMonkeyTestClient)).toThrow('GearMonkeyTestClient');
    await module.get(Uses).client.run('x', 1);
    expect(testJobsOf(module, 'a').enqueued()).toHaveLength(1);
  });
});
