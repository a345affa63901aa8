import { beforeEach, describe, expect, it } from '@jest/globals';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { pack } from '../../../lib/jq/message-pack/pack.js';
import * as operations from '../../../lib/jq/engine/operations.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig } from './engine-rig.js';

const NOBODY = 'f'.repeat(16);
const HOUR = 60 * 60 * 1000;

describe('the life of a job', () => {
  const used = useRedis();
  let rig: EngineRig;
  beforeEach(() => {
    rig = new EngineRig(used.redis, `{${used.fn('jq')}}:`);
  });

  const keys = () => used.redis.keys(`${rig.prefix}*`);
  const jobKeys = async () => (await keys()).map((key) => key.slice(rig.prefix.length));

  describe('a report', () => {
    it('is refused for unknown workers and jobs', async () => {
      const worker = await rig.worker();
      const id = await rig.enqueue();
      await expect(rig.succeed({ id, worker: NOBODY })).resolves.toBe('unknown worker');
      await expect(rig.succeed({ id: '00000000ffff-00000000', worker })).resolves.toBe('unknown job');
    });

    it('is refused of a worker that never had the job, and changes nothing', async () => {
      const [worker, id] = [await rig.worker(), await rig.enqueue()];
      await expect(rig.succeed({ id, worker })).resolves.toBe('conflict');
      await rig.accepted();
      const other = await rig.worker();
      await expect(rig.succeed({ id, worker: other }, 'mine')).resolves.toBe('conflict');
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'running', worker });
    });

    it('is taken before the 202 has come, and the 202 changes nothing', async () => {
      await rig.enqueue();
      await rig.worker();
      const job = await rig.handOutOne();
      await expect(rig.view(job.id)).resolves.toEqual({ status: 'queued', retryCount: 0 });
      await expect(rig.succeed(job, 7)).resolves.toBe('taken');
      await rig.answer(job, 'accepted');
      await expect(rig.view(job.id)).resolves.toMatchObject({ status: 'done', result: new Raw(pack(7)) });
    });

    it('may come again from the worker that ended the job, and only from it', async () => {
      await rig.enqueue();
      await rig.worker();
      const job = await rig.accepted();
      await expect(rig.succeed(job, 1)).resolves.toBe('taken');
      await expect(rig.succeed(job, 2)).resolves.toBe('repeated');
      await expect(rig.fail(job)).resolves.toBe('conflict');
      await expect(rig.succeed({ ...job, worker: await rig.worker() }, 2)).resolves.toBe('conflict');
      await expect(rig.view(job.id)).resolves.toMatchObject({ result: new Raw(pack(1)) });
    });

    it('of an attempt that is over is refused, and without an attempt counts for the current one', async () => {
      await rig.enqueue();
      await rig.worker();
      const first = await rig.accepted();
      await rig.fail(first);
      await expect(rig.succeed(first)).resolves.toBe('conflict');
      await rig.pass(1000);
      const second = await rig.accepted();
      expect(second.attempt).toBe(2);
      await expect(rig.succeed(first, null, 1)).resolves.toBe('conflict');
      await expect(rig.succeed(first)).resolves.toBe('taken');
      await expect(rig.view(first.id)).resolves.toMatchObject({ status: 'done', retryCount: 1 });
    });

    it('keeps the bytes of the error, and leaves out what is nil', async () => {
      await rig.enqueue({ maxRetry: 0 });
      await rig.worker();
      const job = await rig.accepted();
      const error = new Raw(Buffer.from('cb3ff0000000000000', 'hex'));
      const failure = { type: 'failure', reason: 'other', shouldRetry: true, message: '' } as const;
      await rig.run(operations.done(job.worker, { jobId: job.id, error, ...failure }));
      const { worker } = job;
      await expect(rig.view(job.id)).resolves.toEqual({
        status: 'error',
        worker,
        retryCount: 0,
        message: '',
        error,
      });

      await rig.enqueue({ maxRetry: 0 });
      const other = await rig.accepted();
      await rig.fail(other);
      expect(await rig.view(other.id)).not.toHaveProperty('error');
    });
  });

  describe('a retry', () => {
    it('waits at least half of a time that doubles, and at most the whole of it', async () => {
      const waits = [];
      await rig.enqueue({ maxRetry: 20 });
      await rig.worker();
      for (let failures = 1; failures <= 12; failures++) {
        await rig.fail(await rig.accepted());
        const { wait } = await rig.turn([]);
        waits.push(wait);
        await rig.pass(wait - 1);
        await expect(rig.handOut()).resolves.toEqual([]);
        await rig.pass(1);
      }
      waits.forEach((wait, index) => {
        const whole = Math.min(1000 * 2 ** index, 300_000);
        expect(wait).toBeGreaterThanOrEqual(whole / 2);
        expect(wait).toBeLessThanOrEqual(whole);
      });
    });

    it('is spent by each failure, and the last one ends the job', async () => {
      const id = await rig.enqueue({ maxRetry: 2 });
      const worker = await rig.worker();
      for (const retryCount of [0, 1]) {
        await rig.fail(await rig.accepted(), { message: `no ${retryCount}` });
        await expect(rig.view(id)).resolves.toEqual({
          status: 'retrying',
          worker,
          retryCount,
          message: `no ${retryCount}`,
        });
        await rig.pass(2000);
      }
      await rig.fail(await rig.accepted());
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'error', retryCount: 2, message: 'boom' });
      await rig.pass(HOUR);
      await expect(rig.handOut()).resolves.toEqual([]);
    });

    it('comes at another time for each of several jobs that failed together', async () => {
      const count = 10;
      for (let made = 0; made < count; made++) await rig.enqueue();
      await rig.worker({ maxJobs: count });
      const jobs = await rig.handOut();
      const failure = { type: 'failure', reason: 'other', shouldRetry: true, message: '' } as const;
      await rig.turn(
        jobs.map(({ worker, id }) => operations.done(worker, { jobId: id, error: Raw.NIL, ...failure })),
      );
      const delayed = await used.redis.zrange(`${rig.prefix}delayed`, '0', '-1', 'WITHSCORES');
      const times = delayed.filter((_, index) => index % 2 === 1);
      expect(times).toHaveLength(count);
      expect(new Set(times).size).toBeGreaterThan(1);
    });

    it('keeps what came of the last twenty attempts', async () => {
      const id = await rig.enqueue({ maxRetry: 30 });
      await rig.worker();
      for (let failed = 0; failed < 22; failed++) {
        await rig.fail(await rig.accepted());
        await rig.pass(HOUR);
      }
      const kept = (await used.redis.hkeys(`${rig.prefix}job:${id}`)).filter((key) =>
        key.startsWith('attempt:'),
      );
      expect(kept).toHaveLength(20);
      expect(kept).toEqual(expect.arrayContaining(['attempt:3', 'attempt:22']));
    });

    it('shows the worker that ran the job last, even if others were offered it since', async () => {
      const id = await rig.enqueue();
      const first = await rig.worker();
      await rig.fail(await rig.accepted());
      await rig.run(operations.unregister(first));
      await rig.pass(2000);
      await rig.worker();
      const offered = await rig.handOutOne();
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'retrying', worker: first });
      await rig.answer(offered, 'refused');
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'retrying', worker: first });
      await rig.pass(2000);
      const second = (await rig.accepted()).worker;
      await rig.run(operations.unregister(second));
      await rig.pass(1);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'retrying', worker: second });
    });

    it.each([
      ['max_retry is 0', { maxRetry: 0 }, true],
      ['the worker says that it makes no sense', { maxRetry: 5 }, false],
    ])('is not made when %s', async (_, job, shouldRetry) => {
      const id = await rig.enqueue(job);
      await rig.worker();
      await rig.fail(await rig.accepted(), { shouldRetry });
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'error', retryCount: 0 });
    });

    it('leaves the slot of its worker free meanwhile', async () => {
      await rig.enqueue();
      const next = await rig.enqueue({ priority: 1 });
      await rig.worker({ maxJobs: 1 });
      await rig.fail(await rig.accepted());
      expect((await rig.handOutOne()).id).toBe(next);
    });
  });

  describe('a timeout', () => {
    it('is enforced a grace after it, counted from when the job was handed out, and spends a retry', async () => {
      const id = await rig.enqueue({ timeout: 30, maxRetry: 1 });
      await rig.worker();
      const job = await rig.handOutOne();
      await rig.pass(1000);
      await rig.answer(job, 'accepted');
      await rig.pass(30_999);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'running' });
      await rig.pass(1);
      await expect(rig.view(id)).resolves.toMatchObject({
        status: 'retrying',
        message: 'it took longer than 30 s',
      });
      await expect(rig.succeed(job)).resolves.toBe('conflict');

      await rig.pass(2000);
      const again = await rig.accepted();
      await rig.pass(32_000);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'error', retryCount: 1 });
      await expect(rig.succeed(again)).resolves.toBe('conflict');
    });
  });

  describe('cancelling', () => {
    it('is for jobs that wait and never began, and leaves nothing', async () => {
      await rig.worker();
      const before = await jobKeys();
      const id = await rig.enqueue({ name: 'only' });
      await expect(rig.run(operations.cancel(id))).resolves.toBe('cancelled');
      await expect(rig.view(id)).resolves.toBeUndefined();
      await expect(rig.handOut()).resolves.toEqual([]);
      await expect(rig.run(operations.cancel(id))).resolves.toBe('missing');
      expect((await jobKeys()).filter((key) => !before.includes(key)).sort()).toEqual(['ids', 'names']);
    });

    it('is refused while a worker that was lost may still run the job', async () => {
      const id = await rig.enqueue({ timeout: 3600 });
      await rig.pull(await rig.puller());
      await rig.pass(60_000);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'queued' });
      await expect(rig.run(operations.cancel(id))).resolves.toBe('conflict');
    });

    it('is refused while a job is pushed, runs, waits for a retry, or has ended', async () => {
      const id = await rig.enqueue({ maxRetry: 1 });
      const cancel = () => rig.run(operations.cancel(id));
      await rig.worker();
      const job = await rig.handOutOne();
      await expect(cancel()).resolves.toBe('conflict');
      await rig.answer(job, 'accepted');
      await expect(cancel()).resolves.toBe('conflict');
      await rig.fail(job);
      await expect(cancel()).resolves.toBe('conflict');
      await rig.pass(1000);
      await expect(cancel()).resolves.toBe('conflict');
      await rig.succeed(await rig.accepted());
      await expect(cancel()).resolves.toBe('conflict');
    });
  });

  describe('a result', () => {
    const finished = async (keepResult: boolean) => {
      await rig.enqueue({ keepResult });
      await rig.worker();
      const job = await rig.accepted();
      await rig.succeed(job, 'out');
      return job.id;
    };

    it('is not kept unless asked for, but the end is', async () => {
      const id = await finished(false);
      const view = await rig.view(id);
      expect(view).toMatchObject({ status: 'done', retryCount: 0 });
      expect(view).not.toHaveProperty('result');
    });

    it('stays for half a minute after it was first read', async () => {
      const id = await finished(true);
      await rig.pass(HOUR - 1);
      await expect(rig.view(id)).resolves.toHaveProperty('result');
      await rig.pass(29_999);
      await expect(rig.view(id)).resolves.toHaveProperty('result');
      await rig.pass(1);
      await expect(rig.view(id)).resolves.not.toHaveProperty('result');
      await expect(used.redis.hexists(`${rig.prefix}job:${id}`, 'result')).resolves.toBe(0);
    });

    it('stays for an hour unread', async () => {
      const id = await finished(true);
      await rig.pass(HOUR);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'done' });
      await expect(rig.view(id)).resolves.not.toHaveProperty('result');
    });

    it('leaves a tombstone, and after 25 hours nothing at all', async () => {
      const id = await finished(true);
      await rig.pass(25 * HOUR - 1);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'done' });
      rig.now += 1;
      await expect(rig.view(id)).resolves.toBeUndefined();
      await rig.pass(0);
      const left = (await jobKeys()).filter(
        (key) => !/^(workers?|free|members|stirred|silent|swept|ids|names)/.test(key),
      );
      expect(left).toEqual([]);
    });
  });

  it('is published to clients that wait for its end', async () => {
    const heard: string[] = [];
    const subscriber = used.redis.duplicate();
    await subscriber.subscribe(`${rig.prefix}ended`);
    subscriber.on('message', (_: string, id: string) => heard.push(id));
    const [quiet, awaited] = [await rig.enqueue(), await rig.enqueue()];
    await expect(rig.run(operations.read(awaited, 'wait'))).resolves.toMatchObject({ status: 'queued' });
    await rig.worker({ maxJobs: 2 });
    for (const job of await rig.handOut()) await rig.succeed(job);
    await subscriber.ping();
    subscriber.disconnect();
    expect(heard).toEqual([awaited]);
    expect(quiet).not.toBe(awaited);
  });

  it('begins only while the queue has room', async () => {
    const small = new EngineRig(used.redis, `{${used.fn('jq')}}:`, { maxQueued: 2 });
    await small.enqueue();
    await small.enqueue();
    await expect(small.enqueue()).rejects.toThrow('full');
  });
});
