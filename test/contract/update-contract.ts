import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { z } from 'zod';
import type { JobHandle } from '../../lib/gearmonkey/core/client/job-handle.js';
import type { UpdateOptions } from '../../lib/gearmonkey/core/client/run-options.js';
import { JobBegunError, JobNotFoundError } from '../../lib/job/errors.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { runWorker } from '../support/run-worker.js';
import { claimInOrder, claimOne, inputOf, released, retry, snoozed, success } from './claiming.js';
import { pass, spanOf, type ClientRig } from './rig.js';

const HOUR_MS = 3_600_000;

/** The part of the client's contract that is about changing jobs that wait. */
export function updateContract(rigOf: () => ClientRig): void {
  describe('update', () => {
    /** The inputs of the next jobs, in the order they are claimed. */
    async function order(fn: string, count: number): Promise<string[]> {
      const source = rigOf().source();
      const inputs = await claimInOrder(source, fn, count);
      await source.close();
      return inputs;
    }
    const expectOnly = async (fn: string, inputs: string[]) => {
      await rigOf().submit(fn, '"end"', { queue: 'low' });
      await expect(order(fn, inputs.length + 1)).resolves.toEqual([...inputs, '"end"']);
    };

    it('changes the input', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const [first, second] = await client.runMany(fn, [{ n: 1 }, { n: 2 }]);
      await expect(client.update(fn, 1, { input: { n: 10 } })).resolves.toBeUndefined();
      await expect(second?.update({ input: { n: 20 } })).resolves.toBeUndefined();
      await expect(first?.get()).resolves.toMatchObject({ state: 'waiting', input: { n: 10 } });
      await expectOnly(fn, ['{"n":10}', '{"n":20}']);
    });

    const moves = ['high', 'normal', 'low', 'scheduled'].flatMap((from) =>
      ['high', 'normal', 'low', 'scheduled'].map((to) => [from, to] as const),
    );
    const placed = (queue: string) =>
      (queue === 'scheduled' ? { scheduled: new Date(1000) } : { priority: queue }) as UpdateOptions;

    it.each(moves)('moves a job from %s to %s, and it runs once', async (from, to) => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 'x', placed(from));
      await job.update(placed(to));
      await job.update(placed(to));
      const { scheduled } = (await job.get()).times;
      expect(scheduled).toEqual(to === 'scheduled' ? new Date(1000) : undefined);
      await expectOnly(fn, ['"x"']);
    });

    it('puts a job behind those of its new priority; one that had it keeps its place', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const [low] = await client.runMany(fn, ['low', 'lower'], { priority: 'low' });
      const [high] = await client.runMany(fn, ['a', 'b'], { priority: 'high' });
      await low?.update({ priority: 'high' });
      await high?.update({ priority: 'high' });
      await expectOnly(fn, ['"a"', '"b"', '"low"', '"lower"']);
    });

    it('changes several at once, and leaves what it is not given', async () => {
      const fn = rigOf().fn();
      const job = await rigOf()
        .client()
        .run(fn, 'x', { headers: { tenant: 'a' }, expires: '1d' });
      const before = await job.get();
      await job.update({ input: 'y', delay: '1h' });
      const { times, ...after } = await job.get();
      expect(after).toMatchObject({ input: 'y', headers: { tenant: 'a' }, state: 'scheduled' });
      expect(times).toMatchObject({ created: before.times.created, expires: before.times.expires });
      expect(Math.abs(Number(times.scheduled) - Date.now() - HOUR_MS)).toBeLessThan(60_000);
    });

    it('delays a job, and lets a delayed one run now: an idle worker begins it', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const [job, other] = [await client.run(fn, 'x'), await client.run(fn, 'y', { delay: '1d' })];
      await job.update({ delay: spanOf(rigOf()) });
      await runWorker(rigOf().source(), fn, (input) => input);
      await pass(rigOf(), spanOf(rigOf()));
      await expect(job.result({ timeout: '20s' })).resolves.toBe('x');
      const { times } = await job.get();
      expect(Number(times.started)).toBeGreaterThanOrEqual(Number(times.scheduled));
      await other.update({ priority: 'low' });
      await expect(other.result({ timeout: '20s' })).resolves.toBe('y');
      const later = await client.run(fn, 'z', { delay: '1d' });
      await later.update({ delay: 0 });
      await expect(later.result({ timeout: '20s' })).resolves.toBe('z');
    });

    it('changes a job that was released', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      const job = await rigOf().client().run(fn, 'x');
      await source.settle([released(await claimOne(source, fn))]);
      await job.update({ input: 'y', priority: 'high' });
      await expectOnly(fn, ['"y"']);
      await source.close();
    });

    const BEGUN = { code: 'JOB_BEGUN', finished: false };
    const refused = async (job: JobHandle, expected: object) => {
      const before = await job.get();
      for (const changes of [{ input: 'y' }, { priority: 'high' }, { delay: 0 }] as UpdateOptions[])
        await expect(job.update(changes)).rejects.toMatchObject(expected);
      await expect(job.update({ input: 'y' })).rejects.toThrow(JobBegunError);
      await expect(job.get()).resolves.toEqual(before);
    };

    it('refuses a job that runs, waits for a retry, was snoozed or has lost its worker', async () => {
      const fn = rigOf().fn();
      const lease = spanOf(rigOf());
      const [source, losing] = [rigOf().source({ lease: 3 * lease }), rigOf().source({ lease })];
      const job = await rigOf().client().run(fn, 'x');
      const claim = await claimOne(losing, fn);
      await refused(job, BEGUN);
      await source.open([fn]);
      await pass(rigOf(), lease);
      const second = await claimOne(source, fn);
      expect(second.id).toBe(claim.id);
      await source.settle([retry(second, 0)]);
      await refused(job, BEGUN);
      await source.settle([snoozed(await claimOne(source, fn), 0)]);
      await refused(job, BEGUN);
      const last = await claimOne(source, fn);
      expect(inputOf(last)).toBe('"x"');
      await source.settle([success(last)]);
      await refused(job, { code: 'JOB_BEGUN', finished: true });
      await Promise.all([source.close(), losing.close()]);
    });

    it('refuses a job that was cancelled', async () => {
      const fn = rigOf().fn();
      const job = await rigOf().client().run(fn, 'x');
      await job.cancel();
      await refused(job, { code: 'JOB_BEGUN', finished: true });
      await expectOnly(fn, []);
    });

    it('refuses a job that does not exist', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      for (const id of [7, 'x', '', '1:1'])
        await expect(client.update(fn, id, { input: 1 })).rejects.toThrow(JobNotFoundError);
      await expect(client.get(fn, 7)).resolves.toBeNull();
    });

    it("validates the input with the definition's schema, and its size", async () => {
      const fn = rigOf().fn();
      const definition = defineJob(fn, { input: z.object({ to: z.email() }) });
      const client = rigOf().client({ maxPayloadBytes: 100 });
      const job = await client.run(definition, { to: 'ada@example.com' });
      await expect(job.update({ input: { to: 'nowhere' } })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
      });
      const large = { input: 'x'.repeat(200) };
      await expect(client.update(fn, job.id, large)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      await expect(client.update(fn, job.id, { input: 1n })).rejects.toMatchObject({
        code: 'NOT_SERIALIZABLE',
      });
      await expect(job.get()).resolves.toMatchObject({ input: { to: 'ada@example.com' } });
    });

    it.each([
      [{}, 'INVALID_OPTION'],
      [{ input: undefined }, 'INVALID_OPTION'],
      [{ priority: 'urgent' }, 'INVALID_OPTION'],
      [{ priority: 'scheduled' }, 'INVALID_OPTION'],
      [{ priority: 'high', delay: 5 }, 'INVALID_OPTION'],
      [{ delay: -1 }, 'INVALID_OPTION'],
      [{ delay: '101y' }, 'INVALID_OPTION'],
      [{ delay: 1, scheduled: new Date() }, 'INVALID_OPTION'],
      [{ scheduled: new Date(Number.NaN) }, 'INVALID_OPTION'],
      [{ scheduled: 5 }, 'INVALID_OPTION'],
      [{ inputs: 'x' }, 'CONFIGURATION'],
      [{ input: 'y', retry: { attempts: 2 } }, 'CONFIGURATION'],
      [null, 'CONFIGURATION'],
      ['x', 'CONFIGURATION'],
    ])('refuses %j, and changes nothing', async (changes, code) => {
      const fn = rigOf().fn();
      const job = await rigOf().client().run(fn, 'x');
      await expect(job.update(changes as UpdateOptions)).rejects.toMatchObject({ code });
      await expect(
        rigOf()
          .client()
          .update(fn, job.id, changes as UpdateOptions),
      ).rejects.toMatchObject({
        code,
      });
      await expectOnly(fn, ['"x"']);
    });

    it('leaves the wait for its result as it is', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const job = await client.run(fn, 'x', { delay: '1d' });
      const [result, last] = [job.result({ timeout: '20s' }), lastValueFrom(client.watch(fn, job.id))];
      await job.update({ input: 'y', priority: 'normal' });
      await runWorker(rigOf().source(), fn, (input) => input);
      await expect(result).resolves.toBe('y');
      await expect(last).resolves.toMatchObject({ input: 'y', output: 'y', attempts: 1 });
    });
  });
}
