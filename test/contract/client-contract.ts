import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { JobFailedError, JobNotFoundError, NoWorkersError, WaitTimeoutError } from '../../lib/job/errors.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { batchContract } from './batch-contract.js';
import { cancelContract } from './cancel-contract.js';
import { claimInOrder } from './claiming.js';
import { closeContract } from './close-contract.js';
import { codecContract } from './codec-contract.js';
import { drainContract } from './drain-contract.js';
import { expiryContract } from './expiry-contract.js';
import { flowsContract } from './flows-contract.js';
import { headersContract } from './headers-contract.js';
import { hostileClientContract } from './hostile-client-contract.js';
import { failedContract } from './failed-contract.js';
import { keepContract } from './keep-contract.js';
import { signalsContract } from './signals-contract.js';
import { stepsContract } from './steps-contract.js';
import { streamsContract } from './streams-contract.js';
import { findContract } from './find-contract.js';
import { listContract } from './list-contract.js';
import { observableContract } from './observable-contract.js';
import { pauseContract } from './pause-contract.js';
import { statesContract } from './states-contract.js';
import { statisticsContract } from './statistics-contract.js';
import { retryContract } from './retry-contract.js';
import { pass, spanOf, type ClientRig } from './rig.js';
import { skipShortDelays } from './short-delays.js';
import { uniqueContract } from './unique-contract.js';
import { uniqueLimitContract } from './unique-limit-contract.js';
import { updateContract } from './update-contract.js';

const echo = (input: unknown) => input;

/** What `GearMonkeyClient` promises, whatever the server. */
export function clientContract(name: string, setup: () => Promise<ClientRig>): void {
  describe(`GearMonkeyClient: ${name}`, () => {
    let rig: ClientRig;
    let client: GearMonkeyClient;

    beforeAll(async () => {
      rig = await setup();
      client = rig.client();
    });
    afterEach(stopWorkers);
    afterEach(() => rig.endTest?.());
    afterAll(() => rig.close());
    skipShortDelays(() => rig);

    describe('run', () => {
      it('enqueues a job and returns its id', async () => {
        const fn = rig.fn();
        const job = await client.run(fn, { a: 1 });
        expect(job).toMatchObject({ fn, id: '1' });
        await expect(job.get()).resolves.toMatchObject({ state: 'waiting', input: { a: 1 }, attempts: 0 });
        expect((await job.get()).times.created).toBeInstanceOf(Date);
      });

      it('puts jobs into the queue of their priority, normal by default', async () => {
        const fn = rig.fn();
        await client.run(fn, 'low', { priority: 'low' });
        await client.run(fn, 'default');
        await client.run(fn, 'normal', { priority: 'normal' });
        await client.run(fn, 'high', { priority: 'high' });
        await client.run(fn, 'due', { priority: 'scheduled', scheduled: new Date(1000) });
        const source = rig.source();
        const order = await claimInOrder(source, fn, 5);
        await source.close();
        expect(order).toEqual(['"due"', '"high"', '"default"', '"normal"', '"low"']);
      });

      it('delays a job until its scheduled time', async () => {
        const fn = rig.fn();
        const due = Date.now() + spanOf(rig);
        const job = await client.run(fn, 'x', { scheduled: new Date(due) });
        await expect(job.get()).resolves.toMatchObject({ times: { scheduled: new Date(due) } });
        await runWorker(rig.source(), fn, echo);
        await pass(rig, spanOf(rig));
        await expect(job.result({ timeout: '10s' })).resolves.toBe('x');
        expect((await job.get()).times.started?.getTime()).toBeGreaterThanOrEqual(due);
      });

      it.each([
        ['text', '3s'],
        ['milliseconds', 3000],
        ['part of a millisecond', 2999.5],
      ])('delays a job for its delay: %s', async (_, delay) => {
        const fn = rig.fn();
        const before = Date.now();
        const job = await client.run(fn, 'x', { delay });
        const due = (await job.get()).times.scheduled?.getTime();
        expect(due).toBeGreaterThanOrEqual(before + 3000);
        expect(due).toBeLessThanOrEqual(Date.now() + 3000);
        await runWorker(rig.source(), fn, echo);
        await pass(rig, 3000);
        await expect(job.result({ timeout: '10s' })).resolves.toBe('x');
        expect((await job.get()).times.started?.getTime()).toBeGreaterThanOrEqual(before + 3000);
      });

      it('accepts delays longer than the longest timer', async () => {
        const job = await client.run(rig.fn(), 'x', { delay: '99y' });
        expect((await job.get()).times.scheduled?.getUTCFullYear()).toBeGreaterThan(2100);
      });

      it.each([
        ['a Date', { scheduled: new Date(Date.now() - 60_000) }],
        ['a Date before 1970', { scheduled: new Date(-5) }],
        ['a delay of 0', { delay: 0 }],
      ])('runs a job at once whose time has passed: %s', async (_, time) => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, echo);
        const job = await client.run(fn, 'x', time);
        await expect(job.result({ timeout: '10s' })).resolves.toBe('x');
      });

      it('with blocking returns when the job has finished', async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, echo);
        const job = await client.run(fn, 'x', { blocking: true, timeout: '10s' });
        await expect(job.get()).resolves.toMatchObject({ state: 'succeeded', output: 'x' });
      });

      it('with blocking also returns when the job has failed', async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, () => Promise.reject(new Error('no')));
        const job = await client.run(fn, 'x', { blocking: true, timeout: '10s' });
        await expect(job.get()).resolves.toMatchObject({ state: 'failed', error: { message: 'no' } });
      });

      it('stops waiting after the timeout; the job continues', async () => {
        const fn = rig.fn();
        await expect(client.run(fn, 'x', { blocking: true, timeout: 50 })).rejects.toThrow(WaitTimeoutError);
        await expect(client.get(fn, 1)).resolves.toMatchObject({ state: 'waiting' });
      });

      it('with rollCall rejects without workers, and enqueues nothing', async () => {
        const fn = rig.fn();
        await expect(client.run(fn, 'x', { rollCall: true })).rejects.toThrow(NoWorkersError);
        await expect(client.get(fn, 1)).resolves.toBeNull();
      });

      it('with rollCall enqueues if there is a worker', async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, echo);
        await expect(client.rollCall(fn)).resolves.toBe(1);
        await expect(client.run(fn, 'x', { rollCall: true })).resolves.toMatchObject({ id: '1' });
      });
    });

    describe('runMany', () => {
      it('of no inputs returns no handles', async () => {
        await expect(client.runMany(rig.fn(), [])).resolves.toEqual([]);
      });

      it('enqueues none if one input is invalid', async () => {
        const fn = rig.fn();
        await expect(client.runMany(fn, ['a', 1n])).rejects.toThrow('BigInt');
        await expect(client.get(fn, 1)).resolves.toBeNull();
      });

      it('enqueues more jobs than one call takes, in order', async () => {
        const fn = rig.fn();
        const jobs = await client.runMany(
          fn,
          Array.from({ length: 2500 }, (_, i) => i),
        );
        expect(new Set(jobs.map(({ id }) => id)).size).toBe(2500);
        await expect(jobs[1234]?.get()).resolves.toMatchObject({ input: 1234 });
        const source = rig.source();
        await expect(claimInOrder(source, fn, 3)).resolves.toEqual(['0', '1', '2']);
        await source.close();
      });

      it('accepts a priority and a roll call', async () => {
        const fn = rig.fn();
        await expect(client.runMany(fn, [1], { rollCall: true })).rejects.toThrow(NoWorkersError);
        await client.runMany(fn, ['normal']);
        await client.runMany(fn, ['high'], { priority: 'high' });
        const source = rig.source();
        await expect(claimInOrder(source, fn, 2)).resolves.toEqual(['"high"', '"normal"']);
        await source.close();
      });
    });

    describe('call', () => {
      it('returns the output', async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, (input) => ({ was: input }));
        await expect(client.call(fn, [1, 'ä'], { timeout: '10s' })).resolves.toEqual({ was: [1, 'ä'] });
      });

      it('returns the right output to each of many concurrent calls', async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, echo, { concurrency: 20 });
        const inputs = Array.from({ length: 200 }, (_, i) => i);
        const outputs = await Promise.all(inputs.map((input) => client.call(fn, input, { timeout: '20s' })));
        expect(outputs).toEqual(inputs);
      });

      it("rejects with the job's error: name, message, stack, code and cause", async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, () => {
          const error = new RangeError('too far', { cause: new TypeError('a bad map') });
          throw Object.assign(error, { code: 'E_FAR' });
        });
        const calling = client.call(fn, 'x', { timeout: '10s' });
        await expect(calling).rejects.toThrow(JobFailedError);
        await expect(calling).rejects.toMatchObject({
          code: 'JOB_FAILED',
          fn,
          message: `Job 1 of "${fn}" failed: too far`,
          error: {
            name: 'RangeError',
            message: 'too far',
            code: 'E_FAR',
            stack: expect.stringContaining('client-contract'),
            cause: { name: 'TypeError', message: 'a bad map' },
          },
        });
      });

      it('gives up after the timeout', async () => {
        const fn = rig.fn();
        await expect(client.call(fn, 'x', { timeout: 50 })).rejects.toThrow(
          `Job 1 of "${fn}" didn't finish within 50 ms: it waits, and no worker of "${fn}" is registered`,
        );
      });

      it('says nothing of workers after the timeout if there is one', async () => {
        const [fn, held] = [rig.fn(), gate()];
        await runWorker(rig.source(), fn, () => held.passed);
        await expect(client.call(fn, 'x', { timeout: 50 })).rejects.toThrow('within 50 ms. It goes on');
        held.open();
      });
    });

    describe('get and result', () => {
      it('get returns null for a missing job; result rejects', async () => {
        await expect(client.get(rig.fn(), 7)).resolves.toBeNull();
        await expect(client.result(rig.fn(), 7)).rejects.toThrow(JobNotFoundError);
      });

      it.each(['send:1', '1:1', ' 1', '1 ', '', '*', '1.0', '-1', 'x'])(
        'find no job %j, whatever keys exist',
        async (id) => {
          const fn = rig.fn();
          await client.run(`${fn}:send`, 'of another function');
          await client.run(fn, 'x');
          await expect(client.get(fn, id)).resolves.toBeNull();
          await expect(client.result(fn, id)).rejects.toThrow(JobNotFoundError);
          await expect(client.cancel(fn, id)).rejects.toThrow(JobNotFoundError);
          await expect(client.get(`${fn}:send`, 1)).resolves.toMatchObject({ state: 'waiting' });
        },
      );

      it('result waits for a running job', async () => {
        const fn = rig.fn();
        const done = gate<string>();
        await runWorker(rig.source(), fn, () => done.passed);
        const job = await client.run(fn, 'x');
        const result = job.result({ timeout: '10s' });
        done.open('out');
        await expect(result).resolves.toBe('out');
      });

      it('result returns at once for a finished job', async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, echo);
        const job = await client.run(fn, 'x', { blocking: true, timeout: '10s' });
        await expect(job.result()).resolves.toBe('x');
        await expect(rig.client().result(fn, job.id)).resolves.toBe('x');
      });

      it('result gives up after the timeout', async () => {
        const job = await client.run(rig.fn(), 'x');
        await expect(job.result({ timeout: 50 })).rejects.toThrow(WaitTimeoutError);
      });

      it('times say when a job was created, started and finished', async () => {
        const fn = rig.fn();
        await runWorker(rig.source(), fn, echo);
        const job = await client.run(fn, 'x', { blocking: true, timeout: '10s' });
        const { times, attempts } = await job.get();
        const stations = [times.created, times.started, times.finished].map((time) => Number(time));
        expect(attempts).toBe(1);
        expect(stations).toEqual([...stations].sort((a, b) => a - b));
        expect(stations[0]).toBeGreaterThan(0);
      });
    });

    retryContract(
      () => rig,
      () => client,
    );
    hostileClientContract(
      () => rig,
      () => client,
    );
    cancelContract(
      () => rig,
      () => client,
    );
    codecContract(
      () => rig,
      () => client,
    );
    observableContract(
      () => rig,
      () => client,
    );
    headersContract(() => rig);
    expiryContract(() => rig);
    pauseContract(() => rig);
    statisticsContract(() => rig);
    listContract(() => rig);
    statesContract(() => rig);
    findContract(() => rig);
    keepContract(() => rig);
    batchContract(() => rig);
    stepsContract(() => rig);
    signalsContract(() => rig);
    streamsContract(() => rig);
    flowsContract(() => rig);
    failedContract(() => rig);
    updateContract(() => rig);
    uniqueContract(() => rig);
    uniqueLimitContract(() => rig);
    drainContract(() => rig);
    closeContract(() => rig);
  });
}
