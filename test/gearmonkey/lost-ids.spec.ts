import { describe, expect, it } from '@jest/globals';
import { enqueue } from './scripts/scripts.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { JobHandle } from '../../lib/gearmonkey/core/client/job-handle.js';
import { JobLostError } from '../../lib/job/errors.js';
import type { JobProgress } from '../../lib/job/job.js';
import { gate, type Gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { submit, subscriptions } from './redis-rig.js';
import { useGearMonkey } from './use-gearmonkey.js';

/** What a replica that lags behind takes over: it never heard of a job, so it gives the id again. */
describe('A job that was lost in a failover and whose id another job has', () => {
  const rig = useGearMonkey();

  /** As if the server had died before its replica heard of this job. */
  async function lose({ fn, id }: JobHandle): Promise<void> {
    const { redis } = rig;
    const leases = (await redis.zrange(`lease:${fn}`, '0', '-1')).filter((member) =>
      member.startsWith(`${id}:`),
    );
    if (leases.length > 0) await redis.zrem(`lease:${fn}`, ...leases);
    await redis.lrem(`queue:${fn}:normal`, 0, id);
    await redis.del(`job:${fn}:${id}`, `lock:${fn}:${id}`);
    await redis.decr(`uid:${fn}`);
  }

  async function lostAndAnother() {
    const fn = rig.fn();
    const lost = await rig.client.run(fn, 'lost');
    await lose(lost);
    const another = await rig.client.run(fn, 'another');
    expect(another.id).toBe(lost.id);
    return { fn, lost, another };
  }

  it('has a handle that never returns the other', async () => {
    const { fn, lost, another } = await lostAndAnother();
    await runWorker(rig.source(), fn, (input) => input);
    await expect(another.result({ timeout: '20s' })).resolves.toBe('another');
    await expect(lost.get()).rejects.toThrow(JobLostError);
    await expect(lost.result({ timeout: '20s' })).rejects.toMatchObject({
      code: 'JOB_LOST',
      fn,
      id: lost.id,
    });
    await expect(rig.client.get(fn, lost.id)).resolves.toMatchObject({ input: 'another' });
  });

  it('has a handle that never returns the job of a plain client', async () => {
    const fn = rig.fn();
    const lost = await rig.client.run(fn, 'lost');
    await lose(lost);
    await expect(submit(rig.redis, fn, Buffer.from('"plain"'))).resolves.toBe(lost.id);
    await expect(lost.get()).rejects.toThrow(JobLostError);
  });

  it('does not end the other when it is cancelled', async () => {
    const { lost, another } = await lostAndAnother();
    await expect(lost.cancel()).rejects.toThrow(JobLostError);
    await expect(another.get()).resolves.toMatchObject({ state: 'waiting' });
    await expect(another.cancel()).resolves.toBe(true);
  });

  it('does not end the other that runs when it is cancelled', async () => {
    const { fn, lost, another } = await lostAndAnother();
    const end = gate<string>();
    await runWorker(rig.source(), fn, () => end.passed);
    await eventually(async () => expect((await another.get()).state).toBe('running'));
    await expect(lost.cancel()).rejects.toThrow(JobLostError);
    end.open('out');
    await expect(another.result({ timeout: '20s' })).resolves.toBe('out');
  });

  it('gives the other no signal', async () => {
    const { fn, lost, another } = await lostAndAnother();
    await expect(lost.signal('go')).rejects.toThrow(JobLostError);
    await expect(rig.redis.hkeys(`job:${fn}:${lost.id}`)).resolves.not.toContain('signal:go');
    await expect(another.signal('go')).resolves.toBe(true);
    await expect(rig.redis.hkeys(`job:${fn}:${lost.id}`)).resolves.toContain('signal:go');
  });

  it('rejects the call that waits for it', async () => {
    const fn = rig.fn();
    const calling = rig.client.call(fn, 'lost', { timeout: '20s' });
    const outcome = expect(calling).rejects.toThrow(JobLostError);
    const lost = await until(() => rig.client.get(fn, 1));
    await lose({ fn, id: lost.id } as JobHandle);
    await runWorker(rig.source(), fn, (input) => input);
    await expect(rig.client.call(fn, 'another', { timeout: '20s' })).resolves.toBe('another');
    await outcome;
  });

  it('has another mark than the other, also if a call of both was sent again', async () => {
    const fn = rig.fn();
    const options = { mark: 7_000_000, call: 1 };
    await enqueue(rig.redis, fn, ['a', 'b', 'c'], { sender: 'first', ...options });
    const before = await marksById(fn);
    // The replica knew of fewer ids, and of none of these jobs.
    await rig.redis.del(...['1', '2', '3'].map((id) => `job:${fn}:${id}`));
    await rig.redis.set(`uid:${fn}`, '1');
    await enqueue(rig.redis, fn, ['a', 'b', 'c'], { sender: 'again', ...options });
    const after = await marksById(fn);
    expect(before).toEqual({ 1: ['a', 7_000_000], 2: ['b', 8_000_000], 3: ['c', 9_000_000] });
    expect(after).toEqual({ 2: ['a', 7_000_000], 3: ['b', 8_000_000], 4: ['c', 9_000_000] });
  });

  /** Input and mark of each job. */
  async function marksById(fn: string): Promise<Record<string, [string, number]>> {
    const jobs = ['1', '2', '3', '4'].map(async (id) => {
      const { input = '', mark } = await rig.redis.hgetall(`job:${fn}:${id}`);
      return mark === undefined ? [] : [[id, [input, Number(mark)]] as const];
    });
    return Object.fromEntries((await Promise.all(jobs)).flat()) as Record<string, [string, number]>;
  }

  it.each<[string, object]>([
    ['of one call', {}],
    ['of one call for a function with a limit', { limit: { concurrency: 1 } }],
  ])('%s: each handle has the mark of its job', async (_, options) => {
    const definition = defineJob<string, string>(rig.fn(), options);
    const jobs = await rig.client.runMany(definition, ['a', 'b', 'c']);
    await expect(Promise.all(jobs.map((job) => job.get()))).resolves.toMatchObject([
      { input: 'a' },
      { input: 'b' },
      { input: 'c' },
    ]);
  });

  it('of one call of unique jobs: each handle has the mark of its job', async () => {
    const definition = defineJob<string, string>(rig.fn(), { unique: { key: (input) => input } });
    const jobs = await rig.client.runMany(definition, ['a', 'b', 'a', 'c', 'b']);
    const read = await Promise.all(jobs.map((job) => job.get()));
    expect(read.map(({ input }) => input)).toEqual(['a', 'b', 'a', 'c', 'b']);
    const again = await rig.client.run(definition, 'c');
    expect([again.created, again.id]).toEqual([false, jobs[3]?.id]);
    await expect(again.get()).resolves.toMatchObject({ input: 'c' });
  });

  describe('has a worker that still runs it', () => {
    const gates = new Map<unknown, Gate<string>>();
    const gateOf = (input: unknown) => gates.get(input) ?? gates.set(input, gate<string>()).get(input);

    it('that can neither settle the other nor report its progress', async () => {
      const fn = rig.fn();
      const begun: unknown[] = [];
      let update: () => Promise<void> = () => Promise.resolve();
      await runWorker(
        rig.source(),
        fn,
        (input, job) => {
          begun.push(input);
          if (input === 'lost') update = () => job.update(1, 2);
          return gateOf(input)?.passed;
        },
        { concurrency: 2 },
      );
      const lost = await rig.client.run(fn, 'lost');
      await eventually(() => expect(begun).toContain('lost'));
      await lose(lost);
      const another = await rig.client.run(fn, 'another');
      await eventually(() => expect(begun).toContain('another'));
      await expect(update()).rejects.toMatchObject({ code: 'LEASE_LOST' });
      gateOf('lost')?.open('of the lost one');
      await expect(another.get()).resolves.toMatchObject({ state: 'running' });
      expect(await another.get()).not.toHaveProperty('progress');
      gateOf('another')?.open('its own');
      await expect(another.result({ timeout: '20s' })).resolves.toBe('its own');
      expect(begun).toEqual(['lost', 'another']);
    });
  });

  it('has observers that end with an error and never get the other', async () => {
    const fn = rig.fn();
    const lost = await rig.client.run(fn, 'lost');
    const seen: JobProgress[] = [];
    const [progress, watch] = [gate<unknown>(), gate<unknown>()];
    lost.progress$.subscribe({ next: (update) => seen.push(update), error: progress.open });
    const statuses: unknown[] = [];
    rig.client.watch(fn, lost.id).subscribe({ next: ({ input }) => statuses.push(input), error: watch.open });
    await eventually(() => expect(statuses.length).toBeGreaterThan(0));
    await eventually(async () => expect(await subscriptions(rig.redis, fn)).toBe(1));
    await lose(lost);
    await runWorker(rig.source(), fn, async (_, job) => job.update(1, 2));
    await rig.client.call(fn, 'another', { timeout: '20s' });
    await expect(progress.passed).resolves.toBeInstanceOf(JobLostError);
    await expect(watch.passed).resolves.toBeInstanceOf(JobLostError);
    expect(seen).toEqual([]);
    expect(new Set(statuses)).toEqual(new Set(['lost']));
  });
});

describe('A forged output', () => {
  const rig = useGearMonkey();

  it('is not accepted without the mark of the job', async () => {
    const fn = rig.fn();
    const end = gate<string>();
    await runWorker(rig.source(), fn, () => end.passed);
    const calling = rig.client.call(fn, 'x', { timeout: '20s' });
    const { state } = await until(async () => {
      const job = await rig.client.get(fn, 1);
      return job?.state === 'running' && job;
    });
    expect(state).toBe('running');
    const options = await rig.redis.hget(`job:${fn}:1`, 'options');
    const { reply } = JSON.parse(options ?? '{}') as { reply: string };
    for (const forged of ['1:"FORGED"', '1:1:"FORGED"', '1:1000001:"FORGED"', '1::"FORGED"'])
      await expect(rig.redis.publish(`reply:${fn}:${reply}`, forged)).resolves.toBe(1);
    end.open('out');
    await expect(calling).resolves.toBe('out');
  });
});
