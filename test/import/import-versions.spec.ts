import { createRequire } from 'node:module';
import { afterEach, describe, expect, it } from '@jest/globals';
import type * as BullMQ from 'bullmq';
import { until } from '../support/until.js';
import { useImport } from './import-rig.js';

const require = createRequire(import.meta.url);
const HOUR = 3_600_000;

/** What the tests use of BullMQ is the same in all versions. */
function bullMQ(packageName: string): typeof BullMQ {
  return require(packageName) as typeof BullMQ;
}

/** A queue of a version that has repeatable jobs. */
interface OldQueue {
  add(name: string, data: object, options: object): Promise<unknown>;
  close(): Promise<void>;
}

/** What the tests use of Bull. */
interface BullQueue {
  isReady(): Promise<unknown>;
  add(name: string, data: object, options?: object): Promise<unknown>;
  getNextJob(): Promise<{ moveToFailed(error: Error, ignoreLock: boolean): Promise<unknown> }>;
  pause(): Promise<void>;
  getJob(id: string): Promise<{ name: string; data: object; opts: object }>;
  nextRepeatableJob(name: string, data: object, options: object, isThere: boolean): Promise<unknown>;
  close(): Promise<void>;
}

/** What the tests use of bee-queue. */
interface BeeJob {
  setId(id: string): BeeJob;
  retries(count: number): BeeJob;
  backoff(strategy: string, delay: number): BeeJob;
  timeout(ms: number): BeeJob;
  delayUntil(time: number): BeeJob;
  save(): Promise<BeeJob>;
}
interface BeeQueue {
  createJob(data: object): BeeJob;
  process(handle: (job: { data: { n: string } }) => Promise<void>): void;
  on(event: 'failed', listener: () => void): void;
  close(): Promise<void>;
}

describe('an import', () => {
  const rig = useImport();
  const open: { close(): Promise<unknown> }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  /** Where each job has gone, by what it was. */
  async function places(): Promise<Record<string, string>> {
    return Object.fromEntries(
      (await rig.created()).map(({ queue, input }) => [(input as { n: string }).n, queue]),
    );
  }

  /** The times of schedules, by what their jobs are. */
  async function schedules(): Promise<Record<string, unknown>> {
    const specs = Object.values(await rig.target.hgetall('schedules:mail')).filter((text) => text[0] === '{');
    return Object.fromEntries(
      specs.map((text) => {
        const { input, cron, timezone, every, limit } = JSON.parse(text) as Record<string, unknown>;
        return [(JSON.parse(String(input)) as { n: string }).n, { cron, timezone, every, limit }];
      }),
    );
  }

  it.each([
    ['4', 'bullmq4'],
    ['5', 'bullmq5'],
    ['6', 'bullmq'],
  ])('moves jobs of all states of BullMQ %s', async (version, packageName) => {
    const { Queue, Worker } = bullMQ(packageName);
    const queue = new Queue('mail', { connection: rig.connection });
    const worker = new Worker('mail', undefined, { connection: rig.connection });
    open.push(worker, queue);
    const fail = async () => (await worker.getNextJob('token'))?.moveToFailed(new Error('451'), 'token');
    await queue.add('send', { n: 'failed' });
    await fail();
    await queue.add('send', { n: 'retrying' }, { attempts: 4, backoff: HOUR });
    await fail();
    await queue.add('send', { n: 'active' });
    await worker.getNextJob('token');
    await queue.add('send', { n: 'waiting' });
    await queue.add('send', { n: 'prioritized' }, { priority: 3 });
    await queue.add('send', { n: 'delayed' }, { delay: HOUR });
    await queue.pause();
    await queue.add('send', { n: 'paused' });

    const { moved, left } = await rig.import({ failed: true });
    expect(Object.values(moved).reduce((sum, count) => sum + count, 0)).toBe(6);
    expect(moved).toMatchObject({
      prioritized: 1,
      delayed: 2,
      failed: 1,
      [version === '6' ? 'waiting' : 'paused']: 2,
    });
    expect(left).toEqual([{ reason: 'active', count: 1, ids: [] }]);
    await expect(places()).resolves.toEqual({
      ...{ failed: 'normal', waiting: 'normal', paused: 'normal' },
      ...{ retrying: 'scheduled', delayed: 'scheduled', prioritized: 'low' },
    });
    const retrying = (await rig.created()).find(({ input }) => (input as { n: string }).n === 'retrying');
    expect(retrying?.options['retry']).toMatchObject({ attempts: 3, backoff: 'fixed', delay: HOUR });
  });

  it.each(['bullmq4', 'bullmq5'])('moves repeatable jobs of %s', async (packageName) => {
    const { Queue } = bullMQ(packageName);
    const queue = new Queue('mail', { connection: rig.connection }) as unknown as OldQueue;
    open.push(queue);
    await queue.add('cron', { n: 'cron' }, { repeat: { pattern: '0 9 * * *', tz: 'Asia/Tokyo', limit: 3 } });
    await queue.add('every', { n: 'every' }, { repeat: { every: HOUR } });
    await queue.add('own', { n: 'own' }, { jobId: 'own', repeat: { pattern: '*/20 * * * * *', tz: 'UTC' } });
    const ticks = (await rig.source.zrange('bull:mail:repeat', '0', '-1', 'WITHSCORES')).filter(
      (_, i) => i % 2,
    );
    await expect(rig.import()).resolves.toMatchObject({ moved: { schedules: 3 }, left: [] });
    await expect(schedules()).resolves.toEqual({
      cron: { cron: '0 9 * * *', timezone: 'Asia/Tokyo', limit: 3 },
      every: { every: HOUR },
      own: { cron: '*/20 * * * * *', timezone: 'UTC' },
    });
    const next = (await rig.target.zrange('ticks:mail', '0', '-1', 'WITHSCORES')).filter((_, i) => i % 2);
    expect(next).toEqual(ticks);
    await expect(rig.source.zcard('bull:mail:delayed')).resolves.toBe(0);
  });

  it('moves jobs and repeatable jobs of Bull 4', async () => {
    const Bull = require('bull') as new (name: string, options: object) => BullQueue;
    const queue = new Bull('mail', { redis: rig.connection });
    open.push(queue);
    await queue.isReady();
    await queue.add(
      'send',
      { n: 'retrying' },
      { attempts: 4, backoff: { type: 'exponential', delay: HOUR } },
    );
    await (await queue.getNextJob()).moveToFailed(new Error('451'), true);
    await queue.add('send', { n: 'active' });
    await queue.getNextJob();
    for (const [n, options] of [
      ['waiting', { timeout: 5000 }],
      ['second', { priority: 3 }],
      ['first', { priority: 1 }],
      ['delayed', { delay: HOUR, jobId: 'own' }],
      ['cron', { repeat: { cron: '0 9 * * *', tz: 'Asia/Tokyo', limit: 3 } }],
      ['every', { repeat: { every: HOUR }, jobId: 'x' }],
    ] as const)
      await queue.add('send', { n }, options);
    await queue.pause();

    const rules = { high: Infinity };
    const { moved, left } = await rig.import({ system: 'bull', rules });
    expect(moved).toEqual({ schedules: 2, paused: 3, delayed: 2 });
    expect(left).toEqual([{ reason: 'active', count: 1, ids: [] }]);
    const created = await rig.created();
    expect(created.slice(0, 3).map(({ queue: name, input }) => [name, input])).toEqual([
      ['high', { n: 'first' }],
      ['high', { n: 'second' }],
      ['normal', { n: 'waiting' }],
    ]);
    expect(created[2]?.options).toMatchObject({ timeout: 5000 });
    await expect(schedules()).resolves.toEqual({
      cron: { cron: '0 9 * * *', timezone: 'Asia/Tokyo', limit: 3 },
      every: { every: HOUR },
    });
    await expect(rig.source.exists('bull:mail:priority', 'bull:mail:paused')).resolves.toBe(0);
  });

  it('moves a repeatable job of Bull whose worker is about to add the next job, with that job', async () => {
    const Bull = require('bull') as new (name: string, options: object) => BullQueue;
    const queue = new Bull('mail', { redis: rig.connection });
    open.push(queue);
    await queue.isReady();
    await queue.add('mail:send', { n: 1 }, { repeat: { every: 1000 } });
    const [id = '', due] = await rig.source.zrange('bull:mail:delayed', '0', '-1', 'WITHSCORES');
    expect(Number(due)).toBeGreaterThan(0);
    const job = await queue.getJob(id);
    // As a worker takes it, when it is due.
    await until(() => Date.now() >= Number(id.split(':').at(-1)));
    await rig.source.multi().zrem('bull:mail:delayed', id).lpush('bull:mail:active', id).exec();
    await rig.source.config('RESETSTAT');
    const importing = rig.import({ system: 'bull' });
    // It looks at the schedule again and again, each time by the server's clock.
    const looks = async () =>
      Number(/cmdstat_time:calls=(\d+)/.exec(await rig.source.info('commandstats'))?.[1] ?? 0);
    await until(async () => (await looks()) > 4);
    // It has looked whether the schedule is there before, which it says with the last argument.
    await queue.nextRepeatableJob(job.name, job.data, job.opts, true);
    await expect(importing).resolves.toMatchObject({ moved: { schedules: 1 }, left: [{ reason: 'active' }] });
    await expect(rig.source.exists('bull:mail:repeat', 'bull:mail:delayed')).resolves.toBe(0);
  });

  it('moves jobs of bee-queue', async () => {
    const Bee = require('bee-queue') as new (name: string, options: object) => BeeQueue;
    const queue = new Bee('mail', { redis: rig.connection, isWorker: true });
    open.push(queue);
    await queue.createJob({ n: 'failed' }).save();
    const failed = new Promise<void>((resolve) => queue.on('failed', resolve));
    queue.process(() => Promise.reject(new Error('451')));
    await failed;
    await queue.close();
    const producer = new Bee('mail', { redis: rig.connection, isWorker: false });
    open.push(producer);
    await producer.createJob({ n: 'tried' }).retries(3).backoff('exponential', 500).timeout(2000).save();
    await producer
      .createJob({ n: 'delayed' })
      .delayUntil(Date.now() + HOUR)
      .setId('own')
      .save();
    await rig.source.hset('bq:mail:jobs', 'bad', 'no JSON');
    await rig.source.lpush('bq:mail:waiting', 'bad', 'gone');

    const { moved, left } = await rig.import({ system: 'bee-queue', failed: true });
    expect(moved).toEqual({ waiting: 1, delayed: 1, failed: 1 });
    expect(left).toEqual([
      { reason: 'broken', count: 1, ids: ['bad'] },
      { reason: 'gone', count: 1, ids: ['gone'] },
    ]);
    await expect(places()).resolves.toEqual({ failed: 'normal', tried: 'normal', delayed: 'scheduled' });
    const tried = (await rig.created()).find(({ input }) => (input as { n: string }).n === 'tried');
    expect(tried?.options).toMatchObject({
      retry: { attempts: 4, backoff: 'exponential', delay: 500 },
      timeout: 2000,
    });
    await expect(rig.source.hkeys('bq:mail:jobs')).resolves.toEqual(['bad']);
  });
});
