import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { BulkRun, EndedJobs } from '../../lib/job/failed-jobs.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { claimInOrder, claimOne, claimUpTo, failure, success } from './claiming.js';
import type { ClientRig } from './rig.js';

/** The part of the client's contract that is about failed jobs: their groups, retrying and deleting them. */
export function failedContract(rigOf: () => ClientRig): void {
  /** Jobs that failed with these messages, in this order; returns their ids. */
  async function failed(fn: string, messages: readonly string[]): Promise<string[]> {
    const source = rigOf().source();
    await source.open([fn]);
    const jobs = await rigOf().client().runMany(fn, messages);
    for (let done = 0; done < messages.length;) {
      const claims = await claimUpTo(source, fn, messages.length - done);
      const from = done;
      done += claims.length;
      await source.settle(claims.map((claim, index) => failure(claim, messages[from + index] ?? '')));
    }
    await source.close();
    return jobs.map(({ id }) => id);
  }

  const totalOf = async (client: GearMonkeyClient, fn: string, state: 'failed' | 'waiting' | 'cancelled') =>
    (await client.list(fn, { state })).total;

  describe('failures', () => {
    it('groups failed jobs whose messages differ in numbers, ids and quoted text', async () => {
      const fn = rigOf().fn();
      const ids = await failed(fn, ['no user 7', 'no user 8', 'other', 'no user 99']);
      const groups = await rigOf().client().failures(fn);
      expect(groups).toMatchObject([
        { name: 'Error', message: 'no user <n>', count: 3, last: expect.any(Date) },
        { name: 'Error', message: 'other', count: 1, sample: ids[2] },
      ]);
      await expect(rigOf().client().failures(rigOf().fn())).resolves.toEqual([]);
    });
  });

  describe('retry', () => {
    it.each<[unknown, string]>([
      [{}, 'state'],
      [{ state: 'succeeded' }, 'state'],
      [{ state: 'failed', group: 'x' }, 'group'],
      [{ state: 'failed', before: 7 }, 'before'],
      [{ state: 'failed', before: new Date(NaN) }, 'before'],
    ])('and discard refuse %p', (which, option) => {
      const client = rigOf().client();
      for (const verb of ['retry', 'discard'] as const)
        expect(() => client[verb]('fn', which as EndedJobs)).toThrow(
          expect.objectContaining({ code: 'INVALID_OPTION', option }),
        );
    });

    it('puts one job back as if it were new, with the errors it had', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const [id = ''] = await failed(fn, ['broken']);
      await expect(client.retry(fn, id).done).resolves.toBe(1);
      const job = await client.get(fn, id);
      expect(job).toMatchObject({ state: 'waiting', attempts: 0, input: 'broken' });
      expect(job?.error).toBeUndefined();
      expect(job?.times.finished).toBeUndefined();
      await expect(totalOf(client, fn, 'failed')).resolves.toBe(0);
      await expect(totalOf(client, fn, 'waiting')).resolves.toBe(1);
      const source = rigOf().source();
      const claim = await claimOne(source, fn);
      expect(claim).toMatchObject({ id, attempts: 1 });
      await source.settle([success(claim, '"out"')]);
      await expect(client.get(fn, id)).resolves.toMatchObject({
        state: 'succeeded',
        output: 'out',
        attempts: 1,
      });
      await source.close();
    });

    it('refuses the outcome of a claim from before', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 1);
      const source = rigOf().source();
      const zombie = await claimOne(source, fn);
      await job.cancel();
      await expect(client.retry(fn, job.id).done).resolves.toBe(1);
      await expect(source.settle([success(zombie)])).resolves.toHaveLength(1);
      const claim = await claimOne(source, fn);
      expect(claim.token).toBeGreaterThan(zombie.token);
      await expect(source.settle([success(zombie)])).resolves.toHaveLength(1);
      await expect(source.settle([success(claim)])).resolves.toEqual([]);
      await source.close();
    });

    it('leaves jobs that have not failed, and says that there is none with an id', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const { id } = await client.run(fn, 1);
      await expect(client.retry(fn, id).done).resolves.toBe(0);
      await expect(client.discard(fn, id).done).resolves.toBe(0);
      await expect(client.retry(fn, 777).done).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
      await expect(client.retry(fn, { state: 'failed' }).done).resolves.toBe(0);
      await expect(totalOf(client, fn, 'waiting')).resolves.toBe(1);
    });

    it('takes those of a group, in steps, and tells its progress', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await failed(
        fn,
        Array.from({ length: 250 }, (_, index) => (index % 5 === 0 ? 'rare' : `no ${index}`)),
      );
      const [common] = await client.failures(fn);
      const run = client.retry(fn, { state: 'failed', group: common?.group ?? '' });
      const seen = lastValueFrom(run.progress$.pipe(toArray()));
      await expect(run.done).resolves.toBe(200);
      const counts = await seen;
      expect(counts.at(-1)).toBe(200);
      expect(counts.length).toBeGreaterThan(2);
      await expect(totalOf(client, fn, 'failed')).resolves.toBe(50);
      await expect(totalOf(client, fn, 'waiting')).resolves.toBe(200);
      await expect(client.retry(fn, { state: 'failed', before: new Date(1) }).done).resolves.toBe(0);
      await expect(client.retry(fn, { state: 'failed' }).done).resolves.toBe(50);
    });

    it('ends after a step once it is cancelled', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await failed(
        fn,
        Array.from({ length: 250 }, () => 'x'),
      );
      const run = client.discard(fn, { state: 'failed' });
      run.cancel();
      await expect(run.done).resolves.toBe(100);
      await expect(totalOf(client, fn, 'failed')).resolves.toBe(150);
    });

    it('begins a job that had expired, without its expiry', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 'late', { expires: '1h', retry: { attempts: 2 } });
      await job.cancel();
      await expect(client.retry(fn, { state: 'cancelled' }).done).resolves.toBe(1);
      const again = await job.get();
      expect(again.times.expires).toBeUndefined();
      const source = rigOf().source();
      expect(await claimOne(source, fn)).toMatchObject({ id: job.id, options: { retry: { attempts: 2 } } });
      await source.close();
    });

    it('queues a job once that expired while it waited', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 'late', { expires: 1 });
      await expect(job.result({ timeout: '20s' })).rejects.toMatchObject({ cause: { code: 'JOB_EXPIRED' } });
      await expect(totalOf(client, fn, 'failed')).resolves.toBe(1);
      await expect(client.retry(fn, { state: 'failed' }).done).resolves.toBe(1);
      await expect(client.retry(fn, job.id).done).resolves.toBe(0);
      await expect(totalOf(client, fn, 'waiting')).resolves.toBe(1);
      await client.run(fn, 'next');
      const source = rigOf().source();
      await expect(claimInOrder(source, fn, 2)).resolves.toEqual(['"late"', '"next"']);
      await expect(job.get()).resolves.toMatchObject({ state: 'succeeded', attempts: 1 });
      await expect(totalOf(client, fn, 'waiting')).resolves.toBe(0);
      await source.close();
    });

    it('lets those with a key wait for its turn', async () => {
      const fn = rigOf().fn();
      const limited = defineJob<{ of: string }, unknown>(fn, {
        limit: { key: ({ of }) => of, concurrency: 1 },
      });
      const client = rigOf().client();
      const [first, second] = [
        await client.run(limited, { of: 'a' }),
        await client.run(limited, { of: 'a' }),
      ];
      await first.cancel();
      await second.cancel();
      await expect(client.retry(limited, { state: 'cancelled' }).done).resolves.toBe(2);
      await expect(client.limits(limited)).resolves.toMatchObject([{ key: 'a', waiting: 2 }]);
    });
  });

  describe('discard', () => {
    it('counts what it has deleted itself, not what another call has', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const [first = ''] = await failed(fn, ['a', 'b', 'c']);
      const sum = async (runs: BulkRun[]) => {
        const counts = await Promise.all(runs.map(({ done }) => done));
        return counts.reduce((all, one) => all + one);
      };
      await expect(sum([client.discard(fn, first), client.discard(fn, first)])).resolves.toBe(1);
      const which = { state: 'failed' } as const;
      await expect(sum([client.discard(fn, which), client.discard(fn, which)])).resolves.toBe(2);
      await expect(totalOf(client, fn, 'failed')).resolves.toBe(0);
    });

    it('deletes jobs, which then do not exist', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const [first = '', second = ''] = await failed(fn, ['a', 'b', 'c']);
      await expect(client.discard(fn, first).done).resolves.toBe(1);
      await expect(client.get(fn, first)).resolves.toBeNull();
      await expect(client.get(fn, second)).resolves.toMatchObject({ state: 'failed' });
      await expect(client.discard(fn, { state: 'failed' }).done).resolves.toBe(2);
      await expect(totalOf(client, fn, 'failed')).resolves.toBe(0);
      await client.run(fn, 'next');
      const source = rigOf().source();
      await expect(claimInOrder(source, fn, 1)).resolves.toEqual(['"next"']);
      await source.close();
    });
  });
}
