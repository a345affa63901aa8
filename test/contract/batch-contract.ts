import { describe, expect, it } from '@jest/globals';
import { defineJob, type AnyJobDefinition } from '../../lib/job/job-definition.js';
import { fail, later, ok } from '../../lib/worker/batch.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { gate } from '../support/gate.js';
import { runWorker, type WorkerSettings } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import type { ClientRig } from './rig.js';

/** Longer than any test: a batch that begins earlier is full. */
const NEVER = '1 minute';

/** The part of the contract that is about handlers that run many jobs at once. */
export function batchContract(rigOf: () => ClientRig): void {
  describe('batches', () => {
    /** Starts a worker; `batches` has the inputs of each of its batches. */
    async function start(
      handle: (inputs: number[], jobs: RunningJob[]) => unknown,
      { ref = rigOf().fn(), ...settings }: WorkerSettings & { ref?: string | AnyJobDefinition },
    ) {
      const batches: number[][] = [];
      const run = (inputs: number[], jobs: RunningJob[]) => {
        batches.push(inputs);
        return handle(inputs, jobs);
      };
      const { worker } = await runWorker(rigOf().source(), ref, run as never, settings);
      const enqueue = (inputs: number[], at = ref) => rigOf().client().runMany(at, inputs);
      return { batches, worker, enqueue, ref };
    }
    const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
    const all = <T>(jobs: readonly { result(): Promise<T> }[]) =>
      Promise.allSettled(jobs.map((job) => job.result()));
    const codes = (settled: PromiseSettledResult<unknown>[]) =>
      settled.map((each) =>
        each.status === 'rejected'
          ? ((each.reason as { error?: { code?: string; message?: string } }).error?.code ?? 'none')
          : each.value,
      );

    it('get the inputs, and each job has its own outcome', async () => {
      const { batches, enqueue } = await start((inputs) => inputs.map((n) => ok(n * 2)), {
        batch: { size: 5, wait: NEVER },
      });
      await expect(all(await enqueue(numbers(10)))).resolves.toEqual(
        numbers(10).map((n) => ({ status: 'fulfilled', value: n * 2 })),
      );
      expect(batches.map(({ length }) => length)).toEqual([5, 5]);
    });

    it('run again only what failed or is to run later, each by its own options', async () => {
      const fn = rigOf().fn();
      const seen = new Map<number, number>();
      const { enqueue } = await start(
        (inputs, jobs) =>
          inputs.map((n, index) => {
            const runs = (seen.get(n) ?? 0) + 1;
            seen.set(n, runs);
            if (n === 1 && runs < 3) return fail(new Error('not yet'));
            if (n === 2 && runs < 3) return later(1);
            if (n === 3) return fail(new Error('never'));
            return ok([runs, jobs[index]?.attempts]);
          }),
        { ref: defineJob(fn, { retry: { attempts: 3, delay: 1 } }), batch: { size: 4 } },
      );
      const settled = await all(await enqueue(numbers(4)));
      expect(codes(settled)).toEqual([[1, 1], [3, 3], [3, 1], 'none']);
      expect([...seen.values()]).toEqual([1, 3, 3, 3]);
    });

    it.each([
      ['throws', () => Promise.reject(new Error('down')), 'none'],
      ['returns nothing', () => undefined, 'BATCH_RESULT'],
      ['returns too few outcomes', () => [ok()], 'BATCH_RESULT'],
      ['returns plain values', (inputs: number[]) => inputs, 'BATCH_RESULT'],
    ])('fail all of their jobs when the handler %s', async (_, handle, code) => {
      const { enqueue } = await start(handle, { batch: { size: 3, wait: NEVER } });
      expect(codes(await all(await enqueue(numbers(3))))).toEqual([code, code, code]);
    });

    it.each([
      ['step', (job: RunningJob) => job.step('one', () => 'done')],
      ['chunk', (job: RunningJob) => job.chunk('part')],
      ['signal', async (job: RunningJob) => job.signal.throwIfAborted()],
    ])(
      'run the others again, without an attempt, when one is cancelled and its %s throws',
      async (_, act) => {
        const cancelled = gate();
        const attempts: number[][] = [];
        const { enqueue } = await start(
          async (inputs, jobs) => {
            attempts.push(jobs.map((job) => job.attempts));
            await cancelled.passed;
            await eventually(() => expect(jobs[0]?.signal.aborted || inputs[0] !== 0).toBe(true));
            for (const job of jobs) await act(job);
            return inputs.map((n) => ok(n));
          },
          { batch: { size: 3, wait: 1 }, retry: { attempts: 1 } },
        );
        const jobs = await enqueue(numbers(3));
        await eventually(() => expect(attempts.flat()).toHaveLength(3));
        await expect(jobs[0]?.cancel()).resolves.toBe(true);
        cancelled.open();
        expect(codes(await all(jobs))).toEqual(['JOB_CANCELLED', 1, 2]);
        expect(attempts.flat()).toEqual([1, 1, 1, 1, 1]);
      },
    );

    it('go on with their steps at a shutdown, which waits for them', async () => {
      const [begun, stopping] = [gate(), gate()];
      const { enqueue, worker } = await start(
        async (inputs, jobs) => {
          begun.open();
          await stopping.passed;
          for (const job of jobs) await job.step('one', () => 'done');
          for (const job of jobs) await (await job.cursor('two', { start: 0 })).advance(1);
          return inputs.map((n) => ok(n));
        },
        { batch: { size: 3, wait: NEVER }, retry: { attempts: 1 } },
      );
      const jobs = await enqueue(numbers(3));
      await begun.passed;
      const stopped = worker.stop(20_000);
      stopping.open();
      expect(codes(await all(jobs))).toEqual([0, 1, 2]);
      await stopped;
    });

    it('that are not full begin when their time is up', async () => {
      const { batches, enqueue } = await start((inputs) => inputs.map(() => ok()), {
        batch: { size: 100, wait: 10 },
      });
      await all(await enqueue(numbers(3)));
      await all(await enqueue([3]));
      expect(batches.flat()).toEqual(numbers(4));
    });

    it('run as many at a time as `concurrency` says, and no job is claimed that could not begin', async () => {
      const [begun, go] = [gate(), gate()];
      let [now, most] = [0, 0];
      const { batches, enqueue, ref } = await start(
        async (inputs) => {
          now += 1;
          most = Math.max(most, now);
          if (batches.length === 2) begun.open();
          await go.passed;
          now -= 1;
          return inputs.map(() => ok());
        },
        { batch: { size: 3, wait: 5 }, concurrency: 2 },
      );
      // The second batch is not full, and uses all of its places.
      const jobs = [...(await enqueue(numbers(3))), ...(await enqueue([3]))];
      await begun.passed;
      jobs.push(...(await enqueue(numbers(8))));
      await eventually(async () => {
        const [{ waiting, running } = {}] = (await rigOf().client().overview()).filter(
          ({ fn }) => fn === ref,
        );
        expect([waiting?.normal, running]).toEqual([8, 4]);
      });
      go.open();
      await all(jobs);
      expect(most).toBe(2);
    });

    it('leave out a job that is cancelled, whose signal aborts, and keep the others', async () => {
      const [begun, go] = [gate(), gate()];
      const aborted: number[] = [];
      const { enqueue } = await start(
        async (inputs, jobs) => {
          jobs.forEach((job, n) => job.signal.addEventListener('abort', () => aborted.push(n)));
          begun.open();
          await go.passed;
          return inputs.map((n) => ok(n));
        },
        { batch: { size: 3, wait: NEVER } },
      );
      const jobs = await enqueue(numbers(3));
      await begun.passed;
      await jobs[1]?.cancel();
      await eventually(() => expect(aborted).toEqual([1]));
      go.open();
      expect(codes(await all(jobs))).toEqual([0, 'JOB_CANCELLED', 2]);
    });

    it('give jobs back that run when the worker stops, without an attempt', async () => {
      const fn = rigOf().fn();
      const begun = gate();
      const { worker, enqueue } = await start(() => (begun.open(), new Promise(() => undefined)), {
        ref: fn,
        batch: { size: 2, wait: NEVER },
      });
      const jobs = await enqueue(numbers(3), fn);
      await begun.passed;
      await worker.stop(0);
      await start((inputs, running) => inputs.map((n, index) => ok([n, running[index]?.attempts])), {
        ref: fn,
        batch: { size: 3, wait: NEVER },
      });
      expect(codes(await all(jobs))).toEqual([
        [0, 1],
        [1, 1],
        [2, 1],
      ]);
    });

    it('keep the timeout of each job', async () => {
      const { enqueue } = await start(() => new Promise(() => undefined), {
        batch: { size: 2 },
        timeout: 50,
      });
      expect(codes(await all(await enqueue(numbers(2))))).toEqual(['JOB_TIMEOUT', 'JOB_TIMEOUT']);
    });

    it('keep the limit of each key', async () => {
      const definition = defineJob<number>(rigOf().fn(), {
        limit: { key: (n) => String(n % 2), concurrency: 1 },
      });
      const { batches, enqueue } = await start((inputs) => inputs.map((n) => ok(n)), {
        ref: definition,
        batch: { size: 10, wait: 1 },
      });
      expect(codes(await all(await enqueue(numbers(6))))).toEqual(numbers(6));
      expect(batches.every((inputs) => new Set(inputs.map((n) => n % 2)).size === inputs.length)).toBe(true);
    });

    it('lose and repeat no job of many', async () => {
      const { batches, enqueue } = await start((inputs) => inputs.map((n) => ok(n)), {
        batch: { size: 7, wait: 1 },
        concurrency: 3,
      });
      const jobs = await enqueue(numbers(500));
      expect(codes(await all(jobs))).toEqual(numbers(500));
      expect(batches.flat().toSorted((a, b) => a - b)).toEqual(numbers(500));
    });

    it.each([
      ['no size', {}],
      ['a size of 0', { size: 0 }],
      ['too large a size', { size: 1001 }],
      ['too long a wait', { size: 1, wait: '2 minutes' }],
      ['an unknown option', { size: 1, wiat: 1 }],
      ['no object', 100],
    ])('with %s are refused', async (_, batch) => {
      await expect(start(() => [], { batch: batch as never })).rejects.toMatchObject({
        code: expect.stringMatching(/^(INVALID_OPTION|CONFIGURATION)$/),
      });
    });
  });
}
