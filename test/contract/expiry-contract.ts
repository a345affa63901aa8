import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom, lastValueFrom } from 'rxjs';
import type { FlowNode } from '../../lib/gearmonkey/features/flows/flow-node.js';
import type { RunOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { runWorker } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { claimOne, claimUpTo, inputOf, released, retry, snoozed, success } from './claiming.js';
import { pass, spanOf, subscribed, workersLook, type ClientRig } from './rig.js';

const EXPIRED = { state: 'failed', attempts: 0, error: { name: 'JobExpiredError', code: 'JOB_EXPIRED' } };
const PAST = new Date(1000);
const HOUR_MS = 3_600_000;

/** The part of the client's contract that is about jobs that expire. */
export function expiryContract(rigOf: () => ClientRig): void {
  describe('a job that expires', () => {
    /** A job that was claimed in time, when its time has passed. */
    async function claimedUntilItsExpiry() {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await rigOf()
        .client()
        .run(fn, 'x', { expires: spanOf(rigOf()) });
      const first = await claimOne(source, fn);
      await pass(rigOf(), spanOf(rigOf()));
      return { fn, source, job, first };
    }

    it('is never handed out, and the next one is', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const jobs = await client.runMany(fn, ['late', 'late too'], { expires: PAST });
      await client.run(fn, 'in time', { expires: '1h' });
      const source = rigOf().source();
      const claim = await claimOne(source, fn);
      expect(inputOf(claim)).toBe('"in time"');
      for (const job of jobs) await expect(job.get()).resolves.toMatchObject(EXPIRED);
      await source.settle([success(claim)]);
      await source.close();
    });

    it('says when, as a span counts from when it may run', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const before = Date.now();
      const job = await client.run(fn, 'x', { delay: '1h', expires: '1m' });
      const expires = (await job.get()).times.expires?.getTime();
      expect(expires).toBeGreaterThanOrEqual(before + HOUR_MS + 60_000);
      expect(expires).toBeLessThanOrEqual(Date.now() + HOUR_MS + 60_001);
    });

    it('has the span of its definition, unless its own says otherwise', async () => {
      const fn = rigOf().fn();
      const definition = defineJob(fn, { expires: '1h' });
      const client = rigOf().client();
      const [own, other] = [new Date(Date.now() + 5000), await client.run(definition, 'x')];
      const expires = (await other.get()).times.expires?.getTime() ?? 0;
      expect(Math.abs(expires - Date.now() - HOUR_MS)).toBeLessThan(60_000);
      const job = await client.run(definition, 'x', { expires: own });
      await expect(job.get()).resolves.toMatchObject({ times: { expires: own } });
    });

    it.each([
      ['call', (rig: ClientRig, fn: string) => rig.client().call(fn, 'x', { expires: 50, timeout: '20s' })],
      [
        'result',
        async (rig: ClientRig, fn: string) =>
          (await rig.client().run(fn, 'x', { expires: 50 })).result({ timeout: '20s' }),
      ],
    ])('rejects a %s that waits, without a worker', async (_, wait) => {
      const failed = { code: 'JOB_FAILED', cause: { code: 'JOB_EXPIRED' } };
      await expect(wait(rigOf(), rigOf().fn())).rejects.toMatchObject(failed);
    });

    describe('and waits for others', () => {
      const failed = { code: 'JOB_FAILED', cause: { code: 'JOB_EXPIRED' } };

      /** A job that another waits for, as a worker has it that will claim no other. */
      async function running() {
        const fn = rigOf().fn();
        const [source, client] = [rigOf().source(), rigOf().client()];
        const parent = await client.run(fn, 'parent');
        const claim = await claimOne(source, fn);
        const succeed = async () => {
          await subscribed(rigOf(), fn);
          await source.settle([success(claim)]);
        };
        return { fn, client, source, options: { after: [parent], expires: 50 }, succeed };
      }

      it('rejects a result for which others asked before, and ends what stands behind it, without a worker', async () => {
        const { fn, client, source, options, succeed } = await running();
        const later = await client.run(fn, 'later', options);
        const last = await client.run(fn, 'last', { after: [later] });
        const results = [later, last].map((job) => job.result({ timeout: '20s' }));
        const [came] = await Promise.all([Promise.allSettled(results), succeed()]);
        expect(came).toMatchObject([
          { status: 'rejected', reason: failed },
          { status: 'rejected', reason: { code: 'JOB_FAILED', cause: { code: 'PARENT_FAILED' } } },
        ]);
        await source.close();
      });

      it('rejects a call, without a worker', async () => {
        const { fn, client, source, options, succeed } = await running();
        const call = client.call(fn, 'later', { ...options, timeout: '20s' });
        const [came] = await Promise.all([Promise.allSettled([call]), succeed()]);
        expect(came).toMatchObject([{ status: 'rejected', reason: failed }]);
        await source.close();
      });

      it('rejects a call after jobs that have ended, without a worker', async () => {
        const { fn, client, source, options, succeed } = await running();
        const [observed] = await Promise.all([firstValueFrom(client.events(fn)), succeed()]);
        expect(observed).toMatchObject({ type: 'finish' });
        await expect(client.call(fn, 'later', { ...options, timeout: '20s' })).rejects.toMatchObject(failed);
        await source.close();
      });

      it.each([
        [
          'a job',
          async (rig: ClientRig, of: string, behind: string) => {
            const job = await rig.client().run(of, 'late', { expires: spanOf(rig) });
            await rig.client().run(behind, 'behind', { after: [job], onParentError: 'run' });
          },
        ],
        [
          'a job of a flow',
          async (rig: ClientRig, of: string, behind: string) => {
            const last: FlowNode = { job: behind, input: 'behind', options: { onParentError: 'run' } };
            const late: FlowNode = {
              job: of,
              input: 'late',
              options: { expires: spanOf(rig) },
              children: [last],
            };
            const flow = await rig.client().flow({ job: behind, input: 'first', children: [late] });
            // Its time begins when the first has ended.
            await eventually(async () =>
              expect((await flow.jobOf(late)?.get())?.waitsForJobs).toBe(undefined),
            );
          },
        ],
        [
          'a job until a time that comes before those that it waits for',
          async (rig: ClientRig, of: string, behind: string) => {
            const never = await rig.client().run(of, 'never', { delay: '1h' });
            const expires = new Date(Date.now() + spanOf(rig));
            const job = await rig.client().run(of, 'late', { after: [never], expires });
            await rig.client().run(behind, 'behind', { after: [job], onParentError: 'run' });
          },
        ],
      ])(
        'lets those behind it run that are of another function, with their worker only: %s',
        async (_, create) => {
          const tag = `{${rigOf().fn()}}`;
          const [of, behind] = [`${tag}:of`, `${tag}:behind`];
          const ran: unknown[] = [];
          await runWorker(rigOf().source(), behind, async (input, job) => {
            ran.push(input, ...(await job.parents()).map(({ error }) => error?.code));
          });
          await create(rigOf(), of, behind);
          await pass(rigOf(), spanOf(rigOf()));
          await until(async () => (await workersLook(rigOf()), ran.includes('behind')));
          expect(ran.filter((each) => each !== 'first')).toEqual(['behind', 'JOB_EXPIRED']);
        },
      );

      it('ends a flow whose last job it is, of another function without a worker', async () => {
        const tag = `{${rigOf().fn()}}`;
        const [of, root] = [`${tag}:of`, `${tag}:root`];
        await runWorker(rigOf().source(), root, () => 'done');
        const late: FlowNode = { job: of, input: 'late', options: { expires: spanOf(rigOf()) } };
        const flow = await rigOf()
          .client()
          .flow({ job: root, input: 'first', children: [late, { job: root, input: 'last' }] });
        const job = flow.jobOf(late);
        await until(async () => (await job?.get())?.times.expires !== undefined);
        await pass(rigOf(), spanOf(rigOf()));
        const ended = lastValueFrom(flow.progress$);
        await until(async () => (await workersLook(rigOf()), (await job?.get())?.state === 'failed'));
        await expect(ended).resolves.toEqual({ done: 2, failed: 1, total: 3 });
      });

      it('lets those behind it run when its worker gives it back behind its time', async () => {
        const tag = `{${rigOf().fn()}}`;
        const [of, behind] = [`${tag}:of`, `${tag}:behind`];
        const source = rigOf().source();
        const job = await rigOf()
          .client()
          .run(of, 'late', { expires: spanOf(rigOf()) });
        const last = await rigOf()
          .client()
          .run(behind, 'behind', { after: [job], onParentError: 'run' });
        const claim = await claimOne(source, of);
        await runWorker(rigOf().source(), behind, () => 'ran');
        await pass(rigOf(), spanOf(rigOf()));
        await workersLook(rigOf());
        expect((await job.get()).state).toBe('running');
        await source.settle([released(claim)]);
        await source.close();
        await until(async () => (await workersLook(rigOf()), (await last.get()).state === 'succeeded'));
        await expect(job.get()).resolves.toMatchObject(EXPIRED);
      });

      it('completes observers of its progress and its output, without a worker', async () => {
        const { fn, client, source, options, succeed } = await running();
        const later = await client.run(fn, 'later', options);
        const observed = [client.progress(fn, later.id), client.output(fn, later.id)].map((values) =>
          lastValueFrom(values, { defaultValue: 'completed' }),
        );
        await Promise.all([...observed, succeed()]);
        await expect(later.get()).resolves.toMatchObject(EXPIRED);
        await source.close();
      });
    });

    it('is told to observers of another client, without a worker', async () => {
      const fn = rigOf().fn();
      const job = await rigOf()
        .client()
        .run(fn, 'x', { expires: spanOf(rigOf()) });
      const observer = rigOf().client();
      const finished = firstValueFrom(observer.events(fn).pipe(filter(({ type }) => type === 'finish')));
      const last = lastValueFrom(observer.watch(fn, job.id));
      await subscribed(rigOf(), fn);
      await pass(rigOf(), spanOf(rigOf()));
      await expect(last).resolves.toMatchObject(EXPIRED);
      await expect(finished).resolves.toEqual({ type: 'finish', fn, id: job.id });
    });

    it('runs if it was begun in time, however long it takes and often it fails', async () => {
      const { fn, source, job, first } = await claimedUntilItsExpiry();
      await source.settle([retry(first, 0)]);
      const second = await claimOne(source, fn);
      await source.settle([snoozed(second, 0)]);
      await source.settle([success(await claimOne(source, fn), '"out"')]);
      await expect(job.result()).resolves.toBe('out');
      await source.close();
    });

    it('expires after a claim that was released', async () => {
      const { fn, source, job, first } = await claimedUntilItsExpiry();
      await source.settle([released(first)]);
      await rigOf().client().run(fn, 'next');
      expect(inputOf(await claimOne(source, fn))).toBe('"next"');
      await expect(job.get()).resolves.toMatchObject(EXPIRED);
      await source.close();
    });

    it('leaves nothing to complain of in the queue, once it was ended for a client', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await expect(client.call(fn, 'x', { expires: 1, timeout: '20s' })).rejects.toThrow('expired');
      const { said } = await runWorker(rigOf().source(), fn, () => 'done');
      await expect(client.call(fn, 'x', { timeout: '10s' })).resolves.toBe('done');
      expect(said).toEqual([]);
    });

    it('is not begun by a worker that claims many', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.runMany(fn, Array.from({ length: 2500 }), { expires: PAST });
      await client.run(fn, 'after them');
      const source = rigOf().source();
      const claims = await claimUpTo(source, fn, 10);
      expect(claims.map(inputOf)).toEqual(['"after them"']);
      await source.settle(claims.map((claim) => success(claim)));
      await source.close();
    });

    it.each([
      [{ expires: 0 }],
      [{ expires: -1 }],
      [{ expires: 'soon' }],
      [{ expires: Number.NaN }],
      [{ expires: '101y' }],
      [{ expires: new Date(Number.NaN) }],
      [{ expires: null }],
      [{ expires: {} }],
      [{ expires: new Date(Date.now() + HOUR_MS), delay: '2h' }],
      [{ expires: new Date(Date.now() + HOUR_MS), scheduled: new Date(Date.now() + 2 * HOUR_MS) }],
    ])('is not enqueued with %j', async (options) => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const refused = { code: 'INVALID_OPTION', option: 'expires' };
      await expect(client.run(fn, 'x', options as RunOptions)).rejects.toMatchObject(refused);
      await expect(client.runMany(fn, ['x'], options as RunOptions)).rejects.toMatchObject(refused);
      await expect(client.get(fn, 1)).resolves.toBeNull();
    });
  });
}
