import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import {
  ConfigurationError,
  GearMonkeyClient,
  GearMonkeyModule,
  Worker,
  defineJob,
  type RunningJob,
} from 'nestjs-gearmonkey';
import {
  BullModule,
  InjectQueue,
  OnWorkerEvent,
  Processor,
  QueueEvents,
  WorkerHost,
  getQueueToken,
  type Job,
  type JobsOptions,
  type Queue,
} from 'nestjs-gearmonkey/bullmq';
import { gate } from '../support/gate.js';
import { until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

describe('BullModule', () => {
  const redis = useRedis();
  const apps = useApps();
  const root = () =>
    BullModule.forRoot({ connection: redis.url, priorities: (number) => (number < 10 ? 'high' : 'low') });

  async function queueOf(name: string, providers: (new (...args: never[]) => object)[] = []) {
    const app = await apps.start({ imports: [root(), BullModule.registerQueue({ name })], providers });
    return { app, client: app.get(GearMonkeyClient), queue: app.get<Queue>(getQueueToken(name)) };
  }

  it('lets a handler that is moved run the jobs of a queue that is not', async () => {
    const fn = redis.fn();
    class Handlers {
      @Worker(fn)
      run({ to }: { to: string }, { headers, attempts }: RunningJob) {
        return [to, headers['job-name'] ?? 'no name', attempts];
      }
    }
    const { queue } = await queueOf(fn, [Handlers]);
    const named = await queue.add('welcome', { to: 'Ada' }, { attempts: 2 });
    await expect(named.waitUntilFinished()).resolves.toEqual(['Ada', 'welcome', 1]);
    const same = await queue.add(fn, { to: 'Ada' });
    await expect(same.waitUntilFinished(undefined, 20_000)).resolves.toEqual(['Ada', 'no name', 1]);
  });

  it('lets a processor that is not moved run the jobs of a client that is, with the options of its definition', async () => {
    const mail = defineJob<{ to: string }, string[]>(redis.fn(), {
      retry: { attempts: 2, delay: 1 },
      codec: 'msgpack',
    });
    @Processor(mail.name)
    class Mails extends WorkerHost {
      async process(job: Job<{ to: string }>) {
        if (job.attemptsMade === 0) throw new Error('451');
        return [job.data.to, job.name, String(job.attemptsStarted)];
      }
    }
    const app = await apps.start({
      imports: [
        GearMonkeyModule.forRoot({ connection: redis.url }),
        GearMonkeyModule.forFeature([mail]),
        BullModule.registerQueue({ name: mail.name }),
      ],
      providers: [Mails],
    });
    await expect(app.get(GearMonkeyClient).call(mail, { to: 'Ada' })).resolves.toEqual([
      'Ada',
      mail.name,
      '2',
    ]);
  });

  it('has a queue of another server by its configKey, and lists, counts and changes its jobs', async () => {
    const name = redis.fn();
    @Injectable()
    class Users {
      constructor(@InjectQueue(name) readonly queue: Queue<number>) {}
    }
    const app = await apps.start({
      imports: [
        BullModule.forRoot('other', { connection: { url: redis.url }, defaultJobOptions: { attempts: 4 } }),
        BullModule.registerQueue({
          name,
          configKey: 'other',
          priorities: () => 'low',
          defaultJobOptions: { backoff: 5 },
        }),
      ],
      providers: [Users],
    });
    const { queue } = app.get(Users);
    const [first, second] = await queue.addBulk([
      { name: 'a', data: 1 },
      { name: 'b', data: 2, opts: { priority: 7 } },
    ]);
    const later = await queue.add('c', 3, { delay: 60_000 });
    expect(first?.opts).toMatchObject({ attempts: 4, backoff: 5 });
    await expect(queue.getJobCounts()).resolves.toEqual({
      waiting: 2,
      active: 0,
      completed: 0,
      failed: 0,
      delayed: 1,
      prioritized: 0,
    });
    await expect(queue.count()).resolves.toBe(3);
    const names = (jobs: Job[]) => jobs.map((job) => job.name);
    expect(names(await queue.getJobs(['waiting', 'delayed'], 0, -1, true)).toSorted()).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(names(await queue.getWaiting(0, 0))).toHaveLength(1);
    await expect(later.getState()).resolves.toBe('delayed');
    await later.promote();
    await expect(later.isWaiting()).resolves.toBe(true);
    await second?.changePriority({ priority: 1 });
    await second?.updateData(20);
    expect((await queue.getJob(second?.id ?? ''))?.data).toBe(20);
    await expect(queue.remove(second?.id ?? '')).resolves.toBe(1);
    await expect(queue.remove(second?.id ?? '')).resolves.toBe(0);
    await queue.drain(true);
    await expect(queue.count()).resolves.toBe(0);
    await expect(queue.getJob('none')).resolves.toBeUndefined();
  });

  it('removes no job that runs', async () => {
    const name = redis.fn();
    const [running, end] = [gate(), gate()];
    @Processor(name)
    class Slow extends WorkerHost {
      async process() {
        running.open();
        await end.passed;
        return 1;
      }
    }
    const app = await apps.start({
      imports: [root(), BullModule.registerQueue({ name })],
      providers: [Slow],
    });
    const job = await app.get<Queue>(getQueueToken(name)).add('slow', {});
    await running.passed;
    await expect(job.remove()).rejects.toThrow('a running job');
    end.open();
    await expect(job.waitUntilFinished()).resolves.toBe(1);
  });

  it('says how long ended jobs are kept, and what a job that was given up is', async () => {
    const name = redis.fn();
    @Processor(name)
    class Mails extends WorkerHost {
      async process(job: Job<boolean>) {
        if (job.data) return 1;
        job.discard();
        throw new Error('given up');
      }
    }
    const app = await apps.start({
      imports: [
        root(),
        BullModule.registerQueue({
          name,
          defaultJobOptions: { removeOnComplete: true, removeOnFail: false, attempts: 5 },
        }),
      ],
      providers: [Mails],
    });
    const queue = app.get<Queue<boolean, number>>(getQueueToken(name));
    const [good, bad] = await queue.addBulk([
      { name: 'good', data: true },
      { name: 'bad', data: false },
    ]);
    await good?.waitUntilFinished();
    await expect(bad?.waitUntilFinished()).rejects.toThrow('given up');
    const ttl = (id = '') => redis.redis.ttl(`job:${name}:${id}`);
    expect(await ttl(good?.id)).toBeLessThanOrEqual(60);
    expect(await ttl(bad?.id)).toBeGreaterThan(3600 * 24 * 365);
    const read = await queue.getJob(bad?.id ?? '');
    expect(read).toMatchObject({
      name: 'bad',
      attemptsMade: 1,
      failedReason: 'given up',
      opts: { attempts: 5 },
    });
    await expect(good?.remove()).rejects.toThrow('removeOnComplete');
    await bad?.retry();
    await expect(bad?.waitUntilFinished()).rejects.toThrow('given up');
  });

  it('tells processors of ends once they are on the server, and logs what their methods throw', async () => {
    const name = redis.fn();
    const seen: unknown[] = [];
    @Processor(name)
    class Mails extends WorkerHost {
      async process(job: Job<number>) {
        if (job.data === 0) throw new Error('none');
        return job.data * 2;
      }
      @OnWorkerEvent('active')
      onActive() {
        throw new Error('of a listener');
      }
      @OnWorkerEvent('completed')
      async onCompleted(job: Job<number, number>, result: number) {
        seen.push(['completed', job.name, job.attemptsMade, result, await job.getState()]);
      }
      @OnWorkerEvent('failed')
      async onFailed(job: Job, error: Error) {
        seen.push(['failed', job.name, job.attemptsMade, error.message, await job.getState()]);
      }
    }
    const { queue, app } = await queueOf(name, [Mails]);
    await queue.add('twice', 21);
    await queue.add('never', 0, { attempts: 1 });
    await until(() => seen.length === 2, { message: 'Both were told' });
    expect(seen).toEqual([
      ['completed', 'twice', 1, 42, 'completed'],
      ['failed', 'never', 1, 'none', 'failed'],
    ]);
    const { worker } = app.get(Mails);
    expect([worker.concurrency, worker.isRunning(), worker.isPaused()]).toEqual([1, true, false]);
    await worker.pause();
    worker.concurrency = 3;
    expect(worker.isPaused()).toBe(true);
    worker.resume();
    await worker.close();
    expect(worker.isRunning()).toBe(false);
  });

  it.each<[string, JobsOptions, string]>([
    ['an id of its own', { jobId: 'mine' } as object, 'deduplication'],
    ['a repetition', { repeat: { every: 1000 } } as object, 'upsertJobScheduler'],
    ['an unknown option', { attemps: 2 } as object, 'Did you mean `attempts`'],
    ['a backoff of its own', { attempts: 2, backoff: { type: 'mine' as 'fixed' } }, 'retry.backoff'],
    ['half a debounce', { deduplication: { id: 'a', ttl: 5, extend: true } }, 'together they debounce'],
  ])('refuses %s, and says what to use', async (_, options, remedy) => {
    const { queue } = await queueOf(redis.fn());
    await expect(queue.add('job', 1, options)).rejects.toThrow(remedy);
    await expect(
      queue.addBulk([
        { name: 'a', data: 1 },
        { name: 'b', data: 2, opts: options },
      ]),
    ).rejects.toThrow(remedy);
    await expect(queue.count()).resolves.toBe(0);
  });

  it('refuses a number as priority until it is told which one that is', async () => {
    const name = redis.fn();
    const app = await apps.start({
      imports: [BullModule.forRoot({ connection: redis.url }), BullModule.registerQueue({ name })],
    });
    const queue = app.get<Queue>(getQueueToken(name));
    await expect(queue.add('job', 1, { priority: 5 })).rejects.toThrow('priorities: (priority) =>');
  });

  it('adds one job for an id, throttles and debounces', async () => {
    const { queue, client } = await queueOf(redis.fn());
    const ids = async (deduplication: JobsOptions['deduplication']) => [
      (await queue.add('job', 1, { deduplication })).id,
      (await queue.add('job', 2, { deduplication })).id,
    ];
    for (const options of [
      { id: 'a' },
      { id: 'b', ttl: 60_000 },
      { id: 'c', ttl: 60_000, extend: true, replace: true },
    ]) {
      const [one, other] = await ids(options);
      expect(other).toBe(one);
    }
    await expect(queue.getJobCounts('waiting', 'delayed')).resolves.toEqual({ waiting: 2, delayed: 1 });
    const debounced = (await queue.getDelayed())[0];
    expect(debounced?.data).toBe(2);
    await expect(client.list(queue.name, { state: 'waiting' })).resolves.toMatchObject({ total: 2 });
  });

  it('does not start with a processor that has no server, no host, or an option that is not there', async () => {
    const name = redis.fn();
    await expect(apps.start({ imports: [BullModule.registerQueue({ name })] })).rejects.toThrow(
      'import BullModule.forRoot({ connection })',
    );
    @Processor(name)
    class NoHost {}
    await expect(apps.start({ imports: [root()], providers: [NoHost] })).rejects.toThrow(
      'does not extend WorkerHost',
    );
    expect(() => Processor(name, { lockDuration: 5 } as object)(NoHost)).toThrow('`lease` and `maxStalls`');
    expect(() => OnWorkerEvent('stalled' as 'failed')).toThrow(
      "'active', 'completed', 'failed' and 'progress'",
    );
    expect(() => BullModule.registerFlowProducer()).toThrow('GearMonkeyClient.flow');
    expect(() => new QueueEvents(name).on('completed' as never)).toThrow('@OnFinish');
    const prefixed = BullModule.forRoot({ connection: redis.url, prefix: 'x' as never });
    await expect(apps.start({ imports: [prefixed] })).rejects.toThrow(ConfigurationError);
  });

  it('has options of classes', async () => {
    const name = redis.fn();
    class Options {
      createSharedConfiguration = () => ({ connection: redis.url, defaultJobOptions: { attempts: 7 } });
      createRegisterQueueOptions = async () => ({ defaultJobOptions: { backoff: 3 } });
    }
    @Module({ providers: [Options], exports: [Options] })
    class OptionsModule {}
    const app = await apps.start({
      imports: [
        BullModule.forRootAsync({ useClass: Options }),
        BullModule.registerQueueAsync({ name, imports: [OptionsModule], useExisting: Options }),
      ],
    });
    const job = await app.get<Queue>(getQueueToken(name)).add('a', 1);
    expect(job.opts).toMatchObject({ attempts: 7, backoff: 3 });
  });
});
