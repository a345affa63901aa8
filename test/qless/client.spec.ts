import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, take, toArray } from 'rxjs';
import {
  QlessArgumentError,
  QlessClient,
  QlessDependencyError,
  QlessError,
  QlessJobLostError,
  QlessJobNotFoundError,
  QlessStateError,
  type QlessJob,
  type QlessQueue,
} from '../../lib/qless/index.js';
import { freePort } from '../support/free-port.js';
import { onThisMachine } from '../support/machine.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

const server = useRedis();
let client: QlessClient;
let queue: QlessQueue;

beforeEach(async () => {
  await server.redis.flushall();
  client = new QlessClient({ connection: server.url, worker: 'w' });
  queue = client.queue('q');
});
afterEach(() => client.close());

async function popped(): Promise<QlessJob> {
  const [job] = await queue.pop();
  if (!job) throw new Error('Nothing was popped');
  return job;
}

describe('a ping', () => {
  it('finds the server, or says why it does not', async () => {
    const address = new URL(server.url).host;
    await expect(client.ping()).resolves.toEqual({ connected: true, server: address });
    const away = new QlessClient({ connection: `redis://127.0.0.1:${await freePort()}` });
    await expect(away.ping(500)).resolves.toMatchObject({
      connected: false,
      problem: expect.stringContaining('ECONNREFUSED'),
    });
    await expect(away.ping(0)).rejects.toMatchObject({ code: 'INVALID_OPTION', option: 'timeout' });
    away.close();
  });
});

describe('a refusal of the core', () => {
  it.each([
    [
      'a priority that is none',
      () => queue.put('K', {}, { priority: Number.NaN }),
      QlessArgumentError,
      'QLESS_ARGUMENT',
    ],
    [
      'a job that is missing',
      () => client.jobs.timeout('gone'),
      QlessJobNotFoundError,
      'QLESS_JOB_NOT_FOUND',
    ],
  ])('is an error with a class and a code: %s', async (_, call, kind, code) => {
    await expect(call()).rejects.toThrow(kind);
    await expect(call()).rejects.toMatchObject({ code, message: expect.stringContaining('qless refused') });
    await expect(server.redis.keys('ql:j*')).resolves.toEqual([]);
  });

  it('names the command and the reason, without the place in the script', async () => {
    await expect(client.jobs.timeout('gone')).rejects.toMatchObject({
      command: 'Timeout',
      reason: 'Job gone does not exist',
    });
  });

  it('distinguishes a lost job from one in another state', async () => {
    await queue.put('K', {}, { jid: 'a' });
    const first = await popped();
    await first.timeout();
    await client.popper(['q'], { worker: 'other' }).pop();
    await expect(first.complete()).rejects.toThrow(QlessJobLostError);
    await expect(first.heartbeat()).rejects.toThrow(QlessJobLostError);
    await (await client.jobs.get('a'))?.complete();
    await expect(first.fail('g', 'm')).rejects.toThrow(QlessStateError);
  });

  it.each([
    [[], {}, 'Expected `queues` to be names of queues'],
    [[''], {}, 'Expected `queues`'],
    [['q'], { popping: 'roundrobin' as never }, "Expected `popping` to be 'ordered' or 'round-robin'"],
  ])('is a popper of %j %j', (queues, options, message) => {
    expect(() => client.popper(queues, options)).toThrow(message);
  });

  it.each([
    ['complete', () => client.jobs.complete({ count: 0 })],
    ['failed', () => client.jobs.failed('g', { count: -1 })],
    ['tagged', () => client.jobs.tagged('t', { offset: 0.5 })],
    ['topTags', () => client.jobs.topTags({ offset: -1 })],
    ['jids', () => queue.jids('waiting', { count: Number.NaN })],
  ])('is a part of a list that is none: %s', async (_, call) => {
    await expect(call()).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('is data without JSON, before anything is sent', async () => {
    await expect(queue.put('K', 1n)).rejects.toMatchObject({ code: 'NOT_SERIALIZABLE' });
    await expect(queue.pop({ count: -1 })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await queue.put('K');
    const cycle: Record<string, unknown> = {};
    cycle['itself'] = cycle;
    await expect((await popped()).log('m', cycle)).rejects.toMatchObject({ code: 'NOT_SERIALIZABLE' });
  });

  it.each(['delay', 'priority'])('rejects at once, and not as an outage, when %s is null', async (option) => {
    const since = performance.now();
    await expect(queue.put('K', {}, { [option]: null as never })).rejects.not.toThrow(
      'Check that the server is up',
    );
    expect(performance.now() - since).toBeLessThan(onThisMachine(4000));
  });

  it('is an outage, within the deadline', async () => {
    const lost = new QlessClient({ connection: 'redis://127.0.0.1:1', timeout: 100 });
    await expect(lost.queues()).rejects.toMatchObject({ code: 'CONNECTION' });
    lost.close();
  });
});

describe('jobs', () => {
  it('are put with server time, and read with true arrays and null', async () => {
    const jid = await queue.put('K', { to: 'ada' });
    const job = await client.jobs.get(jid);
    expect(job?.data).toEqual({ to: 'ada' });
    expect(job?.record).toMatchObject({
      state: 'waiting',
      tags: [],
      dependents: [],
      dependencies: [],
      failure: null,
      spawnedFrom: null,
      priority: 0,
      remaining: 5,
    });
    expect(Math.abs(Number(job?.history[0]?.when) - Date.now())).toBeLessThan(60_000);
    await expect(client.jobs.get('gone')).resolves.toBeNull();
  });

  it('take all options of put', async () => {
    await queue.put('K', {}, { jid: 'first' });
    const options = { jid: 'a', priority: 3, tags: ['x', 'y'], retries: 2, depends: ['first'], delay: '1m' };
    await queue.put('K', [1], options);
    await expect(client.jobs.get('a')).resolves.toMatchObject({
      state: 'depends',
      data: [1],
      record: { priority: 3, tags: ['x', 'y'], retries: 2, dependencies: ['first'] },
    });
  });

  it('are not put again with `putAbsent`', async () => {
    await expect(queue.putAbsent('a', 'K', 1)).resolves.toBe(true);
    await expect(queue.putAbsent('a', 'K', 2)).resolves.toBe(false);
    await expect(client.jobs.get('a')).resolves.toMatchObject({ data: 1 });
  });

  it('go through their life', async () => {
    await queue.put('K', {}, { jid: 'a' });
    const job = await popped();
    expect((await job.heartbeat({ at: 1 })).getTime()).toBeGreaterThan(Date.now());
    await job.log('half', { part: 2 });
    await expect(job.tag('t')).resolves.toEqual(['t']);
    await expect(job.retry({ delay: '60s', group: 'g', message: 'm' })).resolves.toBe(4);
    await expect(client.jobs.get('a')).resolves.toMatchObject({
      state: 'scheduled',
      data: { at: 1 },
      record: { failure: { group: 'g' }, tags: ['t'] },
    });
    await job.move('q');
    await expect((await popped()).complete({ next: 'then', delay: '60s' })).resolves.toBe('scheduled');
    await job.move('q', { priority: 1 });
    await expect((await popped()).complete({ data: 'done' })).resolves.toBe('complete');
    await expect(client.jobs.get('a')).resolves.toMatchObject({ state: 'complete', data: 'done', queue: '' });
    await expect(client.jobs.complete()).resolves.toEqual(['a']);
    await client.queue('q').put('K', {}, { jid: 'b' });
    await (await popped()).fail('broken', 'no disk');
    await expect(client.jobs.failures()).resolves.toEqual({ broken: 1 });
    await expect(client.jobs.failed('broken')).resolves.toEqual({ total: 1, jobs: ['b'] });
    await expect(queue.unfail('broken')).resolves.toBe(1);
    await (await client.jobs.get('b'))?.cancel();
    await expect(client.jobs.get('b')).resolves.toBeNull();
  });

  it('are put and completed in bulk, a round trip for a hundred', async () => {
    const jids = await queue.putMany(Array.from({ length: 250 }, (_, n) => ({ klass: 'K', data: n })));
    expect(new Set(jids).size).toBe(250);
    const jobs = await queue.pop({ count: 250 });
    expect(jobs.map(({ jid }) => jid)).toEqual(jids);
    await jobs[7]?.timeout();
    const states = await client.jobs.completeMany(jobs);
    expect(states.filter((state) => state === 'complete')).toHaveLength(249);
    expect(states[7]).toBeInstanceOf(QlessError);
    await expect(client.jobs.getMany([...jids, 'gone'])).resolves.toHaveLength(250);
  });

  it('of several queues are completed in one call', async () => {
    const other = client.queue('other');
    for (const each of [queue, other]) await each.put('K');
    const jobs = [...(await queue.pop()), ...(await other.pop())];
    await expect(client.jobs.completeMany(jobs)).resolves.toEqual(['complete', 'complete']);
  });

  it('are cancelled in any number, also if they depend on each other', async () => {
    const jids = await queue.putMany(Array.from({ length: 500 }, (_, n) => ({ klass: 'K', jid: `j${n}` })));
    await queue.put('K', {}, { jid: 'j0', depends: ['j499'] });
    await queue.put('K', {}, { jid: 'j450', depends: ['j3'] });
    await expect(client.jobs.cancel('j3')).rejects.toThrow(QlessDependencyError);
    await client.jobs.cancel(...jids);
    await expect(queue.length()).resolves.toBe(0);
    await expect(server.redis.keys('ql:j:*')).resolves.toEqual([]);
  });

  it('depend on others as long as they are to', async () => {
    await queue.putMany(['a', 'b'].map((jid) => ({ klass: 'K', jid })));
    await queue.put('K', {}, { jid: 'c', depends: ['a'] });
    const job = await client.jobs.get('c');
    await job?.dependOn('b');
    await job?.undepend('a');
    await expect(client.jobs.get('c')).resolves.toMatchObject({ record: { dependencies: ['b'] } });
    await job?.undepend();
    await expect(client.jobs.get('c')).resolves.toMatchObject({ state: 'waiting' });
    await expect(job?.undepend()).rejects.toThrow(QlessStateError);
  });

  it('are tagged, tracked and given priorities', async () => {
    await queue.putMany(['a', 'b'].map((jid) => ({ klass: 'K', jid, tags: ['t'] })));
    await expect(client.jobs.tagged('t')).resolves.toEqual({ total: 2, jobs: ['a', 'b'] });
    await expect(client.jobs.tagged('none')).resolves.toEqual({ total: 0, jobs: [] });
    await expect(client.jobs.topTags()).resolves.toEqual(['t']);
    const job = await client.jobs.get('b');
    await expect(job?.untag('t')).resolves.toEqual([]);
    await expect(job?.track()).resolves.toBe(true);
    await expect(client.jobs.tracked()).resolves.toMatchObject({ jobs: [{ jid: 'b' }], expired: [] });
    await expect(job?.untrack()).resolves.toBe(true);
    await job?.prioritize(9);
    await expect(queue.jids('waiting')).resolves.toEqual(['b', 'a']);
  });
});

describe('queues, workers, configuration', () => {
  it('have counts and statistics', async () => {
    await queue.putMany(['a', 'b', 'c'].map((jid) => ({ klass: 'K', jid })));
    await (await popped()).complete();
    await popped();
    const counts = { name: 'q', waiting: 1, running: 1, stalled: 0, scheduled: 0, paused: false };
    await expect(client.queues()).resolves.toMatchObject([counts]);
    await queue.pause();
    await expect(queue.counts()).resolves.toMatchObject({ ...counts, paused: true });
    await expect(queue.pop()).resolves.toEqual([]);
    await queue.unpause();
    await expect(queue.peek(5)).resolves.toMatchObject([{ jid: 'c' }]);
    const { wait, run } = await queue.stats();
    expect([wait.count, wait.histogram.length, run.count]).toEqual([2, 148, 1]);
    await expect(client.workers.list()).resolves.toEqual([{ name: 'w', jobs: 1, stalled: 0 }]);
    await expect(client.workers.get('w')).resolves.toEqual({ jobs: ['b'], stalled: [] });
    await client.workers.deregister('w');
    await expect(client.workers.list()).resolves.toEqual([]);
    await queue.forget();
    await expect(client.queues()).resolves.toEqual([]);
  });

  it('share one configuration', async () => {
    await client.config.set('heartbeat', 7);
    await expect(client.config.get('heartbeat')).resolves.toBe('7');
    await expect(client.config.all()).resolves.toMatchObject({ heartbeat: '7', 'grace-period': 10 });
    await client.config.unset('heartbeat');
    await expect(client.config.all()).resolves.toMatchObject({ heartbeat: 60 });
    await expect(client.config.get('nothing')).resolves.toBeNull();
  });

  it('have recurring jobs', async () => {
    const jid = await queue.recur('K', { n: 1 }, { interval: '60s', tags: ['t'], backlog: 2 });
    const recurring = await client.recurring.get(jid);
    expect(recurring?.record).toMatchObject({ interval: 60, backlog: 2, tags: ['t'], count: 0, queue: 'q' });
    expect(recurring?.interval).toBe(60_000);
    await expect(popped()).resolves.toMatchObject({ jid: `${jid}-1`, data: { n: 1 } });
    await recurring?.update({ interval: '30s', data: [2], klass: 'L', queue: 'r' });
    await expect(recurring?.tag('u')).resolves.toEqual(['t', 'u']);
    await expect(recurring?.untag('t')).resolves.toEqual(['u']);
    await expect(client.recurring.get(jid)).resolves.toMatchObject({
      data: [2],
      record: { queue: 'r', interval: 30 },
    });
    await recurring?.cancel();
    await expect(client.recurring.get(jid)).resolves.toBeNull();
    await expect(recurring?.update({ interval: '1s' })).rejects.toThrow(QlessJobNotFoundError);
  });

  it('are checked and put right', async () => {
    await queue.put('K', {}, { jid: 'a' });
    await server.redis.del('ql:j:a');
    await expect(client.checkConsistency()).resolves.toMatchObject({
      problems: [{ id: 'a', what: 'job is gone' }],
    });
    await client.checkConsistency({ resolve: true });
    await expect(client.checkConsistency()).resolves.toMatchObject({ problems: [] });
  });

  it('take the time from a clock of their own', async () => {
    let now = new Date(0);
    const other = new QlessClient({ connection: server.url, clock: () => now });
    const jid = await other.queue('q').put('K', {}, { delay: '100s' });
    await expect(other.queue('q').pop()).resolves.toEqual([]);
    now = new Date(101_000);
    await expect(other.queue('q').pop()).resolves.toMatchObject([{ jid }]);
    other.close();
  });
});

describe('a pop that waits', () => {
  const blocked = () => until(async () => (await server.redis.zcard('ql:idlers:q')) === 1);

  it('is over with the first job', async () => {
    const waiting = queue.pop({ wait: '10s', count: 5 });
    await blocked();
    const jid = await queue.put('K');
    await expect(waiting).resolves.toMatchObject([{ jid }]);
    await expect(server.redis.keys('ql:[iw]*[ek]:*')).resolves.toEqual([]);
  });

  it('is over in time, or when its signal aborts', async () => {
    await expect(queue.pop({ wait: 50 })).resolves.toEqual([]);
    const abort = new AbortController();
    const waiting = queue.pop({ wait: '60s', signal: abort.signal });
    await blocked();
    abort.abort();
    await expect(waiting).resolves.toEqual([]);
    await eventually(async () => expect(await server.redis.zcard('ql:idlers:q')).toBe(0));
  });

  it('wakes as many as there are jobs, each with one', async () => {
    const waiting = Array.from({ length: 5 }, () => queue.pop({ wait: '10s' }));
    await eventually(async () => expect(await server.redis.zcard('ql:idlers:q')).toBe(5));
    const jids = await queue.putMany(Array.from({ length: 5 }, () => ({ klass: 'K' })));
    const jobs = (await Promise.all(waiting)).flat();
    expect(jobs.map(({ jid }) => jid).toSorted()).toEqual(jids.toSorted());
  });

  it('ends in time, with the available jobs, while no further connection opens', async () => {
    await client.queues();
    const clients = String(await server.redis.client('LIST'))
      .trim()
      .split('\n').length;
    await server.redis.config('SET', 'maxclients', clients);
    try {
      await expect(queue.pop({ wait: 100 })).resolves.toEqual([]);
      const waiting = queue.pop({ wait: '60s' });
      await blocked();
      const jid = await queue.put('K');
      await expect(waiting).resolves.toMatchObject([{ jid }]);
      const aborted = AbortSignal.timeout(50);
      await expect(queue.pop({ wait: '60s', signal: aborted })).resolves.toEqual([]);
    } finally {
      await server.redis.config('SET', 'maxclients', 10_000);
    }
  });

  it('is bounded by the next scheduled job, and by a lock that ends', async () => {
    await client.config.set('heartbeat', 0.3);
    await client.config.set('grace-period', 0);
    const jid = await queue.put('K', {}, { delay: 200 });
    await expect(queue.pop({ wait: '10s' })).resolves.toMatchObject([{ jid }]);
    await expect(queue.pop({ wait: '10s' })).resolves.toMatchObject([{ jid, record: { remaining: 4 } }]);
  });
});

describe('events', () => {
  const listening = (channel: string) =>
    until(async () => Number((await server.redis.pubsub('NUMSUB', channel))[1]) === 1);

  it('come as they were published, of all jobs, of a worker, and of tracked ones', async () => {
    const log = firstValueFrom(client.events.log().pipe(take(3), toArray()));
    const worker = firstValueFrom(client.events.worker('w'));
    const completed = firstValueFrom(client.events.tracked('completed'));
    for (const channel of ['ql:log', 'ql:w:w', 'ql:completed']) await listening(channel);
    await queue.put('K', {}, { jid: 'a' });
    await (await client.jobs.get('a'))?.track();
    await (await popped()).timeout();
    await (await popped()).complete();
    await expect(log).resolves.toMatchObject([
      { event: 'put', jid: 'a' },
      { event: 'lock_lost' },
      { event: 'completed' },
    ]);
    await expect(worker).resolves.toEqual({ event: 'lock_lost', jid: 'a', worker: 'w' });
    await expect(completed).resolves.toBe('a');
    await eventually(async () => expect(await server.redis.pubsub('CHANNELS', 'ql:*')).toHaveLength(0));
  });
});
