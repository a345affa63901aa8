import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import * as bullmq from 'bullmq';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import {
  BullModule,
  DelayedError,
  InjectQueue,
  Job,
  OnWorkerEvent,
  Processor,
  ProcessorWorker,
  Queue,
  QueueEvents,
  WorkerHost,
  getQueueToken,
  type JobsOptions,
} from 'nestjs-gearmonkey/bullmq';
import { EventEmitter } from 'node:events';
import { gate } from '../support/gate.js';
import { until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

const HOUR_MS = 3_600_000;

describe('Jobs of a BullModule', () => {
  const redis = useRedis();
  const apps = useApps();

  /** @param process of a processor; without it there is none */
  async function queueOf(
    process?: (job: Job) => Promise<unknown>,
    options: { name?: string; defaultJobOptions?: JobsOptions } = {},
  ) {
    const { name = redis.fn(), defaultJobOptions } = options;
    const events: unknown[] = [];
    @Processor(name)
    class Processes extends WorkerHost {
      async process(job: Job) {
        return process?.(job);
      }
      @OnWorkerEvent('failed')
      onFailed(job: Job, error: Error) {
        events.push([job.attemptsMade, error.message]);
      }
    }
    const priorities = (number: number) => ({ 1: 'high', 2: 'normal', 3: 'low' })[number] as 'high';
    const app = await apps.start({
      imports: [
        BullModule.forRoot({ connection: redis.url, priorities }),
        BullModule.registerQueue({ name, ...(defaultJobOptions && { defaultJobOptions }) }),
      ],
      providers: process ? [Processes] : [],
    });
    const host = process && app.get(Processes);
    return { app, queue: app.get<Queue>(getQueueToken(name)), host, events };
  }

  describe('that are added', () => {
    const circular: { self?: object } = {};
    circular.self = circular;

    it.each<[string, unknown, JobsOptions]>([
      ['data that is no JSON', circular, {}],
      ['data of a number without JSON', 1n, {}],
      ['attempts below 0', 1, { attempts: -1 }],
      ['more attempts than there can be', 1, { attempts: 1001 }],
      ['a jitter above 1', 1, { attempts: 2, backoff: { type: 'fixed', jitter: 2 } }],
      ['a priority that the rule does not know', 1, { priority: 9 }],
      ['a priority that is no whole number', 1, { priority: 1.5 }],
      ['a priority of a delayed job', 1, { priority: 1, delay: HOUR_MS }],
      ['a delay that is no number', 1, { delay: NaN }],
      ['a rule of kept jobs that is none', 1, { removeOnFail: 'never' as never }],
      ['an option of kept jobs that is not there', 1, { removeOnComplete: { age: 1, limit: 5 } as object }],
    ])('with %s are refused, and none of their bulk is added', async (_, data, opts) => {
      const { queue } = await queueOf();
      const bulk = [
        { name: 'a', data: 1 },
        { name: 'b', data, opts },
        { name: 'c', data: 1 },
      ];
      await expect(queue.addBulk(bulk)).rejects.toHaveProperty('code');
      const [first] = await queue.addBulk([{ name: 'after', data: 1 }]);
      expect(first?.id).toBe('1');
    });

    it('in a bulk with different names and options keep their order', async () => {
      const { queue } = await queueOf();
      const bulk = Array.from({ length: 120 }, (_, data) => ({
        name: `name ${data % 3}`,
        data,
        opts: data % 5 ? {} : { attempts: 2 },
      }));
      const jobs = await queue.addBulk(bulk);
      const waiting = await queue.getWaiting();
      expect(waiting.map(({ data }) => data as number)).toEqual(bulk.map(({ data }) => data));
      expect(waiting.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    });

    it('with a deduplication of 0 milliseconds stand for others until they have ended', async () => {
      const { queue } = await queueOf();
      const opts = { deduplication: { id: 'one', ttl: 0 } };
      const [one, other] = await queue.addBulk([1, 2].map((data) => ({ name: 'job', data, opts })));
      expect(other?.id).toBe(one?.id);
    });

    it('by a scheduler are refused a priority, also that of the queue, and an end that is over', async () => {
      const { queue } = await queueOf(undefined, { defaultJobOptions: { priority: 1 } });
      await expect(queue.upsertJobScheduler('a', { every: HOUR_MS })).rejects.toThrow('priority of jobs of');
      await expect(queue.upsertJobScheduler('a', { every: HOUR_MS, endDate: 1 })).rejects.toThrow();
      const normal = await queueOf(undefined, { defaultJobOptions: { priority: 2 } });
      await expect(normal.queue.upsertJobScheduler('a', { every: HOUR_MS, endDate: 1 })).rejects.toThrow(
        'in the future',
      );
      await normal.queue.upsertJobScheduler('a', { every: HOUR_MS });
      await expect(queue.getJobSchedulers()).resolves.toEqual([]);
      await expect(normal.queue.getJobSchedulers()).resolves.toHaveLength(1);
    });
  });

  describe('that wait', () => {
    it('and are delayed keep their time when their priority is changed', async () => {
      const { queue } = await queueOf();
      const job = await queue.add('later', 1, { delay: HOUR_MS });
      await expect(job.changePriority({ priority: 1 })).rejects.toThrow('priority of a delayed job');
      await job.changePriority({ priority: 2 });
      await job.changePriority({});
      await expect(job.getState()).resolves.toBe('delayed');
      await expect(job.changePriority({ priority: 1, lifo: true } as object)).rejects.toThrow('`lifo`');
      await job.changeDelay(2 * HOUR_MS);
      expect(job.delay).toBe(2 * HOUR_MS);
    });

    it('are not promoted, delayed or retried unless they are in the state for it', async () => {
      const { queue } = await queueOf();
      const job = await queue.add('now', 1);
      await expect(job.promote()).rejects.toThrow('is waiting');
      await expect(job.changeDelay(5)).rejects.toThrow('is waiting');
      await expect(job.retry()).rejects.toThrow('it is waiting, not failed');
      await expect(job.retry('completed' as 'failed')).rejects.toThrow('Only failed jobs');
      await expect(queue.retryJobs({ state: 'completed' as 'failed' })).rejects.toThrow('Only failed jobs');
      await expect(queue.retryJobs({ timestamp: 5 } as object)).rejects.toThrow('`timestamp`');
      await expect(job.getState()).resolves.toBe('waiting');
    });

    it('are listed by ranges of each state, which also count from the end', async () => {
      const { queue } = await queueOf();
      await queue.addBulk(['a', 'b', 'c', 'd'].map((name) => ({ name, data: 1 })));
      await queue.add('late', 1, { delay: 2 * HOUR_MS });
      await queue.add('soon', 1, { delay: HOUR_MS });
      const names = async (...range: Parameters<Queue['getJobs']>) =>
        (await queue.getJobs(...range)).map(({ name }) => name).join(' ');
      await expect(names(['waiting', 'delayed'], 0, 0, true)).resolves.toBe('a soon');
      await expect(names(['waiting', 'delayed'], 1, 2, true)).resolves.toBe('b c late');
      await expect(names('waiting', -2, -1, true)).resolves.toBe('c d');
      await expect(names('waiting', 0, -2, true)).resolves.toBe('a b c');
      await expect(names(['waiting', 'wait', 'paused'], 0, 1)).resolves.toBe('d c');
      await expect(queue.getJobCountByTypes('paused', 'waiting', 'delayed')).resolves.toBe(6);
      await expect(names('nonsense' as 'waiting')).rejects.toThrow('states: waiting');
      await expect(queue.getJobCounts('waiting-children' as 'waiting')).rejects.toThrow('waiting-children');
    });

    it('for their time are all listed while others of them begin', async () => {
      const { queue, app } = await queueOf();
      const client = app.get(GearMonkeyClient);
      const soon = await queue.addBulk(
        Array.from({ length: 100 }, (_, data) => ({ name: 'soon', data, opts: { delay: HOUR_MS + data } })),
      );
      await queue.addBulk(
        [1, 2].map((data) => ({ name: 'late', data, opts: { delay: 2 * HOUR_MS + data } })),
      );
      const { list } = client;
      // Those of the first page are gone before the second is read.
      client.list = async (ref, options) => {
        const page = await list.call(client, ref, options);
        if (options.state === 'scheduled' && !options.page)
          await Promise.all(soon.map((job) => job.remove()));
        return page;
      };
      const listed = await queue.getDelayed();
      expect(listed.filter(({ name }) => name === 'late').map(({ data }) => data as number)).toEqual([1, 2]);
    });
  });

  describe('that run', () => {
    it.each(['returns', 'throws another error'])(
      'run again at the time of moveToDelayed if their processor then %s',
      async (how) => {
        const starts: number[] = [];
        const { queue, events } = await queueOf(async (job) => {
          starts.push(job.attemptsStarted);
          if (job.attemptsStarted > 1) return 'again';
          await job.moveToDelayed(Date.now() + 20);
          if (how !== 'returns') throw new Error('another');
          return 'too early';
        });
        const job = await queue.add('job', 1);
        await expect(job.waitUntilFinished()).resolves.toBe('again');
        expect(starts).toEqual([1, 2]);
        expect(await queue.getJob(job.id)).toMatchObject({ attemptsMade: 1, attemptsStarted: 2 });
        expect(events).toEqual([]);
      },
    );

    it('fail with a DelayedError without a time, and for a time that is none', async () => {
      const { queue } = await queueOf(async (job) => {
        if (job.name === 'time') return job.moveToDelayed(NaN);
        throw new DelayedError();
      });
      const failed = (name: string) => expect(queue.add(name, 1).then((job) => job.waitUntilFinished()));
      await failed('time').rejects.toThrow('milliseconds since 1970');
      await failed('none').rejects.toThrow('without job.moveToDelayed');
    });

    it('end by the errors of BullMQ, too, which files throw that are not moved', async () => {
      let moved = false;
      const { queue, events } = await queueOf(async (job) => {
        if (job.name === 'unrecoverable') throw new bullmq.UnrecoverableError('never');
        if (job.name === 'limited') throw new bullmq.RateLimitError();
        if (moved) return 'moved';
        moved = true;
        await job.moveToDelayed(Date.now());
        throw new bullmq.DelayedError();
      });
      const opts = { attempts: 3 };
      const failed = (name: string) =>
        expect(queue.add(name, 1, opts).then((job) => job.waitUntilFinished()));
      await failed('unrecoverable').rejects.toThrow('never');
      expect(events).toEqual([[1, 'never']]);
      await failed('limited').rejects.toThrow('option `limiter` of @Processor');
      await failed('delayed').resolves.toBe('moved');
    });

    it('know what earlier attempts left', async () => {
      const seen: unknown[] = [];
      const { queue } = await queueOf(async (job) => {
        const { progress, failedReason, stacktrace, timestamp } = job;
        seen.push([progress, failedReason, stacktrace.length, timestamp]);
        await job.updateProgress(10 * job.attemptsStarted);
        if (job.attemptsMade < 2) throw new Error(`no ${job.attemptsMade}`);
      });
      const job = await queue.add('job', 1, { attempts: 3, timestamp: 5 });
      await job.waitUntilFinished(undefined, 0);
      expect(seen).toEqual([
        [0, undefined, 0, 5],
        [10, 'no 0', 1, 5],
        [20, 'no 1', 2, 5],
      ]);
    });

    it('refuse progress and lines of a log that come when their run is over', async () => {
      const kept: Job[] = [];
      const { queue } = await queueOf(async (job) => void kept.push(job));
      await (await queue.add('job', 1)).waitUntilFinished();
      await expect(kept[0]?.log('late')).rejects.toThrow('job.log outside of a run of the job');
      await expect(kept[0]?.updateProgress(5)).rejects.toThrow('await it there');
    });

    it('are waited for by pause, unless it is told not to', async () => {
      const [begun, end] = [gate(), gate()];
      const { queue, host } = await queueOf(async () => {
        begun.open();
        await end.passed;
      });
      const worker = host?.worker as ProcessorWorker;
      const job = await queue.add('job', 1);
      await begun.passed;
      await worker.pause(true);
      expect(worker.isRunning()).toBe(false);
      let isPaused = false;
      const paused = worker.pause().then(() => (isPaused = true));
      await expect(job.getState()).resolves.toBe('active');
      expect(isPaused).toBe(false);
      end.open();
      await paused;
      expect(() => (worker.concurrency = 0)).toThrow('1 or more');
    });

    it('go back at once when their worker is closed by force', async () => {
      const begun = gate();
      const { queue, host } = await queueOf(
        async () =>
          new Promise<void>(() => {
            begun.open();
          }),
      );
      const job = await queue.add('job', 1);
      await begun.passed;
      await host?.worker.close(true);
      await until(() => job.isWaiting(), { message: 'The job went back' });
      await queue.drain();
    });
  });

  it('that have lost their workers have attempts as in BullMQ: those that ended, and those that began', async () => {
    const { queue } = await queueOf();
    const { id } = await queue.add('job', 1);
    await redis.redis.hset(`job:${queue.name}:${id}`, { attempts: 3, stalls: 1, snoozes: 1 });
    expect(await queue.getJob(id)).toMatchObject({
      attemptsMade: 2,
      attemptsStarted: 4,
      stalledCounter: 1,
    });
  });

  it.each([0, 1])(
    'of two servers with a queue of the same name are kept as that of their processor says: %s',
    async (at) => {
      const name = redis.fn();
      @Processor({ name, configKey: 'other' })
      class Others extends WorkerHost {
        async process() {}
      }
      const one = (configKey: string, removeOnComplete: boolean) =>
        BullModule.registerQueue({ name, configKey, defaultJobOptions: { removeOnComplete } });
      @Module({ imports: [one('first', false)] })
      class First {}
      @Injectable()
      class Users {
        constructor(@InjectQueue(name) readonly queue: Queue) {}
      }
      @Module({ imports: [one('other', true)], providers: [Others, Users] })
      class Other {}
      const app = await apps.start({
        imports: [
          BullModule.forRoot('first', { connection: 'memory:' }),
          BullModule.forRoot('other', { connection: redis.url }),
          ...[First, Other].with(at, Other).with(1 - at, First),
        ],
      });
      const job = await app.get(Users, { strict: false }).queue.add('job', 1);
      await job.waitUntilFinished(undefined, 60_000);
      expect(await redis.redis.ttl(`job:${name}:${job.id}`)).toBeLessThanOrEqual(60);
    },
  );

  it('have one processor in a process', async () => {
    const name = redis.fn();
    @Processor(name)
    class First extends WorkerHost {
      async process() {}
    }
    @Processor(name)
    class Second extends WorkerHost {
      async process() {}
    }
    const imports = [BullModule.forRoot({ connection: redis.url }), BullModule.registerQueue({ name })];
    await expect(apps.start({ imports, providers: [First, Second] })).rejects.toThrow(
      `@Processor on Second: the queue "${name}" has one in this process, First.`,
    );
  });
});

describe('A processor', () => {
  const redis = useRedis();

  it('starts where a test has put something else in the place of its queue', async () => {
    const name = redis.fn();
    @Processor(name)
    class Processes extends WorkerHost {
      async process() {}
    }
    const tested = await Test.createTestingModule({
      imports: [BullModule.forRoot({ connection: 'memory:' }), BullModule.registerQueue({ name })],
      providers: [Processes],
    })
      .overrideProvider(getQueueToken(name))
      .useValue({ add: () => undefined })
      .compile();
    await tested.init();
    expect(tested.get(Processes).worker.isRunning()).toBe(true);
    await tested.close();
  });

  it('has no options that are ignored', () => {
    const decorate = (options: object) => () => Processor('mail', options)(class Mails {});
    expect(decorate({ concurrency: 0 })).toThrow('concurrency of @Processor on Mails');
    expect(decorate({ limiter: { max: 1, duration: 5, groupKey: 'to' } })).toThrow('`limit: { key, rate }`');
    expect(decorate({ limiter: { max: 1, per: 5 } })).toThrow('has no option `per`. It takes max, duration.');
  });
});

describe('What is in BullMQ and not in nestjs-gearmonkey/bullmq', () => {
  /** Those of the class and of the classes that it extends, without its machinery. */
  function methodsOf({ prototype }: { prototype: object }): string[] {
    const names = new Set<string>();
    for (
      let at = prototype;
      at !== EventEmitter.prototype && at !== Object.prototype;
      at = Object.getPrototypeOf(at)
    )
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
        if (typeof value === 'function' && name !== 'constructor' && !name.startsWith('_')) names.add(name);
    return [...names];
  }

  it.each([
    ['Queue', bullmq.Queue, Queue],
    ['Job', bullmq.Job, Job],
    ['QueueEvents', bullmq.QueueEvents, QueueEvents],
    ['Worker', bullmq.Worker, ProcessorWorker],
  ] as const)('%s: each public method is refused with what to use', (_, theirs, ours) => {
    const own = ours.prototype as unknown as Record<string, unknown>;
    const missing = methodsOf(theirs).filter((name) => typeof own[name] !== 'function');
    expect(missing.filter((name) => !MACHINERY.has(name))).toEqual([]);
  });

  it('is a ConfigurationError', () => {
    const queue = Queue.prototype as unknown as { obliterate(): void };
    expect(() => queue.obliterate()).toThrow('Use queue.drain(true)');
    const made = Queue as unknown as new (name: string, options: object) => Queue;
    expect(() => new made('mail', {})).toThrow('BullModule.registerQueue');
    expect(() => new (Job as unknown as new () => Job)()).toThrow('queue.add');
    expect(() => (Job as unknown as { fromId(): Job }).fromId()).toThrow('queue.getJob');
  });
});

/** Methods that BullMQ's own classes call, or its declarations don't have. */
const MACHINERY = new Set(
  `addJob commandByType sanitizeJobTypes baseGetClients parseClientList getBackend createBackend base64Name clientName
  checkConnectionError trace shouldRetryJob getSpanOperation recordJobMetrics isInState toFlowEntry validateOptions
  updateStacktrace setSpanJobAttributes createLockManager createSandbox callProcessJob createJob waitForRateLimit mainLoop
  isRateLimited moveToActive waitForJob getBlockTimeout getRateLimitDelay delay updateDelays nextJobFromJobData
  getUnrecoverableErrorMessage handleCompleted handleFailed stalledChecker whenCurrentJobsFinished retryIfFailed
  moveStalledJobsToWait moveLimitedBackToWait consumeEvents`.split(/\s+/),
);
