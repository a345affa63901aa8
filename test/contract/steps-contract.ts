import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import {
  expectedRuns,
  MAX_FAILURES,
  runProgram,
  stepPrograms,
  type StepProgram,
} from '../model/step-programs.js';
import { claimOne } from './claiming.js';
import { gate } from '../support/gate.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import type { ClientRig } from './rig.js';

/** Jobs that run at the same time cost less than those that run one after the other. */
const TOGETHER = 10;
const AGAIN = { retry: { attempts: 5, delay: 1 } };

/** The part of the contract that is about steps. */
export function stepsContract(rigOf: () => ClientRig): void {
  describe('steps', () => {
    /** Runs one job by a handler. */
    async function runJob(
      handle: (job: RunningJob, attempt: number) => unknown,
      { fn = rigOf().fn(), version }: { fn?: string; version?: string } = {},
    ) {
      const definition = defineJob(fn, { ...AGAIN, ...(version !== undefined && { steps: { version } }) });
      let attempt = 0;
      const ran = await runWorker(rigOf().source(), definition, (_, job) => handle(job, (attempt += 1)));
      return { ...ran, job: await rigOf().client().run(definition, null) };
    }

    it('that are recorded are not run again by a later attempt', async () => {
      const ran: string[] = [];
      const { job } = await runJob(async (running, attempt) => {
        const one = await running.step('one', () => ran.push('one') && { at: new Date(0) });
        const two = await running.step('two', async () => ran.push('two'));
        if (attempt < 3) throw new Error('once more');
        return [one, two];
      });
      // As JSON gives it back, in the first run too.
      await expect(job.result()).resolves.toEqual([{ at: '1970-01-01T00:00:00.000Z' }, 2]);
      expect(ran).toEqual(['one', 'two']);
    });

    it('are run as a model says, whatever the handler and wherever its attempts fail', async () => {
      const fn = rigOf().fn();
      const ran = new Map<string, string[]>();
      const definition = defineJob<StepProgram>(fn, { retry: { attempts: MAX_FAILURES + 1, delay: 1 } });
      await runWorker(
        rigOf().source(),
        definition,
        (input, job) => {
          const runs = ran.get(job.id) ?? [];
          ran.set(job.id, runs);
          return runProgram(input as StepProgram, job, job.attempts, (what) => runs.push(what));
        },
        { concurrency: TOGETHER },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(stepPrograms, { minLength: 1, maxLength: TOGETHER }), async (programs) => {
          const jobs = await rigOf().client().runMany(definition, programs);
          await Promise.all(jobs.map((job) => job.result()));
          expect(jobs.map(({ id }) => ran.get(id) ?? [])).toEqual(programs.map(expectedRuns));
        }),
        { numRuns: 20 },
      );
    });

    it('that throw are run again', async () => {
      let runs = 0;
      const { job } = await runJob((running) =>
        running.step('one', () => {
          if ((runs += 1) < 3) throw new Error('not yet');
          return runs;
        }),
      );
      await expect(job.result()).resolves.toBe(3);
    });

    it('of the same name in one run are refused, and so are names that are none', async () => {
      const { job } = await runJob(async (running) => {
        const codes: unknown[] = [];
        const failed = (error: { code?: unknown }) => void codes.push(error.code);
        await running.step('one', () => 1);
        await running.step('one', () => 2).catch(failed);
        for (const name of ['', 'x'.repeat(101), '\uD800', 7 as never])
          await running.step(name, () => 0).catch(failed);
        return codes;
      });
      await expect(job.result()).resolves.toEqual([
        'DUPLICATE_STEP',
        ...Array<string>(4).fill('INVALID_OPTION'),
      ]);
    });

    it.each([
      ['in another order', ['two', 'one'], '"two" stands where "one" was'],
      ['one of which has another name', ['one', 'three'], '"three" stands where "two" was'],
      ['one of which is gone', ['one'], '"two" is gone'],
    ])('%s than those recorded fail the attempt with a named error', async (_, changed, says) => {
      const { job } = await runJob(async (running, attempt) => {
        for (const name of attempt === 1 ? ['one', 'two'] : changed) await running.step(name, () => name);
        if (attempt === 1) throw new Error('a deploy comes');
      });
      await expect(job.result()).rejects.toMatchObject({
        error: { code: 'STEPS_CHANGED', message: expect.stringContaining(says) },
      });
    });

    it('of another version begin anew', async () => {
      const fn = rigOf().fn();
      const ran: string[] = [];
      const held = gate();
      const first = await runJob(
        async (running) => {
          await running.step('old', () => ran.push('old'));
          held.open();
          await new Promise(() => undefined);
        },
        { fn, version: '1' },
      );
      await held.passed;
      await first.worker.stop(0);
      await runWorker(rigOf().source(), defineJob(fn, { steps: { version: '2' } }), (_, job) =>
        job.step('new', () => ran.push('new') && 'of the second'),
      );
      await expect(first.job.result()).resolves.toBe('of the second');
      expect(ran).toEqual(['old', 'new']);
    });

    it('that are under way end when the worker stops; the job goes back without an attempt', async () => {
      const fn = rigOf().fn();
      const ran: string[] = [];
      const [begun, go] = [gate(), gate()];
      const handle = async (job: RunningJob) => {
        await job.step('one', async () => {
          begun.open();
          await go.passed;
          ran.push('one');
        });
        await job.step('two', () => ran.push('two'));
        return job.attempts;
      };
      const { worker, job } = await runJob(handle, { fn });
      await begun.passed;
      const stopped = worker.stop(60_000);
      go.open();
      await stopped;
      expect(ran).toEqual(['one']);
      await runWorker(rigOf().source(), fn, (_, running) => handle(running));
      await expect(job.result()).resolves.toBe(1);
      expect(ran).toEqual(['one', 'two']);
    });

    it('that run side by side are recorded each by itself', async () => {
      const ran: string[] = [];
      const names = Array.from({ length: 50 }, (_, n) => `step ${n}`);
      const { job } = await runJob(async (running, attempt) => {
        const all = await Promise.all(names.map((name) => running.step(name, () => ran.push(name) && name)));
        if (attempt < 3) throw new Error('once more');
        return all;
      });
      await expect(job.result()).resolves.toEqual(names);
      expect(ran.toSorted()).toEqual(names.toSorted());
    });

    it('larger than the limit, or of no form that the codec has, fail the attempt and are not recorded', async () => {
      const codes: unknown[] = [];
      const { job } = await runJob(async (running, attempt) => {
        const bad = [() => 'x'.repeat(300_000), () => 1n, () => 'fine'][attempt - 1] as () => unknown;
        return running.step('one', bad).catch((error: { code?: unknown }) => {
          codes.push(error.code);
          throw error;
        });
      });
      await expect(job.result()).resolves.toBe('fine');
      expect(codes).toEqual(['STEP_TOO_LARGE', 'NOT_SERIALIZABLE']);
    });

    it('as a cursor go on where an attempt that failed stood', async () => {
      const seen: number[] = [];
      const { job } = await runJob(async (running, attempt) => {
        const cursor = await running.cursor('rows', { start: 0 });
        for (let row = cursor.value; row < 100; row++) {
          if (attempt < 4 && row === attempt * 20) throw new Error('a broken row');
          seen.push(row);
          await cursor.advance(row + 1);
        }
        return cursor.value;
      });
      await expect(job.result()).resolves.toBe(100);
      expect(seen).toEqual(Array.from({ length: 100 }, (_, row) => row));
    });

    it('as a cursor go on where a worker that stops stood, without an attempt', async () => {
      const fn = rigOf().fn();
      const seen: number[] = [];
      const [begun, go] = [gate(), gate()];
      const handle = async (running: RunningJob) => {
        const cursor = await running.cursor('rows', { start: { row: 0 } });
        for (let { row } = cursor.value; row < 10; row++) {
          seen.push(row);
          if (row === 4) {
            begun.open();
            await go.passed;
          }
          await cursor.advance({ row: row + 1 });
        }
        return running.attempts;
      };
      const { worker, job } = await runJob(handle, { fn });
      await begun.passed;
      const stopped = worker.stop(60_000);
      go.open();
      await stopped;
      await runWorker(rigOf().source(), fn, (_, running) => handle(running));
      await expect(job.result()).resolves.toBe(1);
      expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    });

    it('of a worker that has lost the job are refused', async () => {
      const fn = rigOf().fn();
      const source = rigOf().source();
      await source.open([fn]);
      const { id } = await rigOf().client().run(fn, null);
      const claim = await claimOne(source, fn);
      const write = (text: string) => source.records?.steps?.write(claim, new Map([['step:one', text]]), []);
      await expect(write('1:1:"held"')).resolves.toBe(true);
      await rigOf().client().cancel(fn, id);
      await expect(write('2:2:"lost"')).resolves.toBe(false);
      const stored = await source.records?.steps?.read(claim, ['step:one', 'step:two']);
      expect([...(stored ?? [])].map(([field, value]) => [field, String(Buffer.from(value))])).toEqual([
        ['step:one', '1:1:"held"'],
      ]);
    });

    it('are shown with their times while the job runs', async () => {
      const end = gate();
      const { job } = await runJob(async (running) => {
        await running.step('download', () => 'abc');
        await end.passed;
      });
      await eventually(async () =>
        expect(await job.get()).toEqual(
          expect.objectContaining({
            steps: [{ name: 'download', started: expect.any(Date), finished: expect.any(Date), bytes: 5 }],
          }),
        ),
      );
      end.open();
      await job.result();
    });
  });
}
