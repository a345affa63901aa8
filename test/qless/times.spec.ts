import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { QlessClient, type QlessJob, type QlessQueue } from '../../lib/qless/index.js';
import { noDurations } from '../support/no-durations.js';
import { useRedis } from '../support/use-redis.js';

const server = useRedis();
let client: QlessClient;
let queue: QlessQueue;
/** What time the client says it is. */
let now: Date;

beforeEach(async () => {
  await server.redis.flushall();
  now = new Date('2030-01-01');
  client = new QlessClient({ connection: server.url, worker: 'w', clock: () => now });
  queue = client.queue('q');
});
afterEach(() => client.close());

const later = (ms: number) => new Date(now.getTime() + ms);

async function popped(jid: string): Promise<QlessJob> {
  await queue.put('K', {}, { jid });
  const [job] = await queue.pop();
  if (!job) throw new Error('Nothing was popped');
  return job;
}

describe('a time that qless does not take', () => {
  const calls: [string, (value: never) => Promise<unknown>][] = [
    ['put({ delay })', (delay) => queue.put('K', {}, { delay })],
    ['putAbsent({ delay })', (delay) => queue.putAbsent('new', 'K', {}, { delay })],
    ['putMany({ delay })', (delay) => queue.putMany([{ klass: 'K', delay }])],
    ['recur({ interval })', (interval) => queue.recur('K', {}, { interval })],
    ['recur({ offset })', (offset) => queue.recur('K', {}, { interval: '1m', offset })],
    ['pop({ wait })', (wait) => queue.pop({ wait })],
  ];

  it.each(calls)('is refused before anything is written: %s', async (name, call) => {
    const option = /[a-z]+(?= })/.exec(name)?.[0];
    for (const [, value] of noDurations())
      await expect(call(value as never)).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
    await expect(server.redis.keys('*')).resolves.toEqual([]);
  });

  it('is refused for a job and a recurring job, which stay as they were', async () => {
    const job = await popped('a');
    await queue.recur('K', {}, { jid: 'r', interval: '1m' });
    const recurring = await client.recurring.get('r');
    const before = await server.redis.hgetall('ql:j:a');
    for (const [, value] of noDurations()) {
      const refused = { code: 'INVALID_OPTION', option: 'delay' };
      const delay = value as never;
      await expect(job.retry({ delay })).rejects.toMatchObject(refused);
      await expect(job.complete({ next: 'n', delay })).rejects.toMatchObject(refused);
      await expect(job.move('n', { delay })).rejects.toMatchObject(refused);
      await expect(recurring?.update({ interval: delay })).rejects.toMatchObject({
        ...refused,
        option: 'interval',
      });
    }
    await expect(server.redis.hgetall('ql:j:a')).resolves.toEqual(before);
    await expect(client.recurring.get('r')).resolves.toMatchObject({ interval: 60_000 });
  });

  it('is a delay of jobs that go nowhere, which stay as they were', async () => {
    const job = await popped('a');
    for (const options of [{ delay: '1s' }, { depends: ['b'] }, { delay: Number.NaN }])
      await expect(client.jobs.completeMany([job], options)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining('to be absent without `next`'),
      });
    await expect(client.jobs.get('a')).resolves.toMatchObject({ state: 'running' });
  });

  it.each(['', 0, 5, new Date(), null, {}])('is a clock that is no function: %p', (clock) => {
    expect(() => new QlessClient({ connection: server.url, clock: clock as never })).toThrow(
      'Expected `clock` to be a function that returns a Date',
    );
  });

  it('is an interval of 0, a wait beyond all timers, a day that is none, a clock without a Date', async () => {
    await expect(queue.recur('K', {}, { interval: 0 })).rejects.toThrow('`interval` to be more than 0 ms');
    await expect(queue.pop({ wait: '25d' })).rejects.toThrow(
      '`wait` to be at least 0 ms and at most 24 days',
    );
    await expect(queue.stats(new Date('never'))).rejects.toThrow('Expected `date` to be a valid Date');
    for (const time of [5, '2030-01-01', new Date('never')]) {
      now = time as Date;
      await expect(client.queues()).rejects.toThrow('Expected `clock` to be a valid Date');
    }
  });
});

describe('times of qless', () => {
  it('delay jobs by text and by milliseconds, also for years', async () => {
    await queue.put('K', {}, { jid: 'b', delay: 1500 });
    await queue.put('K', {}, { jid: 'a', delay: '1s' });
    await queue.put('K', {}, { jid: 'c', delay: '50 years' });
    now = later(1499);
    await expect(queue.pop({ count: 3 })).resolves.toMatchObject([{ jid: 'a' }]);
    now = later(1);
    await expect(queue.pop({ count: 3 })).resolves.toMatchObject([{ jid: 'b' }]);
    now = later(49 * 365.25 * 86_400_000);
    await expect(queue.jids('scheduled')).resolves.toEqual(['c']);
    now = later(2 * 365.25 * 86_400_000);
    expect((await queue.pop({ count: 3 })).map(({ jid }) => jid)).toContain('c');
  });

  it('delay jobs that are retried, moved, or continue in another queue', async () => {
    await (await popped('a')).retry({ delay: '1m' });
    await (await popped('b')).move('q', { delay: 60_000 });
    await (await popped('c')).complete({ next: 'q', delay: '60s' });
    now = later(59_999);
    await expect(queue.pop({ count: 3 })).resolves.toEqual([]);
    now = later(1);
    await expect(queue.pop({ count: 3 })).resolves.toHaveLength(3);
  });

  it('are Dates of a job, and seconds in its record', async () => {
    await queue.put('K', {}, { jid: 'a' });
    const waiting = await client.jobs.get('a');
    expect(waiting).toMatchObject({ expires: null, failure: null, history: [{ what: 'put', when: now }] });
    const [job] = await queue.pop();
    expect(job?.expires).toEqual(later(60_000));
    expect(job?.record.expires).toBe(now.getTime() / 1000 + 60);
    await job?.log('on its way', { part: 1 });
    await job?.fail('g', 'm');
    const failed = await client.jobs.get('a');
    expect(failed?.failure).toEqual({ group: 'g', message: 'm', worker: 'w', when: now });
    expect(failed?.history).toMatchObject([{}, {}, { what: 'on its way', when: now, part: 1 }, {}]);
  });

  it('are milliseconds of an interval and of statistics', async () => {
    await queue.recur('K', {}, { jid: 'r', interval: '1.5s', offset: '1h' });
    await expect(client.recurring.get('r')).resolves.toMatchObject({ interval: 1500 });
    await (await client.recurring.get('r'))?.update({ interval: '1 day' });
    await expect(client.recurring.get('r')).resolves.toMatchObject({ interval: 86_400_000 });
    for (const jid of ['a', 'b']) await queue.put('K', {}, { jid });
    now = later(2000);
    const [job] = await queue.pop();
    now = later(1000);
    await queue.pop();
    await job?.complete();
    const { wait, run } = await queue.stats(now);
    expect(wait).toMatchObject({ count: 2, mean: 2500 });
    expect(wait.std).toBeCloseTo(Math.SQRT1_2 * 1000, 3);
    expect(run).toMatchObject({ count: 1, mean: 1000, std: 0 });
  });
});
