import { afterEach, describe, expect, it } from '@jest/globals';
import { FlowProducer, Queue, Worker, type Job } from 'bullmq';
import { createdJobs, ImportInProcess } from './import-in-process.js';
import { useImport } from './import-rig.js';

const HOUR = 3_600_000;

describe('an import of a queue of BullMQ', () => {
  const rig = useImport();
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });

  function queueOf(name = 'mail'): Queue {
    const queue = new Queue(name, { connection: rig.connection });
    open.push(queue);
    return queue;
  }

  /** Takes a job as a worker does. */
  async function take(name = 'mail'): Promise<Job> {
    const worker = new Worker(name, undefined, { connection: rig.connection });
    open.push(worker);
    return (await worker.getNextJob('token')) as Job;
  }

  it('refuses a queue that is not there', async () => {
    await expect(rig.import()).rejects.toThrow('There is no queue "mail" of bullmq');
  });

  it('leaves what it can not read, with a reason', async () => {
    const queue = queueOf();
    for (const id of ['data', 'options', 'bytes', 'type', 'gone', 'large', 'fine'])
      await queue.add('send', { id }, { jobId: id });
    await rig.source.hset('bull:mail:data', 'data', '{"a":');
    await rig.source.hset('bull:mail:options', 'opts', '[1]');
    await rig.source.hset('bull:mail:bytes', 'data', Buffer.from([0x22, 0xff, 0x22]));
    await rig.source.multi().del('bull:mail:type').set('bull:mail:type', 'text').exec();
    await rig.source.del('bull:mail:gone');
    await rig.source.hset('bull:mail:large', 'data', JSON.stringify('x'.repeat(1100)));
    await rig.source.zadd('bull:mail:delayed', 'inf', 'never');
    await rig.source.hset('bull:mail:never', 'data', '1', 'opts', '{}');
    const { moved, left } = await rig.import({ rules: { largest: 1000 } });
    expect(moved).toEqual({ waiting: 1 });
    expect(new Map(left.map(({ reason, ids }) => [reason, [...ids].sort()]))).toEqual(
      new Map([
        ['broken', ['bytes', 'data', 'never', 'options', 'type']],
        ['gone', ['gone']],
        ['too-large', ['large']],
      ]),
    );
    await expect(rig.source.llen('bull:mail:wait')).resolves.toBe(6);
    await expect(rig.created()).resolves.toEqual([expect.objectContaining({ input: { id: 'fine' } })]);
  });

  it('keeps the order of waiting jobs, and of those with priorities', async () => {
    const queue = queueOf();
    for (const n of [1, 2, 3]) await queue.add('send', { n });
    await queue.add('send', { n: 0 }, { lifo: true });
    for (const priority of [30, 7, 2_000_000, 1]) await queue.add('send', { priority }, { priority });
    const { moved } = await rig.import({ rules: { high: 5, normal: 50 } });
    expect(moved).toEqual({ waiting: 4, prioritized: 4 });
    const jobs = await rig.created();
    expect(jobs.map(({ queue: name, input }) => [name, input])).toEqual([
      ['normal', { n: 0 }],
      ['normal', { n: 1 }],
      ['normal', { n: 2 }],
      ['normal', { n: 3 }],
      ['high', { priority: 1 }],
      ['normal', { priority: 7 }],
      ['normal', { priority: 30 }],
      ['low', { priority: 2_000_000 }],
    ]);
  });

  it('leaves nothing of a job that it has moved', async () => {
    const queue = queueOf();
    const job = await queue.add('send', {}, { jobId: 'own', deduplication: { id: 'one' }, delay: HOUR });
    await job.log('a line');
    await rig.import();
    const keys = await rig.source.keys('bull:mail:*');
    expect(keys.filter((key) => !/:(id|meta|events|marker)$/.test(key))).toEqual([]);
    await expect(queue.getJobCounts()).resolves.toMatchObject({ delayed: 0, waiting: 0 });
    const events = await rig.source.xrange('bull:mail:events', '-', '+');
    expect(events.at(-1)?.[1]).toEqual(['event', 'removed', 'jobId', 'own']);
  });

  it('keeps delays, what is left of the attempts, and where a job comes from', async () => {
    const queue = queueOf();
    const before = Date.now();
    await queue.add('tried', { n: 1 }, { attempts: 5, backoff: { type: 'exponential', delay: HOUR } });
    await (await take()).moveToFailed(new Error('451'), 'token');
    await queue.add('late', { n: 2 }, { delay: 2 * HOUR, attempts: 2 });
    await queue.add('fixed', { n: 3 }, { attempts: 3, backoff: { type: 'fixed', delay: 700, jitter: 0.5 } });
    await queue.add('own', { n: 4 }, { attempts: 3, backoff: { type: 'own' } });
    await rig.import();
    const byInput = new Map((await rig.created()).map((job) => [(job.input as { n: number }).n, job]));
    const [tried, late, fixed, own] = [1, 2, 3, 4].map((n) => byInput.get(n));
    expect(tried).toMatchObject({
      queue: 'scheduled',
      options: { retry: { attempts: 4, backoff: 'exponential', delay: 2 * HOUR, jitter: 0 } },
    });
    expect(tried?.due).toBeGreaterThanOrEqual(before + HOUR);
    expect(late?.options['retry']).toEqual({ attempts: 2, backoff: 'fixed', delay: 1, jitter: 0 });
    expect((late?.due ?? 0) - before).toBeGreaterThanOrEqual(2 * HOUR);
    expect(fixed?.options['retry']).toMatchObject({ attempts: 3, backoff: 'fixed', delay: 700, jitter: 0.5 });
    expect(own?.options['retry']).toEqual({ attempts: 3 });
    const headers = fixed?.options['headers'] as Record<string, string>;
    expect(headers).toMatchObject({ 'import-id': '3', 'import-name': 'fixed' });
    expect(Number(headers['import-timestamp'])).toBeGreaterThanOrEqual(before);
  });

  it('leaves jobs that run, that wait for children, and that belong to flows', async () => {
    const queue = queueOf();
    await queue.add('runs', {});
    await take();
    const flow = new FlowProducer({ connection: rig.connection });
    open.push(flow);
    await flow.add({ name: 'parent', queueName: 'mail', children: [{ name: 'child', queueName: 'mail' }] });
    await queue.add('plain', {});
    const { moved, left } = await rig.import();
    expect(moved).toEqual({ waiting: 1 });
    expect(left.map(({ reason, count }) => [reason, count])).toEqual([
      ['flow', 1],
      ['active', 1],
      ['waiting-children', 1],
    ]);
  });

  it('moves failed jobs only on request, with all their attempts', async () => {
    const queue = queueOf();
    await queue.add('send', { n: 1 }, { attempts: 2 });
    for (let attempt = 1; attempt <= 2; attempt++)
      await (await take()).moveToFailed(new Error('451'), 'token');
    await expect(rig.import()).resolves.toMatchObject({ moved: {}, left: [{ reason: 'failed', count: 1 }] });
    await expect(rig.import({ failed: true })).resolves.toMatchObject({ moved: { failed: 1 }, left: [] });
    await expect(rig.created()).resolves.toEqual([
      expect.objectContaining({
        queue: 'normal',
        options: expect.objectContaining({ retry: expect.objectContaining({ attempts: 2 }) }),
      }),
    ]);
  });

  it('maps names to functions, and leaves those without one', async () => {
    const queue = queueOf();
    for (const name of ['welcome', 'invoice', 'other']) await queue.add(name, { name });
    const functionOf = (name: string | undefined) => (name === 'other' ? undefined : `mail:${name}`);
    const { functions, left } = await rig.import({ rules: { functionOf } });
    expect(functions).toEqual({ 'mail:welcome': 1, 'mail:invoice': 1 });
    expect(left).toEqual([{ reason: 'unmapped', count: 1, ids: ['3'] }]);
    await expect(createdJobs(rig.target, 'mail:welcome')).resolves.toHaveLength(1);
  });

  it('keeps unique keys, and loses no job whose key is taken', async () => {
    const queue = queueOf();
    await queue.add('send', { n: 1 }, { deduplication: { id: 'key' } });
    await rig.source.del('bull:mail:de:key');
    await queue.add('send', { n: 2 }, { deduplication: { id: 'key' } });
    await queue.add('send', { n: 3 }, { jobId: 'key' });
    await queue.add('send', { n: 4 }, { deduplication: { id: 'short', ttl: 60_000 } });
    await rig.import();
    const inputs = (await rig.created()).map(({ input }) => (input as { n: number }).n);
    expect(inputs.sort()).toEqual([1, 2, 3, 4]);
    await expect(rig.target.hkeys('unique:mail')).resolves.toEqual(['key']);
  });

  it('changes nothing in a dry run, and counts the same', async () => {
    const queue = queueOf();
    for (let n = 0; n < 7; n++) await queue.add('send', { n }, { delay: n % 2 ? HOUR : 0 });
    await queue.upsertJobScheduler(
      'daily',
      { pattern: '0 9 * * *', tz: 'Europe/Berlin' },
      { name: 'report' },
    );
    const dump = async () =>
      Promise.all((await rig.source.keys('*')).sort().map((key) => rig.source.dumpBuffer(key)));
    const before = await dump();
    const dry = await rig.import({ dryRun: true, batch: 2 });
    await expect(dump()).resolves.toEqual(before);
    await expect(rig.target.dbsize()).resolves.toBe(0);
    const real = await rig.import({ batch: 2 });
    expect(real).toEqual({ ...dry, dryRun: false });
    expect(real.moved).toEqual({ schedules: 1, waiting: 4, delayed: 3 });
  });

  it('counts the due job of a schedule in a dry run, too', async () => {
    await queueOf().upsertJobScheduler('often', { every: HOUR }, { name: 'ping' });
    const dry = await rig.import({ dryRun: true });
    expect(dry).toMatchObject({ moved: { schedules: 1, waiting: 1 }, left: [] });
    await expect(rig.import()).resolves.toEqual({ ...dry, dryRun: false });
  });

  it('leaves a schedule whose input no schedule may have, and moves the rest', async () => {
    const queue = queueOf();
    const at = { every: HOUR, startDate: Date.now() + HOUR };
    await queue.upsertJobScheduler('large', at, { name: 'ping', data: { text: 'x'.repeat(1024 * 1024) } });
    await queue.upsertJobScheduler('small', at, { name: 'ping', data: { text: 'x'.repeat(200) } });
    await queue.add('send', 'text');
    const { moved, left } = await rig.import({ rules: { largest: 2 * 1024 * 1024 } });
    expect(moved).toEqual({ schedules: 1, waiting: 1 });
    expect(left).toContainEqual({ reason: 'too-large', count: 1, ids: ['large'] });
    await queue.upsertJobScheduler('other', at, { name: 'ping', data: { text: 'x'.repeat(200) } });
    const next = await rig.import({ rules: { largest: 100 } });
    expect(next.left).toContainEqual({ reason: 'too-large', count: 2, ids: ['large', 'other'] });
    await expect(queue.getJobSchedulers()).resolves.toHaveLength(2);
  });

  it('moves schedules, which go on at the same times', async () => {
    const queue = queueOf();
    const pattern = { pattern: '30 9 * * 1-5', tz: 'Europe/Berlin', limit: 5 };
    await queue.upsertJobScheduler('daily', pattern, {
      name: 'report',
      data: { to: 'ada' },
      opts: { attempts: 3 },
    });
    await queue.upsertJobScheduler('often', { every: 10_000_000 }, { name: 'ping' });
    await queue.upsertJobScheduler('quick', { every: 500 }, { name: 'tick' });
    // The first job of `every` is due at once.
    await (await take()).moveToCompleted('', 'token', false);
    const next = new Map((await queue.getJobSchedulers()).map(({ key, next: time }) => [key, time]));
    const report = await rig.import();
    expect(report.moved['schedules']).toBe(2);
    expect(report.left).toEqual(
      expect.arrayContaining([
        { reason: 'schedule', count: 1, ids: ['quick'] },
        { reason: 'next-of-schedule', count: 1, ids: [expect.stringContaining('repeat:quick:')] },
      ]),
    );
    await expect(queue.getJobSchedulers()).resolves.toHaveLength(1);
    const stored = await rig.target.hgetall('schedules:mail');
    const specs = Object.entries(stored).flatMap(([field, value]) =>
      value.startsWith('{') ? [[field, JSON.parse(value) as Record<string, unknown>] as const] : [],
    );
    const daily = specs.find(([field]) => field.includes('daily'))?.[1];
    expect(daily).toMatchObject({
      cron: '30 9 * * 1-5',
      timezone: 'Europe/Berlin',
      limit: 5,
      input: '{"to":"ada"}',
    });
    expect(daily).toMatchObject({
      options: { retry: { attempts: 3 }, headers: { 'import-name': 'report' } },
    });
    const ticks = await rig.target.zrange('ticks:mail', '0', '-1', 'WITHSCORES');
    expect(Number(ticks[ticks.indexOf('mail:daily') + 1])).toBe(next.get('daily'));
  });

  it('leaves a schedule whose id there is here', async () => {
    const queue = queueOf();
    await queue.upsertJobScheduler('daily', { pattern: '0 9 * * *', tz: 'UTC' }, { name: 'report' });
    await rig.import();
    await queue.upsertJobScheduler('daily', { pattern: '0 10 * * *', tz: 'UTC' }, { name: 'report' });
    const { moved, left } = await rig.import();
    expect(moved).toEqual({});
    expect(left).toEqual([
      { reason: 'schedule-here', count: 1, ids: ['daily'] },
      { reason: 'next-of-schedule', count: 1, ids: [expect.stringContaining('repeat:daily:')] },
    ]);
    await expect(queue.getDelayedCount()).resolves.toBe(1);
    // As the line of the program says.
    await queue.removeJobScheduler('daily');
    await expect(rig.import()).resolves.toMatchObject({ moved: {}, left: [] });
  });

  it('takes part of a queue if it is stopped, and the rest later', async () => {
    const queue = queueOf();
    await queue.addBulk(Array.from({ length: 10 }, (_, n) => ({ name: 'send', data: { n } })));
    const stop = new AbortController();
    const onProgress = (moved: number) => void (moved >= 4 && stop.abort());
    const first = await rig.import({ batch: 2, signal: stop.signal, onProgress });
    expect(first).toMatchObject({ moved: { waiting: 4 }, interrupted: true });
    await expect(rig.import()).resolves.toMatchObject({ moved: { waiting: 6 }, resumed: false });
    expect((await rig.created()).map(({ input }) => (input as { n: number }).n)).toEqual([
      ...Array(10).keys(),
    ]);
  });

  it('says that jobs came later, behind where it looked', async () => {
    const queue = queueOf();
    await queue.addBulk(Array.from({ length: 4 }, (_, n) => ({ name: 'send', data: { n } })));
    let added = 4;
    // A producer that is as fast as the import.
    const onProgress = () =>
      void rig.source
        .multi()
        .hset(`bull:mail:late-${++added}`, { name: 'send', data: '{}', opts: '{}' })
        .lpush('bull:mail:paused', `late-${added}`)
        .exec();
    const { left } = await rig.import({ batch: 1, onProgress });
    const waiting = await rig.source.llen('bull:mail:paused');
    expect(left).toEqual([{ reason: 'later', count: waiting, ids: [] }]);
    await expect(rig.import()).resolves.toMatchObject({ moved: { paused: waiting }, left: [] });
  });

  it('moves each job once if two programs import a queue that a worker and a producer use', async () => {
    const queue = queueOf();
    await queue.addBulk(Array.from({ length: 300 }, (_, n) => ({ name: 'send', data: { n } })));
    const ran: number[] = [];
    const worker = new Worker('mail', async (job) => void ran.push((job.data as { n: number }).n), {
      connection: rig.connection,
      concurrency: 5,
    });
    open.push(worker);
    const adding = (async () => {
      for (let n = 300; n < 400; n++) await queue.add('send', { n }, { priority: n % 3 });
    })();
    const imports = [1, 2].map(() => new ImportInProcess(rig.urls(), { batch: 7 }).run());
    await Promise.all([adding, ...imports]);
    await worker.close();
    await rig.import();
    const moved = (await rig.created()).map(({ input }) => (input as { n: number }).n);
    expect([...moved, ...ran].sort((one, other) => one - other)).toEqual([...Array(400).keys()]);
  });
});
