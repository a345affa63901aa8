import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { gate } from '../support/gate.js';
import { runWorker, type WorkerSettings } from '../support/run-worker.js';
import { until } from '../support/until.js';
import type { ClientRig } from './rig.js';

const LONG = { timeout: '7d' };

/** The part of the contract that is about signals. */
export function signalsContract(rigOf: () => ClientRig): void {
  describe('signals', () => {
    async function runJob(
      handle: (job: RunningJob) => unknown,
      { fn = rigOf().fn(), ...settings }: { fn?: string } & WorkerSettings = {},
    ) {
      const ran = await runWorker(rigOf().source(), fn, (_, job) => handle(job), settings);
      return { ...ran, fn, job: await rigOf().client().run(fn, null) };
    }

    /** When the job waits for these signals. */
    const waits = (fn: string, id: string, ...names: string[]) =>
      until(async () => (await rigOf().client().get(fn, id))?.waitsFor?.join() === names.join());

    it('wake a job that waits, which goes on with its steps done and without an attempt', async () => {
      const ran: string[] = [];
      const { fn, job } = await runJob(async (running) => {
        const draft = await running.step('draft', () => ran.push('draft') && 'a draft');
        const by = await running.waitFor<{ name: string }>('approved', LONG);
        return [draft, by.name, running.attempts, running.snoozes];
      });
      await waits(fn, job.id, 'approved');
      await expect(rigOf().client().signal(fn, job.id, 'approved', { name: 'ada' })).resolves.toBe(true);
      await expect(job.result()).resolves.toEqual(['a draft', 'ada', 1, 1]);
      expect(ran).toEqual(['draft']);
    });

    it('give the slot back while a job waits', async () => {
      const { fn, job } = await runJob((running) => running.waitFor('approved', LONG), { concurrency: 1 });
      await waits(fn, job.id, 'approved');
      const other = await rigOf().client().run(fn, null);
      await waits(fn, other.id, 'approved');
      await other.signal('approved', 2);
      await expect(other.result()).resolves.toBe(2);
      await job.signal('approved', 1);
      await expect(job.result()).resolves.toBe(1);
    });

    it('that come first are kept, also before the job has begun', async () => {
      const fn = rigOf().fn();
      const job = await rigOf().client().run(fn, null);
      await expect(job.signal('approved', 'early')).resolves.toBe(true);
      await runWorker(rigOf().source(), fn, (_, running) => running.waitFor('approved', LONG));
      await expect(job.result()).resolves.toBe('early');
    });

    it('that come while the handler is on its way to wait are not missed', async () => {
      const fn = rigOf().fn();
      const runs = 30;
      await runWorker(rigOf().source(), fn, (_, running) => running.waitFor('go', LONG), {
        concurrency: runs,
      });
      const jobs = await rigOf().client().runMany(fn, Array<null>(runs).fill(null));
      await Promise.all(jobs.map((job, index) => job.signal('go', index)));
      await expect(Promise.all(jobs.map((job) => job.result()))).resolves.toEqual(jobs.map((_, n) => n));
    });

    it('count once: the first of a name', async () => {
      const { fn, job } = await runJob(async (running) => [
        await running.waitFor('one', LONG),
        await running.waitFor('two', LONG),
      ]);
      await waits(fn, job.id, 'one');
      await job.signal('one', 'first');
      await waits(fn, job.id, 'two');
      await expect(job.signal('one', 'second')).resolves.toBe(false);
      await job.signal('two');
      await expect(job.result()).resolves.toEqual(['first', null]);
      await expect(job.signal('three', 1)).resolves.toBe(false);
      await expect(rigOf().client().signal(fn, 999_999, 'one', 1)).rejects.toMatchObject({
        code: 'JOB_NOT_FOUND',
      });
    });

    it('of another name leave the job waiting, and are there when it waits for them', async () => {
      const { fn, job } = await runJob(async (running) => [
        await running.waitFor('one', LONG),
        await running.waitFor('two', LONG),
      ]);
      await waits(fn, job.id, 'one');
      await job.signal('two', 2);
      await job.signal('one', 1);
      await expect(job.result()).resolves.toEqual([1, 2]);
      expect((await job.get()).snoozes).toBe(1);
    });

    it('that do not come in time fail the job for good, whatever its retry options', async () => {
      const fn = rigOf().fn();
      const definition = defineJob(fn, { retry: { attempts: 5, delay: 1 } });
      await runWorker(rigOf().source(), definition, (_, job) => job.waitFor('approved', { timeout: 50 }));
      const job = await rigOf().client().run(definition, null);
      await expect(job.result()).rejects.toMatchObject({ error: { code: 'SIGNAL_TIMEOUT' } });
      await expect(job.signal('approved')).resolves.toBe(false);
    });

    it('that do not come in time can be done without: that is final once another step is recorded', async () => {
      const end = gate();
      const { job } = await runJob(async (running) => {
        const by = await running
          .waitFor('approved', { timeout: 50 })
          .catch((error: { code?: string }) => error.code);
        await running.step('escalate', () => 'to the boss');
        if (running.claim.stalls === 0 && running.snoozes === 1) {
          await end.passed;
          await running.waitFor('again', LONG);
        }
        return by;
      });
      await until(async () => (await job.get()).steps?.length === 1);
      await job.signal('approved', 'too late');
      await job.signal('again');
      end.open();
      await expect(job.result()).resolves.toBe('SIGNAL_TIMEOUT');
    });

    it('are waited for anew when an operator retries a job whose wait had ended', async () => {
      let runs = 0;
      const { fn, job } = await runJob((running) =>
        // The first two are those before and behind the timeout.
        running.waitFor('approved', { timeout: (runs += 1) < 3 ? 20 : '7d' }),
      );
      await expect(job.result()).rejects.toMatchObject({ error: { code: 'SIGNAL_TIMEOUT' } });
      await rigOf().client().retry(fn, job.id).done;
      await waits(fn, job.id, 'approved');
      await job.signal('approved', 'now');
      await expect(job.result()).resolves.toBe('now');
    });

    it.each([['approved'], ['rejected']])(
      'of several names: the first one wakes it, here "%s"',
      async (name) => {
        const { fn, job } = await runJob(async (running) => [
          await running.waitForAny(['approved', 'rejected'], LONG),
          running.snoozes,
        ]);
        await waits(fn, job.id, 'approved', 'rejected');
        await expect(job.signal('another', 1)).resolves.toBe(true);
        await expect(job.signal(name, { by: 'ada' })).resolves.toBe(true);
        await expect(job.result()).resolves.toEqual([{ name, data: { by: 'ada' } }, 1]);
      },
    );

    it('of several names that come first: the one that came first counts, in all runs', async () => {
      const fn = rigOf().fn();
      const job = await rigOf().client().run(fn, null);
      await job.signal('rejected', 1);
      await runWorker(rigOf().source(), fn, async (_, running) => {
        const first = await running.waitForAny(['approved', 'rejected'], LONG);
        return [first, await running.waitForAny(['later', 'never'], LONG)];
      });
      await waits(fn, job.id, 'later', 'never');
      await job.signal('approved', 2);
      await job.signal('later', 3);
      await expect(job.result()).resolves.toEqual([
        { name: 'rejected', data: 1 },
        { name: 'later', data: 3 },
      ]);
    });

    it('of several names that come while the handler is on its way to wait are not missed', async () => {
      const fn = rigOf().fn();
      const runs = 20;
      await runWorker(rigOf().source(), fn, (_, running) => running.waitForAny(['stop', 'go'], LONG), {
        concurrency: runs,
      });
      const jobs = await rigOf().client().runMany(fn, Array<null>(runs).fill(null));
      await Promise.all(jobs.map((job, data) => job.signal('go', data)));
      await expect(Promise.all(jobs.map((job) => job.result()))).resolves.toEqual(
        jobs.map((_, data) => ({ name: 'go', data })),
      );
    });

    it('of several names that do not come in time fail the job, which waits for all anew when it is retried', async () => {
      let runs = 0;
      const { fn, job } = await runJob((running) =>
        running.waitForAny(['approved', 'rejected'], { timeout: (runs += 1) < 3 ? 20 : '7d' }),
      );
      await expect(job.result()).rejects.toMatchObject({
        error: { code: 'SIGNAL_TIMEOUT', message: expect.stringContaining('"approved", "rejected"') },
      });
      await rigOf().client().retry(fn, job.id).done;
      await waits(fn, job.id, 'approved', 'rejected');
      await job.signal('rejected', 'now');
      await expect(job.result()).resolves.toEqual({ name: 'rejected', data: 'now' });
    });

    it('of several names are waited for until one time, through failed attempts between', async () => {
      const fn = rigOf().fn();
      const definition = defineJob(fn, { retry: { attempts: 2, delay: 1 } });
      await runWorker(rigOf().source(), definition, async (_, running) => {
        const { name } = await running.waitForAny(['approved', 'rejected'], LONG);
        if (running.attempts === 1) throw new Error('once');
        return name;
      });
      const job = await rigOf().client().run(definition, null);
      await waits(fn, job.id, 'approved', 'rejected');
      expect(Number((await job.get()).times.waitsUntil)).toBeGreaterThan(Date.now() + 6 * 86_400_000);
      await job.signal('rejected');
      await expect(job.result()).resolves.toBe('rejected');
    });

    it.each<[string, (running: RunningJob, step: () => Promise<unknown>) => Promise<unknown>, string]>([
      [
        'two waits in a race',
        (running) => Promise.race([running.waitFor('approved', LONG), running.waitFor('rejected', LONG)]),
        'job.waitForAny',
      ],
      [
        'two waits for all',
        (running) => Promise.all([running.waitFor('approved', LONG), running.waitForAny(['rejected'], LONG)]),
        'one after the other',
      ],
      [
        'a step that has not ended',
        (running, step) => Promise.race([running.step('work', step), running.waitFor('stop', LONG)]),
        'Await the step first',
      ],
      [
        'a step that begins meanwhile',
        (running, step) => Promise.race([running.waitFor('stop', LONG), running.step('work', step)]),
        'job.step("work")',
      ],
    ])(
      'are refused with the remedy for %s, and the run does not end under its handler',
      async (_, wait, says) => {
        const { passed, open } = gate();
        const { job } = await runJob(async (running) => {
          const refused = await wait(running, () => passed).catch((error: Error) => error.message);
          open();
          await running.step('rest', () => 1);
          return [refused, running.snoozes];
        });
        await expect(job.result()).resolves.toEqual([expect.stringContaining(says), 0]);
      },
    );

    it('wake jobs of a function with a limit, whose place is free while they wait', async () => {
      const fn = rigOf().fn();
      const definition = defineJob<{ tenant: string }>(fn, {
        limit: { key: ({ tenant }) => tenant, concurrency: 1 },
      });
      await runWorker(rigOf().source(), definition, (_, job) => job.waitFor('go', LONG), { concurrency: 5 });
      const jobs = await rigOf()
        .client()
        .runMany(definition, [{ tenant: 'a' }, { tenant: 'a' }]);
      for (const { id } of jobs) await waits(fn, id, 'go');
      for (const job of jobs) await job.signal('go', job.id);
      await expect(Promise.all(jobs.map((job) => job.result()))).resolves.toEqual(jobs.map(({ id }) => id));
    });

    it('are shown while they are waited for, and the job can be cancelled', async () => {
      const { fn, job } = await runJob((running) => running.waitFor('approved', LONG));
      await waits(fn, job.id, 'approved');
      const seen = await job.get();
      expect(seen).toMatchObject({ state: 'scheduled', waitsFor: ['approved'], attempts: 0 });
      expect(Number(seen.times.waitsUntil)).toBeGreaterThan(Date.now() + 6 * 86_400_000);
      const { jobs } = await rigOf().client().list(fn, { state: 'scheduled' });
      expect(jobs).toEqual([expect.objectContaining({ id: job.id, waitsFor: ['approved'] })]);
      await expect(job.cancel()).resolves.toBe(true);
      await expect(job.signal('approved')).resolves.toBe(false);
    });

    it('are not waited for in a step, which would never end, nor in a batch', async () => {
      const { job } = await runJob((running) => running.step('a', () => running.waitFor('x', LONG)));
      await expect(job.result()).rejects.toMatchObject({ error: { code: 'CONFIGURATION' } });
      const fn = rigOf().fn();
      const handle = (_: unknown, jobs: RunningJob[]) => jobs[0]?.waitFor('x', LONG);
      await runWorker(rigOf().source(), fn, handle as never, { batch: { size: 1 } });
      const batched = await rigOf().client().run(fn, null);
      await expect(batched.result()).rejects.toMatchObject({ error: { code: 'CONFIGURATION' } });
    });

    it('with bad names, data or timeouts are refused before anything is written', async () => {
      const fn = rigOf().fn();
      const job = await rigOf().client().run(fn, null);
      for (const name of ['', 'a:b', 'x'.repeat(101), '\uD800', 7 as never])
        await expect(job.signal(name)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      await expect(job.signal('big', 1n)).rejects.toMatchObject({ code: 'NOT_SERIALIZABLE' });
      await expect(job.signal('big', 'x'.repeat(2_000_000))).rejects.toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
      });
      const codes: unknown[] = [];
      await runWorker(rigOf().source(), fn, async (_, running) => {
        const failed = (error: { code?: unknown }) => void codes.push(error.code);
        for (const name of ['', 'a:b']) await running.waitFor(name, LONG).catch(failed);
        for (const names of [[], ['a', 'a:b'], Array<string>(21).fill('x'), 'x'])
          await running.waitForAny(names as string[], LONG).catch(failed);
        await running.waitForAny(['a', 'a'], LONG).catch(failed);
        for (const options of [{}, { timeout: 0 }, { timeout: '1 fortnight' }, { tiemout: 1 }, undefined])
          await running.waitFor('x', options as never).catch(failed);
      });
      await job.result();
      expect(codes).toEqual([
        ...Array<string>(6).fill('INVALID_OPTION'),
        'DUPLICATE_STEP',
        ...['INVALID_OPTION', 'INVALID_OPTION', 'INVALID_OPTION', 'CONFIGURATION', 'CONFIGURATION'],
      ]);
    });
  });
}
