import { describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { RunManyOptions, RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { SnoozeError } from '../../lib/job/retry.js';
import { defineJob, type FunctionRef } from '../../lib/job/job-definition.js';
import { readJobOptions } from '../../lib/gearmonkey/core/wire/job-options.js';
import { runWorker } from '../support/run-worker.js';
import { until } from '../support/until.js';
import { withClock } from '../support/wrong-clock.js';
import { useGearMonkey } from './use-gearmonkey.js';

const [SECOND_MS, HOUR_MS] = [1000, 3_600_000];
const MONTH_MS = 31 * 24 * HOUR_MS;
const WRONG = [
  ['two hours behind', -2 * HOUR_MS],
  ['two hours ahead', 2 * HOUR_MS],
  ['a month behind', -MONTH_MS],
  ['a month ahead', MONTH_MS],
] as const;

describe.each(WRONG)('with a clock that is %s', (_, wrong) => {
  const at = useGearMonkey();

  const serverTime = async () => {
    const [seconds, micros] = await at.redis.time();
    return Number(seconds) * 1000 + Number(micros) / 1000;
  };

  /** When what a host does with the wrong clock happened by the server's, at the earliest and at the latest. */
  async function elsewhere<T>(run: () => Promise<T>) {
    const from = await serverTime();
    const done = await withClock(wrong, run);
    return { done, from, to: await serverTime() };
  }

  function expectSpan(time: number, { from, to }: { from: number; to: number }, ms: number) {
    // Scores and fields are in whole milliseconds.
    expect(time).toBeGreaterThanOrEqual(Math.floor(from) + ms - 1);
    expect(time).toBeLessThanOrEqual(to + ms + 1);
  }

  /** What plain clients and workers read too: `due`, the score and the options hold times. */
  async function stored(fn: string, id: string) {
    const [due, options] = await at.redis.hmget(`job:${fn}:${id}`, 'due', 'options');
    const score = await at.redis.zscore(`queue:${fn}:scheduled`, id);
    expect(options ?? '').not.toMatch(/expires":(?!\d+[,}])/);
    const { expires } = readJobOptions(options ?? '');
    return { due: Number(due), score: Number(score) * 1000, expires: Number(expires) };
  }

  type Enqueue = (client: GearMonkeyClient, fn: FunctionRef, options: RunOptions) => Promise<string>;
  const CALLS: [string, Enqueue][] = [
    ['run', async (client, fn, options) => (await client.run(fn, 'x', options)).id],
    [
      'runMany',
      async (client, fn, options) => {
        const handles = await client.runMany(fn, ['a', 'b'], options as RunManyOptions);
        return handles[1]?.id ?? '';
      },
    ],
    [
      'runMany beside a job with other options',
      async (client, fn, options) => {
        const alike = { ...options, tags: ['t'] } as RunManyOptions;
        const own = { ...alike, headers: { own: 'yes' } };
        const [, handles] = await Promise.all([
          client.runMany(fn, ['a'], alike),
          client.runMany(fn, ['b'], own),
        ]);
        return handles[0]?.id ?? '';
      },
    ],
  ];

  describe.each(CALLS)('%s', (_call, enqueue) => {
    const limited = () => defineJob<string>(at.fn(), { limit: { key: () => 'k', concurrency: 1 } });

    it.each([
      ['a function', () => defineJob(at.fn())],
      ['a function with a limit', limited],
      ['unique jobs', () => defineJob<string>(at.fn(), { unique: { key: (input) => input } })],
    ])('counts `delay` and `expires` of %s by the server', async (_kind, make) => {
      const ref = make();
      const options = { delay: '1h', expires: '1m' };
      const made = await elsewhere(() => enqueue(at.client, ref, options));
      const { due, expires } = await stored(ref.name, made.done);
      expectSpan(due, made, HOUR_MS);
      expect(expires).toBe(due + 60_000);
    });

    it('counts `expires` of the options and of the definition', async () => {
      const ref = defineJob(at.fn(), { expires: '1h' });
      const own = await elsewhere(() => enqueue(at.client, ref, { expires: '1m' }));
      expectSpan((await stored(ref.name, own.done)).expires, own, 60_000);
      const ofDefinition = await elsewhere(() => enqueue(at.client, ref, { headers: { a: 'b' } }));
      expectSpan((await stored(ref.name, ofDefinition.done)).expires, ofDefinition, HOUR_MS);
    });

    it('leaves times as they are', async () => {
      const fn = at.fn();
      const [scheduled, expires] = [new Date(4e12), new Date(5e12)];
      const id = await withClock(wrong, () => enqueue(at.client, fn, { scheduled, expires }));
      await expect(stored(fn, id)).resolves.toEqual({ due: 4e12, score: 4e12, expires: 5e12 });
    });

    it('counts `expires` from the time for which the job is scheduled', async () => {
      const fn = at.fn();
      const options = { scheduled: new Date(4e12), expires: '1m' };
      const id = await withClock(wrong, () => enqueue(at.client, fn, options));
      await expect(stored(fn, id)).resolves.toMatchObject({ due: 4e12, expires: 4e12 + 60_000 });
    });
  });

  it('update counts `delay` by the server, also of a job that waits for others or has a key', async () => {
    const limited = defineJob<string>(at.fn(), { limit: { key: () => 'k', concurrency: 1 } });
    const parent = await at.client.run(at.fn(), 'x');
    const [plain, withKey, later] = await Promise.all([
      at.client.run(at.fn(), 'x'),
      at.client.run(limited, 'x'),
      at.client.run(at.fn(), 'x', { after: [parent] }),
    ]);
    for (const job of [plain, withKey]) {
      const made = await elsewhere(() => job.update({ delay: '1h' }));
      expectSpan((await stored(job.fn, job.id)).due, made, HOUR_MS);
    }
    const made = await elsewhere(() => later.update({ delay: '1h' }));
    const place = await at.redis.hget(`job:${later.fn}:${later.id}`, 'place');
    expectSpan(Number(/^scheduled:(\d+):$/.exec(place ?? '')?.[1]), made, HOUR_MS);
  });

  it('jobs of flows count their spans from when their parents have ended, by the server', async () => {
    const [first, next] = [at.fn(), at.fn()];
    const options = { delay: '1h', expires: '1m' };
    const { done: flow } = await elsewhere(() =>
      at.client.flow({ job: first, input: 'x', children: [{ job: next, input: 'x', options }] }),
    );
    const id = flow.jobs[1]?.id ?? '';
    const from = await serverTime();
    await runWorker(at.source(), first, () => withClock(wrong, async () => 'done'));
    await until(async () => (await at.redis.hexists(`job:${next}:${id}`, 'due')) === 1);
    const { due, expires } = await stored(next, id);
    expectSpan(due, { from, to: await serverTime() }, HOUR_MS);
    expect(expires).toBe(due + 60_000);
  });

  it('a debounced job expires so long after it may run, however often it is put off', async () => {
    const fn = at.fn();
    const unique = { key: 'k', debounce: '1h', maxWait: '90m' };
    for (let calls = 0; calls < 2; calls++) {
      const made = await elsewhere(() => at.client.run(fn, 'x', { unique, expires: '1m' }));
      const { due, score, expires } = await stored(fn, made.done.id);
      expectSpan(due, made, HOUR_MS);
      expect(Math.abs(score - due)).toBeLessThan(1);
      expect(expires).toBe(due + 60_000);
    }
  });

  it('a throttle holds for its span', async () => {
    const fn = at.fn();
    const unique = { key: 'k', throttle: '1h' };
    const first = await at.client.run(fn, 'x', { unique });
    const second = await withClock(wrong, () => at.client.run(fn, 'x', { unique }));
    expect(second).toMatchObject({ id: first.id, created: false });
  });

  it('a call rejects once its job has expired, without a worker', async () => {
    const failed = { code: 'JOB_FAILED', cause: { code: 'JOB_EXPIRED' } };
    for (const expires of [50, new Date(1000)])
      await expect(
        withClock(wrong, () => at.client.call(at.fn(), 'x', { expires, timeout: '20s' })),
      ).rejects.toMatchObject(failed);
  });

  it('the result of a job that will expire rejects then, without a worker', async () => {
    const job = await at.client.run(at.fn(), 'x', { expires: SECOND_MS });
    const failed = { code: 'JOB_FAILED', cause: { code: 'JOB_EXPIRED' } };
    await expect(withClock(wrong, () => job.result({ timeout: '20s' }))).rejects.toMatchObject(failed);
  });

  it('a wait for a signal has its deadline by the server, whichever host began it', async () => {
    const fn = at.fn();
    let runs = 0;
    await runWorker(at.source(), fn, (__, job) =>
      withClock((runs += 1) === 1 ? wrong : 0, () => job.waitFor('go', { timeout: SECOND_MS })),
    );
    const from = await serverTime();
    const job = await at.client.run(fn, 'x');
    await expect(job.result({ timeout: '20s' })).rejects.toMatchObject({ cause: { code: 'SIGNAL_TIMEOUT' } });
    const deadline = Number.parseInt((await at.redis.hget(`job:${fn}:${job.id}`, 'wait:go')) ?? '', 10);
    expectSpan(deadline, { from, to: await serverTime() }, SECOND_MS);
    expect(runs).toBe(2);
  });

  it('a wait for a signal that began on another host goes on until its deadline', async () => {
    const fn = at.fn();
    let runs = 0;
    await runWorker(at.source(), fn, (__, job) =>
      withClock((runs += 1) === 1 ? 0 : wrong, () => job.waitFor('go', { timeout: SECOND_MS })),
    );
    const job = await at.client.run(fn, 'x');
    await expect(job.result({ timeout: '20s' })).rejects.toMatchObject({ cause: { code: 'SIGNAL_TIMEOUT' } });
    expect(runs).toBe(2);
  });

  it.each([
    ['a retry', () => new Error('once')],
    ['a snoozed job', () => new SnoozeError('1h')],
  ])('%s waits its delay', async (_name, error) => {
    const fn = at.fn();
    const handle = () => withClock(wrong, () => Promise.reject(error()));
    await runWorker(at.source(), fn, handle, {
      retry: { attempts: 2, delay: '1h', backoff: 'fixed', jitter: 0 },
    });
    const from = await serverTime();
    const job = await at.client.run(fn, 'x');
    const score = () => at.redis.zscore(`queue:${fn}:scheduled`, job.id);
    await until(async () => (await score()) !== null);
    expectSpan(Number(await score()) * 1000, { from, to: await serverTime() }, HOUR_MS);
  });

  it('a recurring job comes at its times', async () => {
    const fn = at.fn();
    const made = await elsewhere(() => at.client.recur(fn, { id: `every:${fn}`, every: '1h' }));
    expectSpan(Number(made.done.next), made, HOUR_MS);
  });

  it('a client forgets no function that others use', async () => {
    const [before, mine] = [at.fn(), at.fn()];
    const notedBy = async (client: GearMonkeyClient, fn: string) => {
      await client.run(fn, 'x');
      await until(async () => (await at.redis.zscore('functions', fn)) !== null);
    };
    await notedBy(at.newClient(), before);
    const made = await elsewhere(() => notedBy(at.newClient(), mine));
    expectSpan(Number(await at.redis.zscore('functions', mine)), made, 0);
    await expect(at.redis.zscore('functions', before)).resolves.not.toBeNull();
  });
});
