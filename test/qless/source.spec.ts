import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import type { JobSource } from '../../lib/job/job-source.js';
import { QlessClient, qless, type QlessOptions } from '../../lib/qless/index.js';
import type { QlessSourceOptions } from '../../lib/qless/source/qless-source.js';
import { claim } from '../../lib/qless/wire/source-scripts.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { SlotTable } from '../../lib/worker/slot-table.js';
import { claimOne, claimUpTo, failure, released, retry, success } from '../contract/claiming.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { Program, stopProgramsAfterEach } from '../support/worker-process.js';
import { sourceOn } from './source-rig.js';

const server = useRedis();
let client: QlessClient;
let sources: JobSource[] = [];

beforeEach(async () => {
  await server.redis.flushall();
  client = new QlessClient({ connection: server.url });
});
stopWorkersAfterEach();
stopProgramsAfterEach();
afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.close()));
  client.close();
});

async function open(options: Partial<QlessSourceOptions> & { keeper?: boolean } = {}, klasses = ['K']) {
  const source = sourceOn({ connection: server.url }, options);
  sources.push(source);
  await source.open(klasses);
  return source;
}

const program = () => Program.start('test/qless/worker-program.ts', { url: server.url, queue: 'q' });

const historyOf = async (jid: string) => (await client.jobs.get(jid))?.record.history.map(({ what }) => what);

describe('qless()', () => {
  const build = (options: object) => () =>
    qless({ connection: server.url, queues: ['q'], ...options } as QlessOptions);

  it.each([
    [{ queues: [] }, 'Expected `queues` to be names of queues'],
    [{ queues: [''] }, 'Expected `queues`'],
    [{ queues: 'mail' }, 'Expected `queues`'],
    [{ popping: 'random' }, "Expected `popping` to be 'ordered' or 'round-robin', got \"random\""],
    [{ worker: '' }, 'Expected `worker`'],
    [{ lock: 0 }, 'Expected `lock`'],
    [{ prefix: 'a b' }, '`prefix` of qless must be text without white space'],
    [{ connection: 'localhost' }, '`connection` is not a URL'],
    [{ connection: { nodes: [7000] }, prefix: 'ql:' }, 'needs a hash tag'],
  ])('refuses %j', (options, message) => {
    expect(build(options)).toThrow(message);
  });
});

describe('popping', () => {
  /** The source document's example: five jobs in A, two in B, three in C. */
  async function fill() {
    for (const [queue, count] of Object.entries({ A: 5, B: 2, C: 3 }))
      await client.queue(queue).putMany(Array.from({ length: count }, () => ({ klass: 'K', data: queue })));
  }

  const EXPECTED = { ordered: 'CCCBBAAAAA', 'round-robin': 'CBACBACAAA' } as const;
  const cases = (['ordered', 'round-robin'] as const).flatMap((popping) =>
    [1, 4, 10].map((slots) => [popping, slots] as const),
  );

  it.each(cases)('%s with %i slots is as the source document has it', async (popping, slots) => {
    await fill();
    const source = await open({ queues: ['C', 'B', 'A'], popping });
    let order = '';
    while (order.length < 10) {
      const claims = await claimUpTo(source, 'K', slots);
      expect(claims.length).toBeLessThanOrEqual(slots);
      order += claims.map(({ input }) => JSON.parse(Buffer.from(input).toString()) as string).join('');
    }
    expect(order).toBe(EXPECTED[popping]);
  });

  it.each(['ordered', 'round-robin'] as const)('%s is the same for a client', async (popping) => {
    await fill();
    const popper = client.popper(['C', 'B', 'A'], { popping });
    const jobs = [...(await popper.pop({ count: 4 })), ...(await popper.pop({ count: 6 }))];
    expect(jobs.map(({ data }) => data).join('')).toBe(EXPECTED[popping]);
  });

  it.each(['ordered', 'round-robin'] as const)(
    '%s hands no job out twice where a queue is named twice',
    async (popping) => {
      const jids = await client.queue('d').putMany(Array.from({ length: 6 }, () => ({ klass: 'K' })));
      const jobs = await client.popper(['d', 'd'], { popping }).pop({ count: 6 });
      expect(jobs.map(({ jid }) => jid)).toEqual(jids);
      await client.queue('e').putMany(Array.from({ length: 6 }, () => ({ klass: 'K' })));
      const rows = ['e', 0, 'e', 0];
      const claimed = await claim.run(server.redis, ['ql:'], '', 'w', '', popping, 1, 6, '', '', 0, [], rows);
      expect(new Set(claimed.jobs.map(({ jid }) => jid)).size).toBe(claimed.jobs.length);
      await expect(client.queue('e').stats()).resolves.toMatchObject({
        wait: { count: claimed.jobs.length },
      });
    },
  );

  it('leaves a job whose jid is no text to others: what is said of it could not be sent back', async () => {
    const odd = Buffer.from([0xff, 0x01]);
    const job = { jid: odd, klass: 'K', data: '{}', priority: 9, tags: '[]', state: 'waiting', queue: 'q' };
    await server.redis.hset(Buffer.from([...Buffer.from('ql:j:'), ...odd]), {
      ...job,
      worker: '',
      retries: 5,
      remaining: 5,
      time: 1,
    });
    await server.redis.zadd('ql:q:q-work', 9, odd);
    const jid = await client.queue('q').put('K', {}, { jid: 'ünïcode€😀' });
    const claims = await claimUpTo(await open(), 'K', 5);
    expect(claims.map(({ id }) => id)).toEqual([jid]);
    await expect(server.redis.zcard('ql:q:q-work')).resolves.toBe(1);
  });

  it('takes higher priorities first, and nothing of a paused queue', async () => {
    const queue = client.queue('q');
    await queue.put('K', 'low', { priority: -1 });
    await queue.put('K', 'high', { priority: 1 });
    await client.queue('paused').put('K', 'never');
    await client.queue('paused').pause();
    const source = await open({ queues: ['paused', 'q'] });
    const claims = await claimUpTo(source, 'K', 5);
    expect(claims.map(({ input }) => Buffer.from(input).toString())).toEqual(['"high"', '"low"']);
  });

  it('keeps to max-concurrency', async () => {
    await client.config.set('q-max-concurrency', 2);
    await client.queue('q').putMany(Array.from({ length: 4 }, () => ({ klass: 'K' })));
    await expect(claimUpTo(await open(), 'K', 9)).resolves.toHaveLength(2);
  });
});

describe('jobs of a klass without a handler here', () => {
  it('stay where they are, are reported once, and others behind them are found', async () => {
    const problems: string[] = [];
    const queue = client.queue('q');
    const foreign = await queue.putMany(Array.from({ length: 1300 }, () => ({ klass: 'Ruby' })));
    const jid = await queue.put('K');
    const source = await open({ onProblem: (message) => problems.push(message) });
    await expect(claimOne(source, 'K')).resolves.toMatchObject({ id: jid });
    expect(problems).toEqual([expect.stringContaining('Jobs of klass "Ruby" wait in q')]);
    await expect(queue.counts()).resolves.toMatchObject({ waiting: foreign.length, running: 1 });
    const [first] = await queue.pop();
    expect(first?.jid).toBe(foreign[0]);
  });

  it('wake a worker that handles them', async () => {
    const [ours, theirs] = [await open({}, ['K']), await open({}, ['Other'])];
    const abort = new AbortController();
    const never = ours.claim(new SlotTable([['K', 1]]), abort.signal);
    const claimed = claimOne(theirs, 'Other');
    await eventually(async () => expect(await server.redis.zcard('ql:idlers:q')).toBe(2));
    await client.queue('q').put('Other');
    await claimed;
    abort.abort();
    await expect(never).resolves.toEqual([]);
  });
});

describe('a source that waits', () => {
  it('is woken by a put, an unpause and a job that falls due, and leaves nothing behind', async () => {
    const source = await open({ queues: ['q', 'r'] });
    const waiting = () => until(async () => (await server.redis.zcard('ql:idlers:r')) === 1);

    const put = claimOne(source, 'K');
    await waiting();
    await client.queue('r').put('K');
    await put;

    await client.queue('q').pause();
    await client.queue('q').put('K');
    const unpaused = claimOne(source, 'K');
    await waiting();
    await client.queue('q').unpause();
    await unpaused;

    const due = claimOne(source, 'K');
    await waiting();
    const before = performance.now();
    await client.queue('q').put('K', {}, { delay: 300 });
    await due;
    expect(performance.now() - before).toBeGreaterThan(250);

    await source.close();
    for (const left of ['ql:idlers:*', 'ql:nudge:*', 'ql:wake:*']) {
      await expect(server.redis.keys(left)).resolves.toEqual([]);
    }
    await expect(client.workers.list()).resolves.toEqual([]);
  });

  it('leaves its token again when it is lost, and tokens of dead workers are removed', async () => {
    const sources = [await open(), await open()];
    const claims = sources.map((source) => claimOne(source, 'K'));
    const tokens = () => server.redis.zrange('ql:idlers:q', '0', '-1');
    await eventually(async () => expect(await tokens()).toHaveLength(2));
    await server.redis.flushall();
    await eventually(async () => expect(await tokens()).toHaveLength(2));
    const [one = ''] = await tokens();
    await server.redis.zrem('ql:idlers:q', one);
    await server.redis.zadd('ql:idlers:q', 1, 'dead');
    await eventually(async () => expect(await tokens()).toContain(one));
    await eventually(async () => expect(await tokens()).not.toContain('dead'));
    await client.queue('q').putMany([{ klass: 'K' }, { klass: 'K' }]);
    await Promise.all(claims);
  });

  it('leaves no mark for ever where its process is killed', async () => {
    await server.redis.zadd('ql:idlers:q', 1, 'killed');
    await client.queue('q').put('K');
    await expect(server.redis.llen('ql:wake:q')).resolves.toBe(1);
    expect(await server.redis.ttl('ql:wake:q')).toBeGreaterThan(0);
  });

  it('is woken, and hinders no put, beside the list that tokens of an earlier version are in', async () => {
    await server.redis.rpush('ql:idle:q', '1');
    const source = await open();
    const claim = claimOne(source, 'K');
    await eventually(async () => expect(await server.redis.zcard('ql:idlers:q')).toBe(1));
    await client.queue('q').put('K');
    await expect(claim).resolves.toMatchObject({ fn: 'K' });
  });

  it('sees what a client puts that knows no markers', async () => {
    const source = await open();
    const claim = claimOne(source, 'K');
    await eventually(async () => expect(await server.redis.zcard('ql:idlers:q')).toBe(1));
    const job = {
      jid: 'plain',
      klass: 'K',
      data: '{}',
      priority: 0,
      tags: '[]',
      state: 'waiting',
      queue: 'q',
    };
    await server.redis.hset('ql:j:plain', { ...job, worker: '', retries: 5, remaining: 5, time: 1 });
    await server.redis.zadd('ql:q:q-work', 0, 'plain');
    await expect(claim).resolves.toMatchObject({ id: 'plain' });
  });

  it('takes jobs of recurring ones when they are due', async () => {
    const source = await open();
    const claim = claimOne(source, 'K');
    const jid = await client.queue('q').recur('K', {}, { interval: '60s', offset: 200 });
    await expect(claim).resolves.toMatchObject({ id: `${jid}-1`, fn: 'K' });
  });

  it('gives back what it took when the connection broke before the reply', async () => {
    const source = await open();
    await client.queue('q').put('K', {}, { jid: 'a' });
    await server.server.kill('SIGSTOP');
    const claim = claimOne(source, 'K');
    await eventually(() => expect(source.health().connected).toBe(false));
    await server.server.kill('SIGCONT');
    await expect(claim).resolves.toMatchObject({ id: 'a', attempts: 1 });
    await expect(historyOf('a')).resolves.toEqual(['put', 'popped', 'released', 'popped']);
  });
});

describe('an outcome', () => {
  it('of success leaves what was returned in the history, and the data as it was', async () => {
    await client.queue('q').put('K', { to: 'ada' }, { jid: 'a' });
    const source = await open();
    await source.settle([success(await claimOne(source, 'K'), '"sent"')]);
    const job = await client.jobs.get('a');
    expect(job).toMatchObject({ state: 'complete', data: { to: 'ada' } });
    expect(job?.record.history).toMatchObject([
      { what: 'put' },
      { what: 'popped' },
      { what: 'returned', output: '"sent"' },
      { what: 'done' },
    ]);
  });

  it('of failure files the job under its klass and the name of the error', async () => {
    await client.queue('q').put('K', {}, { jid: 'a' });
    const source = await open();
    await source.settle([failure(await claimOne(source, 'K'), 'no disk')]);
    await expect(client.jobs.failures()).resolves.toEqual({ 'K:Error': 1 });
    await expect(client.jobs.failed('K:Error')).resolves.toEqual({ total: 1, jobs: ['a'] });
    await expect(client.jobs.get('a')).resolves.toMatchObject({
      record: { failure: { message: 'no disk' } },
    });
  });

  it('to be retried schedules the job, until it has no retries left', async () => {
    await client.queue('q').put('K', {}, { jid: 'a', retries: 1 });
    const source = await open();
    await source.settle([retry(await claimOne(source, 'K'), 3_600_000)]);
    await expect(client.jobs.get('a')).resolves.toMatchObject({
      state: 'scheduled',
      record: { remaining: 0, failure: { group: 'K:Error', message: 'not yet' } },
    });
    await client.queue('q').put('K', {}, { jid: 'b', retries: 0 });
    await source.settle([retry(await claimOne(source, 'K'), 1)]);
    await expect(client.jobs.get('b')).resolves.toMatchObject({ state: 'failed' });
  });

  it('of a release puts jobs before others of their priority, in their order', async () => {
    const queue = client.queue('q');
    const jids = await queue.putMany(['a', 'b', 'c', 'd'].map((jid) => ({ klass: 'K', jid })));
    await queue.put('K', {}, { jid: 'higher', priority: 1, delay: 1 });
    await until(async () => (await queue.counts()).scheduled === 0 || (await queue.peek(9)).length === 5);
    const source = await open();
    const claims = await claimUpTo(source, 'K', 3);
    expect(claims.map(({ id }) => id)).toEqual(['higher', 'a', 'b']);
    for (const claim of claims.toReversed()) await source.settle([released(claim)]);
    await expect(queue.jids('waiting')).resolves.toEqual(['higher', ...jids]);
    await expect(client.jobs.get('a')).resolves.toMatchObject({
      state: 'waiting',
      record: { remaining: 5, worker: '' },
    });
  });
});

describe('progress', () => {
  it('goes into the history, one item however many reports', async () => {
    await client.queue('q').put('K', {}, { jid: 'a' });
    await runWorker(await open(), 'K', async (_, job) => {
      for (let part = 1; part <= 200; part++) await job.update(part, 200);
    });
    await eventually(async () => expect((await client.jobs.get('a'))?.state).toBe('complete'));
    await expect(historyOf('a')).resolves.toEqual(['put', 'popped', 'progress', 'done']);
    expect((await client.jobs.get('a'))?.record.history[2]).toMatchObject({ dividend: 200, divisor: 200 });
  });
});

describe('a running handler', () => {
  async function running(jid: string) {
    const [started, aborted] = [gate<RunningJob>(), gate<unknown>()];
    const { said } = await runWorker(await open({ keeper: true }), 'K', (_, job) => {
      job.signal.addEventListener('abort', () => aborted.open(job.signal.reason));
      started.open(job);
      return aborted.passed;
    });
    await client.queue('q').put('K', {}, { jid });
    return { job: await started.passed, aborted: aborted.passed, said };
  }

  it('is aborted when its lock is taken away', async () => {
    const { aborted, job } = await running('a');
    await client.jobs.timeout('a');
    await expect(aborted).resolves.toMatchObject({ code: 'LEASE_LOST' });
    await expect(job.update(1, 2)).rejects.toThrow('given to another worker');
  });

  it('is aborted when its job is put elsewhere', async () => {
    const { aborted } = await running('a');
    await (await client.jobs.get('a'))?.move('other');
    await expect(aborted).resolves.toMatchObject({ code: 'LEASE_LOST' });
    await expect(client.jobs.get('a')).resolves.toMatchObject({ state: 'waiting', queue: 'other' });
  });

  it('is aborted when its job is cancelled', async () => {
    const { aborted } = await running('a');
    await client.jobs.cancel('a');
    await expect(aborted).resolves.toMatchObject({ code: 'JOB_CANCELLED' });
  });

  it('keeps its lock beyond its length, also after a warning of its expiry', async () => {
    await client.config.set('heartbeat', 0.6);
    const { said } = await running('a');
    const first = (await client.jobs.get('a'))?.record.expires ?? 0;
    await eventually(async () =>
      expect((await client.jobs.get('a'))?.record.expires ?? 0).toBeGreaterThan(first + 1.5),
    );
    await server.redis.publish('ql:w:anybody', 'no JSON');
    await expect(client.queue('q').pop()).resolves.toEqual([]);
    await expect(historyOf('a')).resolves.toEqual(['put', 'popped']);
    expect(said).toEqual([]);
  });

  it('has its job given back at the front when the worker stops, without spending a retry', async () => {
    const queue = client.queue('q');
    const started = gate();
    const { worker } = await runWorker(await open(), defineJob('K'), () => {
      started.open();
      return new Promise(() => undefined);
    });
    await queue.put('K', {}, { jid: 'first' });
    await started.passed;
    await queue.put('K', {}, { jid: 'second' });
    await worker.stop(0);
    await expect(queue.jids('waiting')).resolves.toEqual(['first', 'second']);
    await expect(client.jobs.get('first')).resolves.toMatchObject({ record: { remaining: 5, retries: 5 } });
  });
});

describe('a worker process', () => {
  it('that blocks its event loop for several heartbeats keeps its job', async () => {
    await client.config.set('heartbeat', 2);
    await client.config.set('grace-period', 0);
    const worker = await program();
    await client.queue('q').put('Held', { block: 6000 }, { jid: 'a' });
    await worker.says('start');
    const abort = new AbortController();
    const source = await open({}, ['Held']);
    const stolen = source.claim(new SlotTable([['Held', 1]]), abort.signal);
    await eventually(async () => expect((await client.jobs.get('a'))?.state).toBe('complete'), {
      timeout: 20_000,
    });
    abort.abort();
    await expect(stolen).resolves.toEqual([]);
    await expect(historyOf('a')).resolves.toEqual(['put', 'popped', 'returned', 'done']);
  });

  it('that is killed loses its job to another when the lock is over', async () => {
    await client.config.set('heartbeat', 1);
    await client.config.set('grace-period', 0);
    const worker = await program();
    await client.queue('q').put('Held', {}, { jid: 'a' });
    await worker.says('start');
    await worker.kill();
    const claim = await claimOne(await open({}, ['Held']), 'Held');
    expect(claim).toMatchObject({ id: 'a', attempts: 2, stalls: 1 });
  });
});
