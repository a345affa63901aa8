import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import type { JobHandle } from '../../lib/gearmonkey/core/client/job-handle.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { LimitOptions } from '../../lib/job/limit.js';
import { LossyProxy } from '../support/lossy-proxy.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

describe.each([1, 3])('A call whose reply is lost %i times', (times) => {
  const server = useRedis();
  let proxy: LossyProxy;
  let actors: RedisActors;
  let client: GearMonkeyClient;

  beforeEach(async () => {
    proxy = await LossyProxy.start(server.port);
    actors = new RedisActors(proxy.url);
    client = actors.client();
  });
  stopWorkersAfterEach();
  afterEach(() => {
    actors.close();
    proxy.stop();
  });

  /** Does what is given, and loses replies of it. */
  async function lossy<T>(call: () => Promise<T>): Promise<T> {
    proxy.lost = 0;
    proxy.lose = times;
    const answer = await call();
    expect(proxy.lost).toBe(times);
    return answer;
  }

  function limited(limit: LimitOptions<string>) {
    return defineJob<string, string>(server.fn(), { limit: { key: (input) => input.charAt(0), ...limit } });
  }

  /** All places where ids of a function wait. */
  async function waiting(fn: string) {
    const { high, normal, low, scheduled } = keysOf(fn);
    const lists = await Promise.all([high, normal, low].map((list) => server.redis.lrange(list, 0, -1)));
    return [...lists, await server.redis.zrange(scheduled, '0', '-1')];
  }

  it.each(['waiting', 'running'] as const)('replaces a %s job once', async (replace) => {
    const job = limited({ concurrency: 1, onFull: 'replace', replace });
    const first = await client.run(job, 'a1');
    const second = await lossy(() => client.run(job, 'a2'));
    expect([first.id, second.id, second.created]).toEqual(['1', '2', true]);
    await expect(first.get()).resolves.toMatchObject({
      state: 'cancelled',
      error: { code: 'JOB_CANCELLED' },
    });
    await expect(second.get()).resolves.toMatchObject({ state: 'waiting', input: 'a2' });
    await expect(client.limits(job)).resolves.toMatchObject([{ key: 'a', waiting: 1, running: 0 }]);
    await expect(client.run(job, 'b1')).resolves.toMatchObject({ id: '3' });
    await runWorker(actors.source(), job, (input) => input);
    await expect(second.result({ timeout: '20s' })).resolves.toBe('a2');
  });

  it("takes the place of a limit with onFull: 'refuse' once, and is not refused by itself", async () => {
    const job = limited({ concurrency: 1, onFull: 'refuse' });
    await client.run(job, 'b');
    await expect(lossy(() => client.run(job, 'a1'))).resolves.toMatchObject({ id: '2', created: true });
    await expect(lossy(() => client.run(job, 'a2').catch((error: unknown) => error))).resolves.toMatchObject({
      code: 'LIMIT_FULL',
      key: 'a',
    });
    await expect(client.limits(job, { key: 'a' })).resolves.toMatchObject([{ waiting: 1 }]);
  });

  it('changes a job once', async () => {
    const fn = server.fn();
    for (const input of ['one', 'two', 'three']) await client.run(fn, input);
    await lossy(() => client.update(fn, 2, { input: 'changed', priority: 'high' }));
    await expect(waiting(fn)).resolves.toEqual([['2'], ['3', '1'], [], []]);
    await lossy(() => client.update(fn, 2, { delay: '1h' }));
    await expect(waiting(fn)).resolves.toEqual([[], ['3', '1'], [], ['2']]);
    await lossy(() => client.update(fn, 2, { priority: 'normal' }));
    await expect(waiting(fn)).resolves.toEqual([[], ['2', '3', '1'], [], []]);
    await expect(client.get(fn, 2)).resolves.toMatchObject({ input: 'changed', state: 'waiting' });
  });

  it('signals a job once, and says that it did', async () => {
    const job = await client.run(server.fn(), 'x');
    await expect(lossy(() => job.signal('go', 'first'))).resolves.toBe(true);
    await expect(lossy(() => job.signal('go', 'second'))).resolves.toBe(false);
    await expect(server.redis.hget(`job:${job.fn}:${job.id}`, 'signal:go')).resolves.toMatch(/:"first"$/);
  });

  it('gives a job another key once', async () => {
    const job = limited({ concurrency: 1 });
    await client.run(job, 'a1');
    await client.run(job, 'a2');
    await lossy(() => client.update(job, 1, { input: 'b1' }));
    await lossy(() => client.update(job, 1, { priority: 'high' }));
    const states = await client.limits(job);
    expect(states.map(({ key, waiting: jobs }) => [key, jobs]).toSorted()).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    const ran: unknown[] = [];
    await runWorker(actors.source(), job, (input) => ran.push(input));
    for (const id of [1, 2]) await client.result(job, id, { timeout: '20s' });
    expect(ran.toSorted()).toEqual(['a2', 'b1']);
  });

  it('removes all jobs that wait, and none that come later', async () => {
    const fn = server.fn();
    await client.runMany(
      fn,
      Array.from({ length: 600 }, () => 'x'),
    );
    await expect(lossy(() => client.drain(fn))).resolves.toBeLessThanOrEqual(600);
    const later = await client.run(fn, 'later');
    await expect(waiting(fn)).resolves.toEqual([[], [later.id], [], []]);
    for (const id of [1, 300, 600])
      await expect(client.get(fn, id)).resolves.toMatchObject({ error: { code: 'JOB_DRAINED' } });
    await expect(client.drain(fn)).resolves.toBe(1);
  });

  it('removes the jobs of keys, too', async () => {
    const job = limited({ concurrency: 1 });
    await client.runMany(job, ['a', 'b', 'a', 'c']);
    await expect(lossy(() => client.drain(job))).resolves.toBeLessThanOrEqual(4);
    await expect(client.limits(job)).resolves.toEqual([]);
    for (const id of [1, 2, 3, 4])
      await expect(client.get(job, id)).resolves.toMatchObject({ error: { code: 'JOB_DRAINED' } });
  });

  it('changes the numbers of a limit, and resets them', async () => {
    const job = limited({ concurrency: 1 });
    await client.runMany(job, ['a', 'a', 'a']);
    await expect(lossy(() => client.setLimit(job, { concurrency: 2 }))).resolves.toBeUndefined();
    await expect(server.redis.hget(keysOf(job.name).control, 'override')).resolves.toMatch(/^2:/);
    await expect(lossy(() => client.resetLimit(job))).resolves.toBeUndefined();
    await expect(server.redis.hexists(keysOf(job.name).control, 'override')).resolves.toBe(0);
    const unknown = lossy(() =>
      client.setLimit(server.fn(), { concurrency: 2 }).catch((error: unknown) => error),
    );
    await expect(unknown).resolves.toMatchObject({ code: 'LIMIT_UNKNOWN' });
  });

  it('puts a job that was cancelled back once, and counts it', async () => {
    const fn = server.fn();
    for (const input of ['one', 'two']) await client.run(fn, input);
    await client.cancel(fn, 1);
    // The job is read before.
    proxy.pass = 1;
    await expect(lossy(() => client.retry(fn, 1).done)).resolves.toBe(1);
    await expect(waiting(fn)).resolves.toEqual([[], ['1', '2'], [], []]);
  });

  it('cancels and deletes a job once, and counts it', async () => {
    const fn = server.fn();
    await client.run(fn, 'x');
    await expect(lossy(() => client.cancelNow(fn, 1))).resolves.toBe(true);
    // The job is read before.
    proxy.pass = 1;
    await expect(lossy(() => client.discard(fn, 1).done)).resolves.toBe(1);
    await expect(client.get(fn, 1)).resolves.toBeNull();
  });

  describe('ends what waits for a job, without a worker:', () => {
    const waiting = (...after: JobHandle[]) => client.run(server.fn(), 'waits', { after });
    const failed = (job: JobHandle) =>
      expect(job.get()).resolves.toMatchObject({ error: { code: 'PARENT_FAILED' } });

    it('cancel', async () => {
      const job = await client.run(server.fn(), 'x');
      const child = await waiting(job);
      await lossy(() => client.cancel(job.fn, job.id));
      await failed(child);
    });

    it('drain', async () => {
      const job = await client.run(server.fn(), 'x');
      const child = await waiting(job);
      // The last id, and the empty list of high priority.
      proxy.pass = 2;
      await lossy(() => client.drain(job.fn));
      await failed(child);
    });

    it('flow.cancel', async () => {
      const create = () => client.flow({ job: server.fn(), input: 'x' });
      const [other, flow] = [await create(), await create()];
      // Belongs to the first flow.
      const child = await waiting(other.root, flow.root);
      await lossy(() => flow.cancel());
      await failed(child);
    });

    it('expiry', async () => {
      const job = await client.run(server.fn(), 'x', { expires: new Date(Date.now() + 300) });
      const child = await waiting(job);
      // The reply that says that it has ended, and that others wait for it.
      Object.assign(proxy, { having: ':-2', lose: 1 });
      await expect(job.result({ timeout: '20s' })).rejects.toMatchObject({ error: { code: 'JOB_EXPIRED' } });
      expect(proxy.lose).toBe(0);
      await failed(child);
    });
  });

  it('pauses and resumes', async () => {
    const fn = server.fn();
    await client.run(fn, 'x');
    await lossy(() => client.pause(fn));
    await expect(client.isPaused(fn)).resolves.toBe(true);
    await lossy(() => client.resume(fn));
    await expect(client.isPaused(fn)).resolves.toBe(false);
    await runWorker(actors.source(), fn, (input) => input);
    await expect(client.result(fn, 1, { timeout: '20s' })).resolves.toBe('x');
  });

  it('cancels a job, and says so', async () => {
    const job = limited({ concurrency: 1 });
    for (const input of ['a1', 'a2']) await client.run(job, input);
    await expect(lossy(() => client.cancel(job, 1))).resolves.toBe(true);
    await expect(client.limits(job)).resolves.toMatchObject([{ key: 'a', waiting: 1, running: 0 }]);
    await runWorker(actors.source(), job, (input) => input);
    await expect(client.result(job, 2, { timeout: '20s' })).resolves.toBe('a2');
    await expect(lossy(() => client.cancel(job, 2))).resolves.toBe(false);
    await expect(client.get(job, 1)).resolves.toMatchObject({ error: { code: 'JOB_CANCELLED' } });
  });
});
