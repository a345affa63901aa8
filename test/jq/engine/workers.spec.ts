import { beforeEach, describe, expect, it } from '@jest/globals';
import * as operations from '../../../lib/jq/engine/operations.js';
import type { HandedJob } from '../../../lib/jq/engine/operations.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig } from './engine-rig.js';

const NOBODY = 'f'.repeat(16);

describe('workers', () => {
  const used = useRedis();
  let rig: EngineRig;
  beforeEach(() => {
    rig = new EngineRig(used.redis, `{${used.fn('jq')}}:`);
  });

  const ping = (worker: string) => rig.run(operations.ping(worker));

  it('are told if they are unknown', async () => {
    await expect(ping(NOBODY)).resolves.toBe(false);
    await expect(rig.run(operations.unregister(NOBODY))).resolves.toBe(false);
  });

  it('that register twice with one id count once for their client', async () => {
    const register = () => rig.run(operations.register(NOBODY, { name: 'w', maxJobs: 3 }, 'client'));
    for (let sent = 0; sent < 2; sent++) await expect(register()).resolves.toBe('registered');
    await expect(used.redis.hgetall(`${rig.prefix}client-workers`)).resolves.toEqual({ client: '1' });
    await expect(used.redis.hgetall(`${rig.prefix}client-jobs`)).resolves.toEqual({ client: '3' });
  });

  it('that leave give their jobs back at once, and are forgotten', async () => {
    const id = await rig.enqueue();
    const worker = await rig.worker();
    const job = await rig.accepted();
    await expect(rig.run(operations.unregister(worker))).resolves.toBe(true);
    await rig.pass(0);
    await expect(rig.view(id)).resolves.toEqual({ status: 'queued', retryCount: 0 });
    await expect(rig.succeed(job)).resolves.toBe('unknown worker');
    const other = await rig.worker();
    await expect(rig.handOutOne()).resolves.toMatchObject({ id, worker: other, attempt: 2 });
  });

  it('that leave with hundreds of jobs give all back', async () => {
    for (let i = 0; i < 250; i++) await rig.enqueue();
    const worker = await rig.worker({ maxJobs: 250 });
    expect(await rig.handOut(250)).toHaveLength(250);
    await rig.run(operations.unregister(worker));
    await rig.pass(0);
    await rig.worker({ maxJobs: 250 });
    expect(await rig.handOut(250)).toHaveLength(250);
  });

  describe('that are busy (429, 503)', () => {
    it('get nothing until the time they said, and the job goes back without a retry spent', async () => {
      const id = await rig.enqueue({ maxRetry: 0 });
      await rig.worker();
      const job = await rig.handOutOne();
      await rig.run(operations.answer(job, { status: 'busy', rest: 7000 }));
      await expect(rig.view(id)).resolves.toEqual({ status: 'queued', retryCount: 0 });
      await rig.pass(6999);
      await expect(rig.handOut()).resolves.toEqual([]);
      await rig.pass(1);
      expect((await rig.handOutOne()).id).toBe(id);
    });

    it('leave their jobs to others', async () => {
      const id = await rig.enqueue();
      const busy = await rig.worker();
      await rig.run(operations.answer(await rig.handOutOne(), { status: 'busy', rest: 7000 }));
      const free = await rig.worker();
      expect(await rig.handOutOne()).toMatchObject({ id, worker: free });
      expect(free).not.toBe(busy);
    });
  });

  describe('that fail to answer', () => {
    it('rest for a second, and twice as long each time, up to a minute', async () => {
      await rig.enqueue();
      await rig.worker();
      for (const rest of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
        const job = await rig.handOutOne();
        await rig.answer(job, 'refused');
        await rig.pass(rest - 1);
        await expect(rig.handOut()).resolves.toEqual([]);
        await rig.pass(1);
      }
    });

    it('get one job to see whether they are back, and then all again', async () => {
      for (let i = 0; i < 3; i++) await rig.enqueue();
      await rig.worker({ maxJobs: 3 });
      const [first, ...others] = await rig.handOut();
      expect(others).toHaveLength(2);
      for (const job of [first, ...others]) if (job) await rig.answer(job, 'refused');
      await rig.pass(4000);
      const probe = await rig.handOutOne();
      await rig.answer(probe, 'accepted');
      expect(await rig.handOut()).toHaveLength(2);
    });

    it('may still report until another has the job, if they may have got it', async () => {
      const [one, two] = [await rig.enqueue(), await rig.enqueue()];
      const worker = await rig.worker({ maxJobs: 2 });
      const [first, second] = await rig.handOut();
      for (const job of [first, second]) if (job) await rig.answer(job, 'silent');
      await expect(rig.run(operations.cancel(one))).resolves.toBe('conflict');
      await expect(rig.succeed({ id: one, worker })).resolves.toBe('taken');
      await expect(rig.view(one)).resolves.toMatchObject({ status: 'done', retryCount: 0 });

      // The report has shown that it is there: it gets the other one again, under a new attempt.
      const again = await rig.handOutOne();
      expect(again).toMatchObject({ id: two, worker, attempt: 2 });
      await expect(rig.succeed({ id: two, worker }, null, 1)).resolves.toBe('conflict');
    });

    it('are taken at their late 202 until another has the job', async () => {
      await rig.enqueue();
      await rig.worker();
      const job = await rig.handOutOne();
      await rig.pass(10_000);
      await expect(rig.view(job.id)).resolves.toMatchObject({ status: 'queued' });
      await rig.answer(job, 'accepted');
      await expect(rig.view(job.id)).resolves.toMatchObject({ status: 'running', worker: job.worker });
      await expect(rig.handOut()).resolves.toEqual([]);
    });

    it('do not let an unanswered job be pushed faster and faster', async () => {
      const id = await rig.enqueue();
      for (let i = 0; i < 3; i++) {
        await rig.worker();
        await rig.answer(await rig.handOutOne(), 'broken');
      }
      await rig.worker();
      await expect(rig.handOut()).resolves.toEqual([]);
      await rig.pass(1000);
      expect((await rig.handOut()).map((job) => job.id)).toEqual([id]);
    });
  });

  it('get no more pushes than they answer, whatever max_jobs they claim', async () => {
    const narrow = new EngineRig(used.redis, `{${used.fn('jq')}}:`, { maxPushes: 3 });
    for (let i = 0; i < 10; i++) await narrow.enqueue();
    await narrow.worker({ maxJobs: 2 ** 31 - 1 });
    const handed = await narrow.handOut();
    expect(handed).toHaveLength(3);
    for (const job of handed) await narrow.answer(job, 'accepted');
    expect(await narrow.handOut()).toHaveLength(3);
  });

  it('that refuse a job for good (400) end it', async () => {
    const id = await rig.enqueue();
    await rig.worker();
    await rig.run(operations.answer(await rig.handOutOne(), { status: 'invalid', message: 'not like this' }));
    await expect(rig.view(id)).resolves.toMatchObject({ status: 'error', message: 'not like this' });
  });

  describe('that are lost', () => {
    it('by three failed pushes in a row, give their running jobs back without a retry spent', async () => {
      const id = await rig.enqueue({ timeout: 3600 });
      const worker = await rig.worker({ maxJobs: 2 });
      const running = await rig.accepted();
      await rig.enqueue({ priority: 1 });
      for (const rest of [1000, 2000, 4000]) {
        await expect(rig.view(id)).resolves.toMatchObject({ status: 'running' });
        await rig.answer(await rig.handOutOne(), 'refused');
        await rig.pass(rest);
      }
      await expect(rig.view(id)).resolves.toEqual({ status: 'queued', retryCount: 0 });
      await expect(rig.succeed({ id, worker: running.worker }, 'late')).resolves.toBe('taken');
      expect(running.worker).toBe(worker);
    });

    it('more than three times with the same job, end it', async () => {
      const id = await rig.enqueue({ timeout: 3600, maxRetry: 0 });
      for (let losses = 1; losses <= 4; losses++) {
        const puller = await rig.puller();
        await expect(rig.pull(puller)).resolves.toMatchObject({ status: 'job' });
        await rig.pass(60_000);
        await expect(rig.view(id)).resolves.toMatchObject({ status: losses < 4 ? 'queued' : 'error' });
      }
      await expect(rig.view(id)).resolves.toMatchObject({ message: 'its worker was lost 4 times' });
    });

    it('are so by silence if they pull or have pinged, and never otherwise', async () => {
      const [plain, pinging, puller] = [await rig.worker(), await rig.worker(), await rig.puller()];
      await expect(ping(pinging)).resolves.toBe(true);
      for (let i = 0; i < 3; i++) await rig.enqueue({ timeout: 3600 });
      await rig.pull(puller);
      for (const job of await rig.handOut()) await rig.answer(job, 'accepted');
      await rig.pass(59_999);
      const held = async () =>
        Promise.all(
          [plain, pinging, puller].map((worker) => used.redis.scard(`${rig.prefix}held:${worker}`)),
        );
      await expect(held()).resolves.toEqual([1, 1, 1]);
      await rig.pass(1);
      await expect(held()).resolves.toEqual([1, 0, 0]);
    });

    it.each([
      ['the silence of an outage', 100_000, 0],
      ['silence that an outage has only made longer', 20_000, 59_999],
    ])('are not so by %s, but by another one behind it', async (_, outage, next) => {
      const puller = await rig.puller();
      await rig.enqueue({ timeout: 3600 });
      await rig.pass(0);
      await rig.pull(puller);
      const held = () => used.redis.scard(`${rig.prefix}held:${puller}`);
      await rig.outage(outage);
      // Others fall due while silence counts anew.
      await rig.pass(next);
      await expect(held()).resolves.toBe(1);
      await rig.pass(59_999 - next);
      await expect(held()).resolves.toBe(1);
      await rig.pass(1);
      await expect(held()).resolves.toBe(0);
    });

    it('are not so by jobs whose time was up in an outage: they may have ended, and are reported after it', async () => {
      const puller = await rig.puller({ maxJobs: 3 });
      await rig.pass(0);
      for (let job = 0; job < 3; job++) await rig.enqueue({ timeout: 8, maxRetry: 0 });
      const jobs = [];
      for (let job = 0; job < 3; job++) jobs.push((await rig.pull(puller)).job as HandedJob);
      await rig.outage(14_000);
      await rig.pass(1000);
      for (const job of jobs.slice(0, 2)) await rig.succeed(job);
      await rig.pass(8999);
      const state = async (job: HandedJob | undefined) => (await rig.view(String(job?.id)))?.status;
      await expect(Promise.all(jobs.map(state))).resolves.toEqual(['done', 'done', 'running']);
      await rig.pass(1);
      await expect(state(jobs[2])).resolves.toBe('error');
      await expect(used.redis.hget(`${rig.prefix}worker:${puller}`, 'lost')).resolves.not.toBe('1');
    });

    it('are so in time, though the clock of Redis was set back', async () => {
      const puller = await rig.puller();
      await rig.outage(0);
      await rig.enqueue({ timeout: 3600 });
      rig.now -= 1_000_000;
      await rig.pull(puller);
      await rig.pass(59_999);
      await rig.pass(60_000);
      await expect(used.redis.scard(`${rig.prefix}held:${puller}`)).resolves.toBe(0);
    });

    it('by jobs that they take and never report, and get one now and then to see whether they do', async () => {
      for (let i = 0; i < 8; i++) await rig.enqueue({ timeout: 1 });
      const worker = await rig.worker();
      const state = () => used.redis.hmget(`${rig.prefix}worker:${worker}`, 'lost', 'timeouts');
      for (const timeouts of [1, 2, 3]) {
        await rig.accepted();
        await rig.pass(3000);
        await expect(state()).resolves.toEqual([timeouts === 3 ? '1' : null, String(timeouts)]);
        await rig.pass(5000);
      }
      const probe = await rig.accepted();
      await expect(state()).resolves.toEqual(['1', '3']);
      await expect(rig.handOut()).resolves.toEqual([]);
      await rig.succeed(probe);
      await expect(state()).resolves.toEqual(['0', null]);
      expect(await rig.handOut()).toHaveLength(1);
    });

    it('by jobs that they never report, are forgotten even if they go on taking jobs', async () => {
      for (let i = 0; i < 200; i++) await rig.enqueue({ timeout: 1 });
      const worker = await rig.worker();
      for (let i = 0; i < 100; i++) {
        for (const job of await rig.handOut()) await rig.answer(job, 'accepted');
        await rig.pass(60_000);
      }
      await expect(used.redis.exists(`${rig.prefix}worker:${worker}`)).resolves.toBe(0);
    });

    it('come back with the next thing they say', async () => {
      const worker = await rig.worker();
      await ping(worker);
      await rig.pass(60_000);
      const id = await rig.enqueue();
      await expect(ping(worker)).resolves.toBe(true);
      await expect(rig.handOutOne()).resolves.toMatchObject({ id, worker });
    });

    it('are asked whether they are there after an hour of silence, and forgotten if not', async () => {
      const [quiet, dead, busy] = [await rig.worker(), await rig.worker(), await rig.worker()];
      const probes = async (ms: number) => {
        rig.now += ms;
        return (await rig.turn([], { sweep: true })).probes.map(({ worker }) => worker);
      };
      await expect(probes(3_599_999)).resolves.toEqual([]);
      await rig.run(operations.done(busy, { jobId: '0-0', type: 'success', result: Raw.NIL }));
      await expect(probes(1)).resolves.toEqual([quiet, dead]);
      await rig.run(operations.probed(quiet, 'there'));
      await rig.run(operations.probed(dead, 'nothing'));
      for (let i = 0; i < 2; i++) {
        expect(await probes(60_000)).toContain(dead);
        await rig.run(operations.probed(dead, 'nothing'));
      }
      const left = () => used.redis.zrange(`${rig.prefix}workers`, '0', '-1');
      await expect(left()).resolves.toEqual([quiet, busy]);
      await rig.run(operations.probed(quiet, 'gone'));
      await expect(left()).resolves.toEqual([busy]);
    });

    it('and came back by taking a push are asked again after another silence', async () => {
      const worker = await rig.worker();
      const id = await rig.enqueue();
      for (let pushes = 0; pushes < 3; pushes++) {
        await rig.answer(await rig.handOutOne(), 'refused');
        await rig.pass(4000);
      }
      const lost = () => used.redis.hget(`${rig.prefix}worker:${worker}`, 'lost');
      await expect(lost()).resolves.toBe('1');
      const job = await rig.accepted();
      await expect(lost()).resolves.toBe('0');
      await expect(rig.succeed(job)).resolves.toBe('taken');
      expect(job.id).toBe(id);
      rig.now += 3_600_000;
      await expect(rig.turn([], { sweep: true })).resolves.toMatchObject({ probes: [{ worker }] });
    });

    it('are forgotten after an hour', async () => {
      const puller = await rig.puller();
      await rig.pass(60_000);
      await rig.pass(3_600_000 - 1);
      await expect(used.redis.exists(`${rig.prefix}worker:${puller}`)).resolves.toBe(1);
      await rig.pass(1);
      await expect(ping(puller)).resolves.toBe(false);
    });
  });

  it('get the jobs back that a master had when it died in the middle of a push', async () => {
    const id = await rig.enqueue({ maxRetry: 0 });
    const worker = await rig.worker();
    await rig.handOutOne();
    await rig.pass(9999);
    await expect(rig.handOut()).resolves.toEqual([]);
    await rig.pass(1);
    await expect(rig.handOutOne()).resolves.toMatchObject({ id, worker, attempt: 2 });
  });

  it('whose hash was deleted by hand are passed over, and stop no turn', async () => {
    const [deleted, worker] = [await rig.worker(), await rig.worker()];
    await used.redis.del(`${rig.prefix}worker:${deleted}`);
    await rig.enqueue();
    await expect(rig.handOutOne()).resolves.toMatchObject({ worker });
    await rig.enqueue();
    await expect(rig.handOut()).resolves.toEqual([]);
  });

  it('keep what they accepted before an outage that outlasts the push: its master reports that after it', async () => {
    const [accepted, unanswered] = [await rig.enqueue({ maxRetry: 0 }), await rig.enqueue({ maxRetry: 0 })];
    await rig.worker({ maxJobs: 2 });
    await rig.pass(0);
    const [job] = await rig.handOut();
    await rig.outage(12_000);
    await rig.pass(9000);
    await expect(rig.handOut()).resolves.toEqual([]);
    expect(job).toMatchObject({ id: accepted, attempt: 1 });
    if (job) await rig.answer(job, 'accepted');
    await rig.pass(999);
    await expect(rig.handOut()).resolves.toEqual([]);
    await rig.pass(1);
    await expect(rig.handOutOne()).resolves.toMatchObject({ id: unanswered, attempt: 2 });
    await expect(rig.view(accepted)).resolves.toMatchObject({ status: 'running', retryCount: 0 });
  });

  it('are not blamed for a pull whose reply never came to its master, nor is the job', async () => {
    const id = await rig.enqueue({ maxRetry: 0, timeout: 1 });
    const puller = await rig.puller();
    const lost = await rig.run(operations.pull(puller));
    await rig.pass(10_000);
    await expect(rig.view(id)).resolves.toEqual({ status: 'queued', retryCount: 0 });
    await expect(rig.pull(puller)).resolves.toMatchObject({ status: 'job', job: { id, attempt: 2 } });
    if (lost.job) await expect(rig.run(operations.accept(lost.job))).resolves.toBe(false);
    await expect(rig.view(id)).resolves.toMatchObject({ status: 'running' });
  });

  it('have a job again whose reply was lost, as they count their pulls', async () => {
    const [first, second] = [await rig.enqueue({ maxRetry: 0 }), await rig.enqueue()];
    const puller = await rig.puller({ maxJobs: 2 });
    const pull = async (number: number, got: number) => {
      const { job } = await rig.run(operations.pull(puller, { pull: number, got }));
      if (job) await rig.run(operations.accept(job));
      return job && `${job.id}:${job.attempt}`;
    };
    await expect(pull(1, 0)).resolves.toBe(`${first}:1`);
    await expect(pull(2, 0)).resolves.toBe(`${first}:2`);
    await expect(rig.view(first)).resolves.toMatchObject({ status: 'running', retryCount: 0 });
    // The line of the first request broke late.
    const stale = { id: first, attempt: 1, worker: puller } as HandedJob;
    await rig.answer(stale, 'undelivered');
    // The first one was given up: on a line that hangs its master may not know that.
    await expect(pull(1, 0)).resolves.toBeUndefined();
    // The next one came through a master of another version, which does not record it.
    await expect(pull(4, 3)).resolves.toBe(`${second}:1`);
    await expect(rig.view(first)).resolves.toMatchObject({ status: 'running' });
    await rig.succeed({ id: second, worker: puller });
    // What has ended is not given again.
    await expect(pull(5, 3)).resolves.toBeUndefined();
    await expect(rig.view(first)).resolves.toMatchObject({ status: 'running' });
  });

  it('have the same job for a pull that something in between sends again, until they report it', async () => {
    const [first, second] = [await rig.enqueue(), await rig.enqueue()];
    const puller = await rig.puller({ maxJobs: 2 });
    const pull = () => rig.run(operations.pull(puller, { pull: 1, got: 0 }));
    const { job } = await pull();
    if (!job) throw new Error('Expected a job.');
    expect(job).toMatchObject({ id: first, attempt: 1, retryCount: 0 });
    await expect(pull()).resolves.toMatchObject({ status: 'job', job });
    await rig.run(operations.accept(job));
    const { job: again } = await pull();
    expect(again).toEqual(job);
    await expect(rig.run(operations.accept(job))).resolves.toBe(true);
    await expect(rig.view(first)).resolves.toMatchObject({ status: 'running', retryCount: 0 });
    await rig.succeed(job);
    await expect(pull()).resolves.toEqual({ status: 'none', names: [] });
    await expect(rig.view(second)).resolves.toMatchObject({ status: 'queued' });
  });

  it('keep a pulled job if the reply to its acceptance was lost', async () => {
    await rig.enqueue();
    const { job } = await rig.run(operations.pull(await rig.puller()));
    if (!job) throw new Error('Expected a job.');
    for (let sent = 0; sent < 2; sent++) await expect(rig.run(operations.accept(job))).resolves.toBe(true);
  });

  it('that release a job before their 202 has come in have it taken back', async () => {
    const id = await rig.enqueue({ maxRetry: 0 });
    const worker = await rig.worker();
    const { attempt, ...job } = await rig.handOutOne();
    await expect(rig.run(operations.release(worker, { jobId: id, attempt }))).resolves.toBe(true);
    await expect(rig.view(id)).resolves.toEqual({ status: 'queued', retryCount: 0 });
    await rig.answer({ ...job, attempt }, 'accepted');
    await expect(rig.view(id)).resolves.toMatchObject({ status: 'queued' });
    await expect(rig.run(operations.cancel(id))).resolves.toBe('cancelled');
  });

  describe('that ask whether a job that they have read late is still theirs', () => {
    const confirm = (worker: string, { id: jobId, attempt }: HandedJob) =>
      rig.run(operations.confirm(worker, { jobId, attempt }));

    it('begin it before their 202 has come in, and its time counts from then', async () => {
      const id = await rig.enqueue({ timeout: 10 });
      const worker = await rig.worker();
      const job = await rig.handOutOne();
      await rig.pass(4000);
      await expect(confirm(worker, job)).resolves.toBe(true);
      await rig.answer(job, 'accepted');
      await rig.pass(11_000);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'running', retryCount: 0 });
      await expect(confirm(worker, job)).resolves.toBe(true);
      await rig.pass(11_000);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'running', retryCount: 0 });
      await rig.pass(1000);
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'retrying', message: expect.any(String) });
      await expect(confirm(worker, job)).resolves.toBe(false);
    });

    it('have it again if no other has got it after a push that they did not answer', async () => {
      const id = await rig.enqueue();
      const worker = await rig.worker();
      const job = await rig.handOutOne();
      await rig.answer(job, 'silent');
      await expect(confirm(worker, job)).resolves.toBe(true);
      await rig.pass(5000);
      await rig.worker();
      await expect(rig.handOut()).resolves.toEqual([]);
      await expect(rig.succeed(job)).resolves.toBe('taken');
      await expect(rig.view(id)).resolves.toMatchObject({ status: 'done' });
    });

    it('do not have it once another has, or they are lost, or it has ended', async () => {
      await rig.enqueue();
      const worker = await rig.worker();
      const job = await rig.handOutOne();
      await rig.answer(job, 'silent');
      const other = await rig.worker();
      const again = await rig.accepted();
      expect(again).toMatchObject({ id: job.id, worker: other });
      await expect(confirm(worker, job)).resolves.toBe(false);
      await expect(confirm(worker, again)).resolves.toBe(false);
      await expect(confirm(NOBODY, again)).resolves.toBe(false);
      await rig.succeed(again);
      await expect(confirm(other, again)).resolves.toBe(false);

      await rig.enqueue();
      const puller = await rig.puller();
      const { job: pulled } = await rig.pull(puller);
      if (!pulled) throw new Error('Expected a job.');
      await rig.pass(60_000);
      await expect(confirm(puller, pulled)).resolves.toBe(false);
    });
  });

  it('that went away while they pulled leave the job as it was', async () => {
    const id = await rig.enqueue();
    const puller = await rig.puller();
    const pulled = await rig.pull(puller);
    if (!pulled.job) throw new Error('Expected a job.');
    await rig.answer(pulled.job, 'undelivered');
    await expect(rig.view(id)).resolves.toEqual({ status: 'queued', retryCount: 0 });
    await expect(rig.pull(puller)).resolves.toMatchObject({ status: 'job', job: { id } });
  });
});
