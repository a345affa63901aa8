import { describe, expect, it } from '@jest/globals';
import { lastValueFrom, tap } from 'rxjs';
import { defineJob } from '../../lib/job/job-definition.js';
import { bindHandler, type JobHandler } from '../../lib/worker/job-handler.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { claimOne, claimUpTo, inputOf, PATIENCE_MS, retry, success } from './claiming.js';
import { pass, spanOf, type ClientRig } from './rig.js';

const echo = (input: unknown) => input;

/** The part of the client's contract that is about pausing functions. */
export function pauseContract(rigOf: () => ClientRig): void {
  describe('pause', () => {
    /** A worker, the inputs that its handler got, and a wait until it has had the chance to begin more. */
    async function worker(fn: string, handle: JobHandler = echo) {
      const began: unknown[] = [];
      const source = rigOf().source();
      const { worker: running } = await runWorker(source, fn, (input, job) => {
        began.push(input);
        return handle(input, job);
      });
      const beside = rigOf().fn();
      await running.add(bindHandler(defineJob(beside), {}, echo));
      // By then it has heard of what was enqueued before, and has asked for jobs.
      const looks = () => rigOf().client().call(beside, 'look', { timeout: '20s' });
      return { began, running, source, looks };
    }

    it('keeps idle workers from beginning jobs until the function is resumed', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const workers = [await worker(fn), await worker(fn)];
      await client.call(fn, 'before', { timeout: '20s' });
      await client.pause(fn);
      const jobs = await client.runMany(fn, ['a', 'b']);
      jobs.push(await client.run(fn, 'due', { delay: spanOf(rigOf()) }));
      for (const { looks } of workers) await looks();
      await pass(rigOf(), spanOf(rigOf()));
      for (const { looks } of workers) await looks();
      expect(workers.flatMap(({ began }) => began)).toEqual(['before']);
      for (const job of jobs)
        await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
      await client.resume(fn);
      const outputs = await Promise.all(jobs.map((job) => job.result({ timeout: '20s' })));
      expect(outputs).toEqual(['a', 'b', 'due']);
    });

    it('tells whether the function is paused, to all clients', async () => {
      const fn = rigOf().fn();
      const [one, other] = [rigOf().client(), rigOf().client()];
      await expect(one.isPaused(fn)).resolves.toBe(false);
      await one.pause(fn);
      await one.pause(fn);
      await expect(other.isPaused(fn)).resolves.toBe(true);
      await expect(other.isPaused(`${fn}:other`)).resolves.toBe(false);
      await other.resume(fn);
      await other.resume(fn);
      await expect(one.isPaused(fn)).resolves.toBe(false);
    });

    it('lets running jobs go on, and stores how they end', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const end = gate<string>();
      const { looks } = await worker(fn, () => end.passed);
      const [first, second] = await client.runMany(fn, [1, 2]);
      await eventually(async () => expect((await first?.get())?.state).toBe('running'));
      await client.pause(fn);
      end.open('out');
      await expect(first?.result({ timeout: '20s' })).resolves.toBe('out');
      await looks();
      await expect(second?.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
      await client.resume(fn);
      await expect(second?.result({ timeout: '20s' })).resolves.toBe('out');
    });

    it('holds for workers that start later, which are healthy and can be closed', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.pause(fn);
      const job = await client.run(fn, 'x');
      const { running: started, source, looks } = await worker(fn);
      await looks();
      expect(source.monitor?.health()).toMatchObject({ connected: true });
      await expect(client.rollCall(fn)).resolves.toBe(1);
      await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
      await started.stop(0);
      await worker(fn);
      await client.resume(fn);
      await expect(job.result({ timeout: '20s' })).resolves.toBe('x');
    });

    it('ends no wait of a job that has another function', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await client.pause(fn);
      await worker(`${fn}-other`);
      await expect(client.call(`${fn}-other`, 'x', { timeout: '20s' })).resolves.toBe('x');
    });

    it('wakes workers for a job that is due only after the function was resumed', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const { looks } = await worker(fn);
      await client.pause(fn);
      const job = await client.run(fn, 'x', { delay: spanOf(rigOf()) });
      await looks();
      await client.resume(fn);
      await pass(rigOf(), spanOf(rigOf()));
      await expect(job.result({ timeout: '20s' })).resolves.toBe('x');
      const { times } = await job.get();
      expect(Number(times.started) - Number(times.scheduled)).toBeGreaterThanOrEqual(0);
    });

    it('leaves retries and lost claims waiting', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const [lease, beside] = [spanOf(rigOf()), rigOf().fn()];
      const [losing, other] = [rigOf().source({ lease }), rigOf().source({ lease: 3 * lease })];
      await client.runMany(fn, ['lost', 'retried']);
      const [lost, failed] = [await claimOne(losing, fn), await claimOne(other, fn)];
      await client.pause(fn);
      await expect(other.settle([retry(failed, 0)])).resolves.toEqual([]);
      await pass(rigOf(), lease);
      const slots = new SlotTable([
        [fn, 5],
        [beside, 1],
      ]);
      const claiming = other.claim(slots, AbortSignal.timeout(PATIENCE_MS));
      // The worker recovers the claim, but gets no job.
      await eventually(async () => expect((await client.get(fn, lost.id))?.state).toBe('waiting'));
      const { id } = await client.run(beside, 'x');
      const [claim, ...more] = await claiming;
      expect([claim?.fn, claim?.id, more]).toEqual([beside, id, []]);
      await client.resume(fn);
      const claims = await claimUpTo(other, fn, 5);
      expect(claims.map(inputOf).toSorted()).toEqual(['"lost"', '"retried"']);
      await other.settle(claims.map((claim) => success(claim)));
      await Promise.all([losing.close(), other.close()]);
    });

    it('lets a job expire', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      await worker(fn);
      await client.pause(fn);
      await expect(client.call(fn, 'x', { expires: 50, timeout: '20s' })).rejects.toMatchObject({
        cause: { code: 'JOB_EXPIRED' },
      });
      await client.resume(fn);
      await expect(client.call(fn, 'y', { timeout: '20s' })).resolves.toBe('y');
    });

    it('is told to observers: the state now, and each change', async () => {
      const fn = rigOf().fn();
      const [client, observer] = [rigOf().client(), rigOf().client()];
      const [all, seen]: [boolean[], boolean[]] = [[], []];
      const ended = lastValueFrom(observer.watchPaused(fn).pipe(tap((paused) => all.push(paused))));
      const watching = observer.watchPaused(fn).subscribe((paused) => seen.push(paused));
      await eventually(() => expect([all, seen]).toEqual([[false], [false]]));
      await client.pause(fn);
      await client.pause(fn);
      await eventually(() =>
        expect([all, seen]).toEqual([
          [false, true],
          [false, true],
        ]),
      );
      watching.unsubscribe();
      await client.resume(fn);
      await eventually(() => expect(all).toEqual([false, true, false]));
      observer.endObservers();
      await expect(ended).resolves.toBe(false);
      await expect(lastValueFrom(observer.watchPaused(fn), { defaultValue: 'none' })).resolves.toBe('none');
      expect(seen).toEqual([false, true]);
    });

    it('lets schedules create jobs, which wait', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const { began, looks } = await worker(fn);
      await client.pause(fn);
      await client.recur(fn, { id: `each-second-of-${fn}`, every: '1s', input: 'x' });
      for (const job of [1, 2]) {
        await pass(rigOf(), 1000);
        await until(async () => client.get(fn, job));
      }
      await looks();
      await eventually(async () => expect((await client.get(fn, 2))?.state).toBe('waiting'));
      await client.schedules.remove(`each-second-of-${fn}`);
      expect(began).toEqual([]);
      await client.resume(fn);
      await eventually(() => expect(began.length).toBeGreaterThanOrEqual(2));
    });

    it('refuses names that are none', async () => {
      const client = rigOf().client();
      const refused = { code: 'INVALID_FUNCTION_NAME' };
      await expect(client.pause('a b')).rejects.toMatchObject(refused);
      await expect(client.resume('')).rejects.toMatchObject(refused);
      await expect(client.isPaused('a b')).rejects.toMatchObject(refused);
      expect(() => client.watchPaused('a b')).toThrow(expect.objectContaining(refused));
    });

    it('lets workers stop', async () => {
      const fn = rigOf().fn();
      const client = rigOf().client();
      const { running } = await worker(fn);
      await client.pause(fn);
      await client.run(fn, 'x');
      await running.stop(60_000);
      await stopWorkers();
      await expect(client.get(fn, 1)).resolves.toMatchObject({ state: 'waiting', attempts: 0 });
      await client.resume(fn);
    });
  });
}
