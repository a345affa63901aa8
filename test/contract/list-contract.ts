import { describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { JOB_STATES, type JobState } from '../../lib/job/job-state.js';
import type { JobList, ListOptions } from '../../lib/job/job-views.js';
import { eventually } from '../support/until.js';
import { claimOne, claimUpTo, failure, retry, success } from './claiming.js';
import type { ClientRig } from './rig.js';

const HOUR_MS = 3_600_000;

/** The part of the client's contract that is about what it shows of functions and their jobs. */
export function listContract(rigOf: () => ClientRig): void {
  const ids = async (client: GearMonkeyClient, fn: string, options: ListOptions) =>
    (await client.list(fn, options)).jobs.map(({ id }) => id);

  /** A function that has one job in each state; the ids by state. */
  async function oneInEachState(fn: string): Promise<Record<JobState, string>> {
    const client = rigOf().client();
    const source = rigOf().source();
    await source.open([fn]);
    const next = async () => (await client.run(fn, { n: 1 })).id;
    const succeeds = await next();
    await source.settle([success(await claimOne(source, fn), '"out"')]);
    const fails = await next();
    await source.settle([failure(await claimOne(source, fn), 'broken')]);
    const retries = await next();
    await source.settle([retry(await claimOne(source, fn), HOUR_MS)]);
    const runs = await next();
    await claimOne(source, fn);
    const cancelled = await client.run(fn, 1);
    await cancelled.cancel();
    const { id: later } = await client.run(fn, 1, { delay: HOUR_MS });
    const waits = await next();
    return {
      succeeded: succeeds,
      failed: fails,
      retrying: retries,
      running: runs,
      cancelled: cancelled.id,
      scheduled: later,
      waiting: waits,
    };
  }

  describe('list', () => {
    it.each([
      [{}, 'state'],
      [{ state: 'busy' }, 'state'],
      [{ state: 'failed', order: 'up' }, 'order'],
      [{ state: 'failed', size: 0 }, 'size'],
      [{ state: 'failed', size: 101 }, 'size'],
      [{ state: 'failed', page: 'x' }, 'page'],
      [{ state: 'failed', page: 1 }, 'page'],
      [{ state: 'failed', payloads: 1 }, 'payloads'],
    ])('refuses %p', async (options, option) => {
      const refused = rigOf()
        .client()
        .list('fn', options as unknown as ListOptions);
      await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION', option });
    });

    it('refuses an option that it does not know', async () => {
      const options = { state: 'failed', sise: 1 } as unknown as ListOptions;
      await expect(rigOf().client().list('fn', options)).rejects.toThrow('Did you mean `size`?');
    });

    it('has no jobs of a function that has none', async () => {
      const fn = rigOf().fn();
      for (const state of JOB_STATES)
        await expect(rigOf().client().list(fn, { state })).resolves.toEqual({ jobs: [], total: 0 });
    });

    it('has each job in the list of its state, and in no other', async () => {
      const fn = rigOf().fn();
      const of = await oneInEachState(fn);
      for (const state of JOB_STATES) {
        const { jobs, total, next } = await rigOf().client().list(fn, { state });
        expect([state, jobs.map((job) => [job.id, job.state, job.fn]), total, next]).toEqual([
          state,
          [[of[state], state, fn]],
          1,
          undefined,
        ]);
      }
    });

    it('tells attempts, times and errors, but no payloads unless asked', async () => {
      const fn = rigOf().fn();
      await oneInEachState(fn);
      const client = rigOf().client();
      const first = async (state: JobState, payloads = false) =>
        (await client.list(fn, { state, payloads })).jobs[0];
      expect(await first('failed')).toMatchObject({
        attempts: 1,
        error: { name: 'Error', message: 'broken' },
      });
      expect(await first('retrying')).toMatchObject({ attempts: 1, error: { message: 'not yet' } });
      expect(await first('cancelled')).toMatchObject({ attempts: 0, error: { code: 'JOB_CANCELLED' } });
      const done = await first('succeeded');
      expect(done?.times.created).toBeInstanceOf(Date);
      expect(done?.times.finished).toBeInstanceOf(Date);
      expect(done).not.toHaveProperty('input');
      expect(done).not.toHaveProperty('output');
      expect(await first('succeeded', true)).toMatchObject({
        input: { text: '{"n":1}', bytes: 7 },
        output: { text: '"out"', bytes: 5 },
      });
    });

    it('cuts payloads, and leaves out those that are too large to read', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.runMany(fn, ['x'.repeat(10_000), 'x'.repeat(100_000)]);
      const { jobs } = await client.list(fn, { state: 'waiting', payloads: true, order: 'oldest' });
      expect(jobs.map(({ input }) => [input?.text?.length, input?.bytes])).toEqual([
        [4096, 10_002],
        [undefined, 100_002],
      ]);
    });

    it('reads no payloads after the first 512 KiB of a page', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.runMany(fn, Array(30).fill('x'.repeat(20_000)));
      const page = { state: 'waiting', payloads: true, size: 30 } as const;
      const { jobs } = await client.list(fn, page);
      expect(jobs.map(({ input }) => input?.text !== undefined)).toEqual(jobs.map((_, index) => index < 26));
      expect(jobs.map(({ input }) => input?.bytes)).toEqual(Array(30).fill(20_002));
    });

    it.each(['newest', 'oldest'] as const)(
      'pages through jobs of the same time, the %s first',
      async (order) => {
        const fn = rigOf().fn();
        const client = rigOf().client();
        const now = Date.now();
        const at = (hours: number) => ({ scheduled: new Date(now + hours * HOUR_MS) });
        await client.runMany(fn, [1, 2], at(1));
        await client.runMany(fn, Array(15).fill(3), at(2));
        await client.runMany(fn, [4, 5], at(3));
        const seen: string[] = [];
        for (let page: string | undefined = ''; page !== undefined;) {
          const listed: JobList = await client.list(fn, { state: 'scheduled', order, size: 4, page });
          expect(listed.total).toBe(19);
          seen.push(...listed.jobs.map(({ id }) => id));
          page = listed.next;
        }
        const due = await Promise.all(
          seen.map(async (id) => (await client.get(fn, id))?.times.scheduled?.getTime() ?? 0),
        );
        expect(new Set(seen).size).toBe(19);
        expect(due).toEqual([...due].sort((a, b) => (order === 'newest' ? b - a : a - b)));
      },
    );

    it('pages through waiting jobs of all priorities by their ids, in both orders', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      for (const priority of ['low', 'high', 'normal', 'low', 'high'] as const)
        await client.run(fn, 1, { priority });
      for (const [order, expected] of [
        ['oldest', ['1', '2', '3', '4', '5']],
        ['newest', ['5', '4', '3', '2', '1']],
      ] as const) {
        const seen = [];
        let page: string | undefined;
        do {
          const list = await client.list(fn, { state: 'waiting', order, size: 2, ...(page && { page }) });
          expect(list.total).toBe(5);
          seen.push(...list.jobs.map(({ id }) => id));
          page = list.next;
        } while (page);
        expect(seen).toEqual(expected);
      }
    });

    it('pages through ended jobs, of which some ended at the same time, while others end', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const jobs = await client.runMany(fn, [1, 2, 3, 4, 5, 6]);
      await client.drain(fn);
      const first = await client.list(fn, { state: 'cancelled', size: 4 });
      const late = await client.run(fn, 7);
      await eventually(async () => {
        expect(Date.now()).toBeGreaterThan(Number(first.jobs[0]?.times.finished ?? 0));
      });
      await late.cancel();
      const second = await client.list(fn, { state: 'cancelled', size: 4, page: first.next ?? '' });
      expect(second.next).toBeUndefined();
      expect([...first.jobs, ...second.jobs].map(({ id }) => id).sort()).toEqual(jobs.map(({ id }) => id));
      expect(await ids(client, fn, { state: 'cancelled', size: 1 })).toEqual([late.id]);
    });

    it('lists a job that runs again in its new state', async () => {
      const fn = rigOf().fn();
      const [client, source] = [rigOf().client(), rigOf().source()];
      await source.open([fn]);
      const { id } = await client.run(fn, 1);
      await source.settle([retry(await claimOne(source, fn), 1)]);
      const claim = await claimOne(source, fn);
      expect(await ids(client, fn, { state: 'retrying' })).toEqual([]);
      expect(await ids(client, fn, { state: 'running' })).toEqual([id]);
      await source.settle([success(claim)]);
      expect(await ids(client, fn, { state: 'running' })).toEqual([]);
      expect(await ids(client, fn, { state: 'succeeded' })).toEqual([id]);
      await source.close();
    });

    it('does not list a retry that was cancelled or drained', async () => {
      const fn = rigOf().fn();
      const [client, source] = [rigOf().client(), rigOf().source()];
      await source.open([fn]);
      const [one] = await client.runMany(fn, [1, 2]);
      const claims = await claimUpTo(source, fn, 2);
      await source.settle(claims.map((claim) => retry(claim, HOUR_MS)));
      expect(await ids(client, fn, { state: 'retrying', order: 'oldest' })).toHaveLength(2);
      await client.cancel(fn, one?.id ?? '');
      await client.drain(fn, { states: ['retrying'] });
      expect(await ids(client, fn, { state: 'retrying' })).toEqual([]);
      expect(await ids(client, fn, { state: 'scheduled' })).toEqual([]);
      expect(await ids(client, fn, { state: 'cancelled' })).toHaveLength(2);
      await source.close();
    });

    it('leaves out jobs whose hashes are gone', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const jobs = await client.runMany(fn, [1, 2, 3]);
      await rigOf().deleteHash(fn, jobs[2]?.id ?? '');
      expect(await ids(client, fn, { state: 'waiting', size: 2 })).toEqual([jobs[1]?.id, jobs[0]?.id]);
    });

    it('lists jobs of a limit that wait for their turn or for the next attempt', async () => {
      const job = defineJob<string>(rigOf().fn(), { limit: { key: (input) => input, concurrency: 1 } });
      const [client, source] = [rigOf().client(), rigOf().source()];
      await source.open([job.name]);
      await client.runMany(job, ['a', 'a', 'a', 'b']);
      await claimUpTo(source, job.name, 1);
      const { jobs, total } = await client.list(job, { state: 'waiting', size: 2 });
      expect([jobs.length, total]).toEqual([2, 3]);
      const rest = await client.list(job, { state: 'waiting' });
      expect(rest.jobs.map(({ key }) => key).sort()).toEqual(['a', 'a', 'b']);
      await source.settle([retry(await claimOne(source, job.name), HOUR_MS)]);
      expect(await ids(client, job.name, { state: 'retrying' })).toEqual(['4']);
      expect(await ids(client, job.name, { state: 'scheduled' })).toEqual([]);
      await source.close();
    });
  });

  describe('overview', () => {
    it('counts the jobs of a function by state', async () => {
      const fn = rigOf().fn();
      await oneInEachState(fn);
      const client = rigOf().client();
      await client.run(fn, 1, { priority: 'high' });
      await client.pause(fn);
      await eventually(async () => {
        const found = (await client.overview()).find((one) => one.fn === fn);
        expect(found).toEqual({
          fn,
          waiting: { high: 1, normal: 1, low: 0 },
          scheduled: 1,
          retrying: 1,
          running: 1,
          succeeded: 1,
          failed: 1,
          cancelled: 1,
          limitsFull: 0,
          paused: true,
          oldest: expect.any(Date),
          workers: 1,
        });
      });
    });

    it('counts keys that may start no job', async () => {
      const job = defineJob<string>(rigOf().fn(), { limit: { key: (input) => input, concurrency: 1 } });
      const [client, source] = [rigOf().client(), rigOf().source()];
      await source.open([job.name]);
      await client.runMany(job, ['a', 'a', 'b', 'b', 'c']);
      await claimUpTo(source, job.name, 5);
      await eventually(async () => {
        const found = (await client.overview()).find(({ fn }) => fn === job.name);
        expect(found).toMatchObject({ waiting: { normal: 2 }, running: 3, limitsFull: 2 });
      });
      await source.close();
    });

    it('has only functions of the definitions of a restricted client', async () => {
      const [own, other] = [defineJob<number>(rigOf().fn()), rigOf().fn()];
      const client = rigOf().client();
      await client.run(own, 1);
      await client.run(other, 1);
      await eventually(async () =>
        expect((await client.overview()).map(({ fn }) => fn)).toEqual(
          expect.arrayContaining([own.name, other]),
        ),
      );
      const names = (await client.only([own]).overview()).map(({ fn }) => fn);
      expect(names).toEqual([own.name]);
    });
  });
}
